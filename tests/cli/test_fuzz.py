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
from tests.cli.running import type_of_run

STACKS = sorted(path.name for path in (CLONE / "config" / "stacks").glob("Pulumi.*.yaml"))
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


@FUZZ
@given(junk=st.binary(max_size=80))
def test_no_bytes_make_the_check_fail_otherwise(clone: Path, run: type_of_run, junk: bytes) -> None:
    (clone / "config/stacks/Pulumi.checkout-dev.yaml").write_bytes(junk)
    ran = run("stack", "check", "checkout-dev")
    assert ran.code == 2
    assert "config/stacks/Pulumi.checkout-dev.yaml" in ran.err


@FUZZ
@given(name=st.sampled_from(STACKS), junk=JSON_VALUES, at=st.integers(0, 200))
def test_no_value_anywhere_makes_the_check_fail_otherwise(
    clone: Path,
    run: type_of_run,
    name: str,
    junk: Any,  # noqa: ANN401  (any JSON)
    at: int,
) -> None:
    lines = (CLONE / "config" / "stacks" / name).read_text().splitlines()
    places = [index for index, line in enumerate(lines) if line.startswith(" ") and ": " in line and "#" not in line]
    index = places[at % len(places)]
    key = lines[index].partition(": ")[0]
    lines[index] = f"{key}: {json.dumps(junk)}"
    (clone / "config" / "stacks" / name).write_text("\n".join(lines))
    ran = run("stack", "check", f"config/stacks/{name}")
    assert ran.code in {0, 2}
    assert (ran.code == 2) == any(line.startswith("error: ") for line in ran.err.splitlines())
