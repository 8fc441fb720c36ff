"""The lanes of the tests: a marker says what a test needs besides Python, and ``pytest --fast`` takes those without.

A test gets its marker from its folder or from a fixture; otherwise its module or the test itself has it. A test that
starts a real part and has no marker fails, so the fast lane stays fast and needs no Go.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tools import build

TESTS: Final = Path(__file__).resolve().parent

LANES: Final[Mapping[str, str]] = {
    "tools": "runs a tool built with Go (helm, kustomize, crane …), steps and scripts of CI, or the built wheel",
    "registry": "uses a real image registry",
    "e2e": "uses the sandbox: the real Pulumi engine, or AWS in a process of its own",
    "cluster": "uses a real Kubernetes control plane",
    "browser": "uses a real browser, headless Chromium",
    "nodes": "uses real kubelets and containerd; needs root, and a kernel that lets qemu-user run arm64 programs",
    "repository": "checks what the repository says: quoted commands, words, lock files, the site",
    "exhaustive": "goes through all edits, searched plans, calls that may fail or hostile documents, for seconds",
}

_BY_FOLDER: Final = {
    "browser": "browser",
    "cluster": "cluster",
    "e2e": "e2e",
    "real_nodes": "nodes",
    "sandbox": "e2e",
    "tools": "tools",
    **dict.fromkeys(("test_lock.py", "test_quotations.py", "test_site.py", "test_vocabulary.py"), "repository"),
}
_PURE: Final = ("sandbox/cluster/bootstrap/",)
"""Folders below those whose code is pure functions: their tests belong to the fast lane."""
_BY_FIXTURE: Final = {
    "cluster_programs": "cluster",
    "real_nodes": "nodes",
    "installed": "tools",
    "images_registry": "registry",
}
_BY_TOOL: Final = {
    "chromium": "browser",
    "containerd": "nodes",
    "containerd-arm64": "nodes",
    "ctr": "nodes",
    "etcd": "cluster",
    "karpenter": "cluster",
    "kube-apiserver": "cluster",
    "kube-controller-manager": "cluster",
    "kube-scheduler": "cluster",
    "kubelet": "nodes",
    "kubelet-arm64": "nodes",
    "pulumi": "e2e",
    "registry": "registry",
}
"""The lane of each Go tool; tools without a row belong to the lane ``tools``."""

_GROUPS: Final = {
    "tests/browser/": "browser",
    "tests/cluster/test_agreement.py": "rig",
    "tests/cluster/test_installed_autoscalers.py": "rig",
    "tests/cluster/test_karpenter.py": "rig",
    "tests/cluster/test_karpenter_prices.py": "rig",
    "tests/cluster/test_karpenter_shortages.py": "rig",
    "tests/cluster/test_migration.py": "rig",
    "tests/cluster/test_objects.py": "rig",
    "tests/cluster/test_rebalance_karpenter.py": "rig",
    "tests/cluster/": "cluster",
    "tests/real_nodes/": "nodes",
    "tests/e2e/test_changes.py": "platform",
    "tests/e2e/test_kubernetes_api.py": "platform",
    "tests/e2e/test_policy.py": "platform",
    "tests/e2e/test_destroy.py": "platform",
    "tests/e2e/test_rejected.py": "platform",
    "tests/e2e/test_review_demo.py": "platform",
    "tests/e2e/test_up.py": "platform",
    "tests/e2e/test_up_autoscalers.py": "platform",
    "tests/e2e/test_up_webhook.py": "platform",
    "tests/e2e/test_update_plan.py": "platform",
    "tests/e2e/test_verify_demo.py": "platform",
}
"""Files that share an expensive session fixture, by the start of their names: one worker runs them all."""
_GROUP_OF_FIXTURE: Final = {"platform": "platform", "session_rig": "rig", "real_nodes": "nodes"}
_LONGEST_FIRST: Final = (
    *("platform", "rig", "nodes", "cluster"),
    *(f"tests/{name}.py" for name in ("e2e/test_karpenter_up", "e2e/test_migration", "sandbox/test_lifecycle")),
    *("tests/e2e/test_review.py", "tests/e2e/", "tests/sandbox/", "browser"),
    *("tests/ci/test_gitlab.py", "tests/test_quotations.py", "tests/github/test_steps.py"),
    *("tests/components/provider/test_sdks.py", "tests/cli/test_doctor.py", "tests/"),
)
"""The order of the groups, by the start of their names, so that the workers end at about the same time."""

_FEW_EXAMPLES: Final = 10

_PLATFORM_ORDER: Final = {
    "test_review_demo.py": -1,
    "test_verify_demo.py": -1,
    "test_destroy.py": 1,
}
"""The demos show the stack as its file has it, before other tests change it; what destroys it comes last.
"""


def mark(item: pytest.Item) -> None:
    """Add the markers of a test's lanes. Raises UsageError if it needs a fixture of another group."""
    values = getattr(item, "callspec", None)
    fixtures = set(getattr(item, "fixturenames", ())) - set(values.params if values else ())
    for lane in {_own_folder(item.path), *map(_BY_FIXTURE.get, fixtures)}:
        if lane is not None:
            item.add_marker(lane)
    own = group(item.nodeid)
    for name in fixtures:
        if _GROUP_OF_FIXTURE.get(name, own) != own:
            raise pytest.UsageError(f"{item.nodeid} uses {name}: add its file to the groups in tests/lanes.py")


def _own_folder(file: Path) -> str | None:
    """The lane of a file's folder, or of a file beside the folders."""
    path = file.relative_to(TESTS)
    return None if path.as_posix().startswith(_PURE) else _BY_FOLDER.get(path.parts[0])


def only_fast(expression: str) -> str:
    """What ``-m`` says, and without the tests of any lane."""
    fast = f"not ({' or '.join(LANES)})"
    return f"({expression}) and {fast}" if expression else fast


def may_be_fast(path: Path) -> bool:
    """Whether a file, or a folder with any file in it, can hold tests of the fast lane: others need not be read."""
    if not path.is_relative_to(TESTS) or path == TESTS:
        return True
    below = f"{path.relative_to(TESTS).as_posix()}/"
    return _own_folder(path) is None or any(pure.startswith(below) for pure in _PURE)


def limit_examples(item: pytest.Item) -> None:
    """Let a property be tried with few examples, as Hypothesis' own plugin for pytest changes the settings of a test.

    They are a quarter of the fast lane's time, and ``make test`` tries all.
    """
    test: Any = getattr(item, "obj", None)
    if hypothesis.is_hypothesis_test(test):
        usual = test._hypothesis_internal_use_settings  # noqa: SLF001
        few = min(usual.max_examples, _FEW_EXAMPLES)
        test._hypothesis_internal_use_settings = hypothesis.settings(usual, max_examples=few)  # noqa: SLF001


def group(nodeid: str) -> str:
    """The group of a test: one worker runs all tests of a group."""
    path = nodeid.partition("::")[0]
    return next((name for start, name in _GROUPS.items() if path.startswith(start)), path)


def order(item: pytest.Item) -> tuple[int, int]:
    """The sort key of a test: the place of its group, and its own or its file's in the group."""
    name = group(item.nodeid)
    place = next(place for place, start in enumerate(_LONGEST_FIRST) if name.startswith(start))
    # Karpenter and its AWS need processor time as long as they run: those that use them come last. Of these, what it
    # buys by price comes first: later it knows the memory of types better.
    karpenter = 0
    if "session_rig" in getattr(item, "fixturenames", ()):
        karpenter = 1 if item.path.name == "test_karpenter_prices.py" else 2
    return place, _PLATFORM_ORDER.get(item.path.name, karpenter)


class Scheduler(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
    """Gives whole groups of tests to the workers of pytest-xdist.

    Its own ``--dist loadgroup`` puts the group's name into pytest's node IDs, which pytest 9.2 does not let it do.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def of(item: pytest.Item) -> set[str]:
    """The lanes of a test; empty for the fast one."""
    return {name for name in LANES if item.get_closest_marker(name)}


def needed(command: Sequence[str]) -> str | None:
    """The lane of a program, None if a test of the fast lane may start it."""
    program = Path(command[0])
    for name, tool in build.TOOLS_BY_NAME.items():
        # The path of a tool is a hash of its files: computed only if the name is the tool's.
        if program.name == tool.file_name and program == build.executable(name):
            return _BY_TOOL.get(name, "tools")
    if str(program) in ("go", shutil.which("go")):
        return "tools"
    modules = [module for flag, module in pairwise(command) if flag == "-m"]
    return "e2e" if modules and modules[0].partition(".")[0] == "sandbox" else None


class Watch:
    """Does not start a real part for a test without a lane.

    No audit hook: Python would call it for every file that is opened and every ``id()``, for 3% of a run's time.
    """

    def __init__(self) -> None:
        """Watch no test yet; set ``running`` to the test that runs."""
        self.running: pytest.Item | None = None

    def begin(self) -> None:
        """Check each program that this process starts from now on."""
        start = subprocess.Popen.__init__

        @functools.wraps(start)
        def checked(process: subprocess.Popen[Any], args: Any, *more: Any, **options: Any) -> None:  # noqa: ANN401
            self.check(args)
            start(process, args, *more, **options)

        subprocess.Popen.__init__ = checked  # type: ignore[assignment,method-assign]

    def check(self, args: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        """Raise AssertionError if the running test has no lane and needs one for this program."""
        if self.running is None or of(self.running):
            return
        command = [os.fsdecode(word) for word in args] if isinstance(args, list | tuple) else [str(args)]
        lane = needed(command)
        if lane is not None:
            raise AssertionError(f"{self.running.nodeid} starts {command}: it needs pytest.mark.{lane}")
