"""Tests carry the marker of what they need, and one that starts a real part without a marker fails."""

from __future__ import annotations

import subprocess
import sys

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import lanes
from tools import build


@pytest.mark.parametrize(
    "command",
    [[build.bin_dir("registry") / "registry", "--version"], ["go", "version"], [sys.executable, "-m", "sandbox.aws"]],
    ids=["a Go tool", "Go", "the sandbox"],
)
def test_a_test_without_a_marker_cannot_start_a_real_part(command: list[str]) -> None:
    with pytest.raises(AssertionError, match=r"tests/test_lanes\.py::.* starts .*: it needs pytest\.mark\."):
        subprocess.run(command, check=False)


@pytest.mark.parametrize(("tool", "lane"), [("chromium", "browser"), ("karpenter", "cluster"), ("helm", "tools")])
def test_each_tool_has_a_lane(tool: str, lane: str) -> None:
    assert lanes.needed([str(build.bin_dir(tool) / tool)]) == lane


def test_files_that_share_a_cluster_or_a_sandbox_are_one_group() -> None:
    assert lanes.group("tests/cluster/test_reading.py::test") == lanes.group(
        "tests/cluster/test_capacity.py::test[a::b]"
    )
    assert lanes.group("tests/cluster/test_objects.py::test") == lanes.group("tests/cluster/test_karpenter.py::test")
    assert lanes.group("tests/e2e/test_review.py::test_one") == "tests/e2e/test_review.py"


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("", True),
        ("cli/test_fuzz.py", True),
        ("cluster/test_objects.py", False),
        ("sandbox", True),
        ("sandbox/test_layout.py", False),
        ("sandbox/cluster/bootstrap/test_al2.py", True),
        ("test_quotations.py", False),
    ],
)
def test_the_fast_lane_reads_no_files_of_the_others(path: str, *, read: bool) -> None:
    assert lanes.may_be_fast(lanes.TESTS / path) is read


@pytest.mark.parametrize(("usual", "tried"), [(150, 10), (5, 5)])
def test_the_fast_lane_tries_few_examples(request: pytest.FixtureRequest, usual: int, tried: int) -> None:
    examples = []

    @hypothesis.settings(max_examples=usual, database=None)
    @given(st.integers(0, 10**9))
    def holds(number: int) -> None:
        examples.append(number)

    lanes.limit_examples(pytest.Function.from_parent(request.node.parent, name="holds", callobj=holds))
    holds()
    assert len(examples) == tried
