"""The lanes of the tests: a marker says what a test needs besides Python, and ``make test-fast`` takes those without.

A test gets its marker from its folder or from a fixture; otherwise its module or the test itself has it. A test that
starts a real part and has no marker fails, so the fast lane stays fast and needs no Go.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tools import build

TESTS: Final = Path(__file__).resolve().parent

LANES: Final[Mapping[str, str]] = {
    "tools": "runs a tool that is built with Go: helm, kustomize, crane, regctl, a parser of user data",
    "registry": "uses a real image registry",
    "e2e": "uses the sandbox: the real Pulumi engine, or AWS in a process of its own",
    "cluster": "uses a real Kubernetes control plane",
}

_BY_FOLDER: Final = {"cluster": "cluster", "e2e": "e2e", "sandbox": "e2e", "tools": "tools"}
_BY_FIXTURE: Final = {"cluster_programs": "cluster", "images_registry": "registry"}
_BY_TOOL: Final = {
    "etcd": "cluster",
    "karpenter": "cluster",
    "kube-apiserver": "cluster",
    "kube-controller-manager": "cluster",
    "kube-scheduler": "cluster",
    "pulumi": "e2e",
    "registry": "registry",
}
"""The lane of each Go tool; tools without a row belong to the lane ``tools``."""

_SHARED: Final = {"platform": "platform", "cluster_programs": "cluster"}
"""Session fixtures that are expensive: all of their tests run in one worker, whatever files they are in."""
_LONGEST_FIRST: Final = ("platform", "cluster", "tests/e2e/", "tests/sandbox/", "tests/")
"""The order of the groups of tests, by the start of their names, so that the workers end at about the same time."""


def mark(item: pytest.Item) -> None:
    """Add the markers of a test's lanes, and its group: pytest-xdist runs a group in one worker."""
    path, fixtures = item.path.relative_to(TESTS), getattr(item, "fixturenames", ())
    for lane in {_BY_FOLDER.get(path.parts[0]), *map(_BY_FIXTURE.get, fixtures)}:
        if lane is not None:
            item.add_marker(lane)
    group = next((_SHARED[name] for name in fixtures if name in _SHARED), f"tests/{path}")
    item.add_marker(pytest.mark.xdist_group(group))


def order(item: pytest.Item) -> int:
    """The sort key of a test's group."""
    (group,) = item.iter_markers("xdist_group")
    return next(place for place, start in enumerate(_LONGEST_FIRST) if group.args[0].startswith(start))


def of(item: pytest.Item) -> set[str]:
    """The lanes of a test; empty for the fast one."""
    return {name for name in LANES if item.get_closest_marker(name)}


def needed(command: Sequence[str]) -> str | None:
    """The lane of a program, None if a test of the fast lane may start it."""
    program = Path(command[0])
    for name in build.TOOLS_BY_NAME:
        if program == build.bin_dir(name) / name:
            return _BY_TOOL.get(name, "tools")
    if str(program) in ("go", shutil.which("go")):
        return "tools"
    modules = [module for flag, module in pairwise(command) if flag == "-m"]
    return "e2e" if modules and modules[0].partition(".")[0] == "sandbox" else None


class Watch:
    """Refuses to start a real part for a test without a lane. An audit hook (``sys.addaudithook``)."""

    def __init__(self) -> None:
        """Watch no test yet; set ``running`` to the test that runs."""
        self.running: pytest.Item | None = None

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Check each program that is started. Raises AssertionError."""
        if event != "subprocess.Popen" or self.running is None or of(self.running):
            return
        words = arguments[1]
        command = [os.fsdecode(word) for word in words] if isinstance(words, list | tuple) else [str(words)]
        lane = needed(command)
        if lane is not None:
            raise AssertionError(f"{self.running.nodeid} starts {command}: it needs pytest.mark.{lane}")
