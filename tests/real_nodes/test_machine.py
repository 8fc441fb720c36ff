"""What is the whole machine's stays as it was found, whoever comes and goes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.errors import OutsideError
from sandbox.cluster import binfmt, machine
from sandbox.cluster.cluster import Nodes
from tools import build


@pytest.fixture(autouse=True)
def _somebody(real_nodes: Nodes) -> Nodes:
    """The session's cluster, which has registered an emulator or found one."""
    return real_nodes


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Path]:
    machine.enter(tmp_path)
    yield tmp_path
    machine.leave(tmp_path)


def test_arm64_programs_run_while_anybody_needs_them(user: Path) -> None:
    machine.emulate(build.ensure("qemu-aarch64-static"))
    machine.leave(user)
    machine.leave(user)
    assert binfmt.registered()
    done = subprocess.run([build.ensure("machine-arm64"), "once"], capture_output=True, text=True, check=True)
    assert done.stdout == "program arm64, machine aarch64\n"


def test_an_entry_that_serves_is_not_registered_again(tmp_path: Path) -> None:
    before = sorted(place.name for place in binfmt.ENTRIES.iterdir())
    binfmt.register(tmp_path, Path("/no/such/interpreter"))
    assert list(tmp_path.iterdir()) == []
    binfmt.unregister(tmp_path)
    assert sorted(place.name for place in binfmt.ENTRIES.iterdir()) == before


def test_real_nodes_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(OutsideError, match="Real nodes need root"):
        machine.native_architecture()
