"""Broken configurations end in exit code 2 with file and key, and never in a traceback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import CLONE
from tests.cli.mutations import Broken, all_broken
from tests.cli.running import type_of_run

BROKEN = all_broken(CLONE / "config" / "stacks")
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
# The folder is the same for every example, and each writes the file again.
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    shutil.copy(CLONE / "Pulumi.yaml", folder)
    shutil.copytree(CLONE / "config", folder / "config")
    return folder


@pytest.fixture
def clone(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One copy for all tests of this module: each writes the stack that it checks, and checks no other."""
    monkeypatch.chdir(copied)
    return copied


def stack_file(clone: Path, stack: str) -> Path:
    return clone / "config" / "stacks" / f"Pulumi.{stack}.yaml"


def test_there_are_broken_stacks_of_every_kind() -> None:
    names = [broken.name for broken in BROKEN]
    assert len(names) == len(set(names))
    assert len(names) >= 200
    kinds = {name.partition(":")[2].split()[0] for name in names}
    assert {"rename", "delete", "a-mapping", "a-list-in-a-list", "a-fraction", "add", "a", "line"} <= kinds


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_stack_is_refused_with_file_and_key(clone: Path, run: type_of_run, broken: Broken) -> None:
    stack_file(clone, broken.stack).write_text(broken.text)
    ran = run("stack", "check", broken.stack)
    assert ran.code == 2, ran.err
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert any(f"config/stacks/Pulumi.{broken.stack}.yaml" in line for line in errors), ran.err
    assert any(f" {broken.key}" in line for line in errors), ran.err
    assert all(line.endswith("]") for line in errors)


@FUZZ
@given(junk=st.binary(max_size=80))
def test_no_bytes_make_the_check_fail_otherwise(clone: Path, run: type_of_run, junk: bytes) -> None:
    stack_file(clone, "checkout-dev").write_bytes(junk)
    ran = run("stack", "check", "checkout-dev")
    assert ran.code == 2
    assert "config/stacks/Pulumi.checkout-dev.yaml" in ran.err


@FUZZ
@given(broken=st.sampled_from(BROKEN), junk=JSON_VALUES, at=st.integers(0, 200))
def test_no_value_anywhere_makes_the_check_fail_otherwise(
    clone: Path,
    run: type_of_run,
    broken: Broken,
    junk: Any,  # noqa: ANN401  (any JSON)
    at: int,
) -> None:
    lines = (CLONE / "config" / "stacks" / f"Pulumi.{broken.stack}.yaml").read_text().splitlines()
    places = [index for index, line in enumerate(lines) if line.startswith(" ") and ": " in line and "#" not in line]
    index = places[at % len(places)]
    key = lines[index].partition(": ")[0]
    lines[index] = f"{key}: {json.dumps(junk)}"
    stack_file(clone, broken.stack).write_text("\n".join(lines))
    ran = run("stack", "check", broken.stack)
    assert ran.code in {0, 2}
    assert (ran.code == 2) == any(line.startswith("error: ") for line in ran.err.splitlines())
