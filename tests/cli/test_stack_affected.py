"""``multiarch stack affected`` in a clone made for the test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.running import type_of_run

_STACK = "config:\n  multiarch-eks:team: shop\n"


def _git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with three stacks, in a folder below the top of its repository."""
    folder = tmp_path / "platform"
    stacks = folder / "config" / "stacks"
    stacks.mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: multiarch-eks\nruntime: python\n", encoding="utf-8")
    for name in ("a-dev", "b-dev", "c-dev"):
        (stacks / f"Pulumi.{name}.yaml").write_text(_STACK, encoding="utf-8")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-qm", "first")
    _git(tmp_path, "checkout", "-qb", "change")
    monkeypatch.chdir(folder)
    return folder


def test_stacks_and_reasons_are_shown_and_scripts_get_names_alone(clone: Path, run: type_of_run) -> None:
    stacks = clone / "config" / "stacks"
    (stacks / "Pulumi.a-dev.yaml").write_text(_STACK.replace("shop", "other"), encoding="utf-8")
    (stacks / "Pulumi.b-dev.yaml").unlink()
    (clone.parent / "elsewhere.py").write_text("", encoding="utf-8")
    ran = run("stack", "affected", "--since", "main")
    assert ran.code == 0
    assert "config/stacks/Pulumi.a-dev.yaml changed" in ran.out
    assert "pulumi destroy --stack b-dev" in " ".join(ran.out.split())
    assert "c-dev" not in ran.out
    ran = run("stack", "affected", "--since", "main", "--quiet")
    assert ran.out == "a-dev\n"
    assert "warning: the file of stack b-dev was deleted." in ran.err
    found = run("stack", "affected", "--since", "main", "--output", "json").json
    file = "config/stacks/Pulumi.a-dev.yaml"
    assert found["stacks"] == [{"stack": "a-dev", "file": file, "reasons": [f"{file} changed"]}]
    assert found["deleted"] == [{"stack": "b-dev", "file": "config/stacks/Pulumi.b-dev.yaml"}]


def test_nothing_affected_is_said(clone: Path, run: type_of_run) -> None:
    (clone / "README.md").write_text("new", encoding="utf-8")
    assert run("stack", "affected", "--since", "main").out == "The change since main touches no stack.\n"
    assert run("stack", "affected", "--since", "main", "-q").out == ""


def test_an_unknown_ref_is_rejected(clone: Path, run: type_of_run) -> None:
    assert clone.is_dir()
    ran = run("stack", "affected", "--since", "origin/main")
    assert ran.code == 2
    assert "git fetch origin main" in ran.err
