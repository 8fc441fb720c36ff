"""Which project a command works in, and the stacks of it that a shell completes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import type_of_run

STACKS = ["checkout-dev", "gke-parity", "legacy-al2", "payments-prod"]


def test_a_project_elsewhere_is_named(
    clone: Path, monkeypatch: pytest.MonkeyPatch, run: type_of_run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert run("stack", "check", "checkout-dev").code == 2
    ran = run("--project", str(clone), "stack", "check", "checkout-dev")
    assert (ran.code, ran.out) == (0, f"ok {clone}/config/stacks/Pulumi.checkout-dev.yaml\n")
    assert run("--project", str(clone / "config"), "stack", "list").code == 0
    made = run("--project", os.path.relpath(clone), "stack", "new", "--team", "search", "--env", "dev")
    assert (made.code, (clone / "config" / "stacks" / "Pulumi.search-dev.yaml").is_file()) == (0, True), made.err
    assert run("stack", "list").code == 2
    assert list(elsewhere.iterdir()) == []


@pytest.mark.usefixtures("clone")
def test_a_folder_that_is_not_a_project_is_rejected(run: type_of_run, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    ran = run("--project", str(elsewhere), "stack", "check")
    assert (ran.code, f"There is no Pulumi.yaml of the project multiarch-eks in {elsewhere}" in ran.err) == (2, True)


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("multiarch stack check ", STACKS),
        ("multiarch stack check checkout-dev le", ["legacy-al2"]),
        ("multiarch stack explain pay", ["payments-prod"]),
        ("multiarch simulate c", ["checkout-dev"]),
        ("multiarch workload patch x.yaml --stack l", ["legacy-al2"]),
        ("multiarch audit daemonsets --stack l", ["legacy-al2"]),
        ("multiarch stack check nothing", []),
        ("multiarch sta", ["stack"]),
        ("multiarch stack che", ["check"]),
    ],
)
def test_the_shell_completes_stacks(
    monkeypatch: pytest.MonkeyPatch, run: type_of_run, words: str, completed: list[str]
) -> None:
    assert completions(monkeypatch, run, words) == completed


def test_the_stacks_of_a_named_project_are_completed(
    clone: Path, monkeypatch: pytest.MonkeyPatch, run: type_of_run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert completions(monkeypatch, run, f"multiarch --project {clone} stack check ") == STACKS
    assert completions(monkeypatch, run, "multiarch stack check ") == []


def completions(monkeypatch: pytest.MonkeyPatch, run: type_of_run, words: str) -> list[str]:
    """What bash gets when it has the command line complete the last of these words."""
    monkeypatch.setenv("_MULTIARCH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    ran = run()
    assert ran.err == ""
    return ran.out.split()
