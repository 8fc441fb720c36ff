"""``stack render``: the tree on the terminal, and files that are the same from run to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from multiarch.cli.stack.render import draw_tree
from multiarch.observed.resources.declared import DeclaredResource
from tests.cli.running import type_of_run
from tests.cli.test_stack_check import break_stack


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command puts its project first on the module path; put it back."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def written(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_tree_is_shown_and_the_files_are_written(
    clone: Path, run: type_of_run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = run("stack", "render", "checkout-dev")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "pulumi:pulumi:Stack multiarch-eks-checkout-dev"
    assert any(line.endswith("aws:eks/nodeGroup:NodeGroup graviton") for line in lines)
    files = written(clone / "build" / "checkout-dev")
    assert f"{len(lines)} resources, {len(files)} files in " in ran.err
    assert "resources.json" in files
    monkeypatch.setenv("COLUMNS", "80")
    narrow = run("stack", "render", "checkout-dev").out.splitlines()
    assert "   │  ├─ aws:iam/rolePolicyAttachment:RolePolicyAttachment" in narrow
    assert not [line for line in narrow if len(line) > 80 and len(line.strip(" │├└─").split()) > 1]


def test_a_rejected_stack_does_not_keep_the_others_from_being_rendered(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "legacy-al2", "nat: single", "nat: double")
    ran = run("stack", "render", "legacy-al2", "checkout-dev", "--output", "markdown")
    assert ran.code == 2
    assert "| pulumi:pulumi:Stack | multiarch-eks-checkout-dev |" in ran.out
    assert "legacy-al2" not in ran.out
    assert "Pulumi.legacy-al2.yaml" in ran.err
    assert not (clone / "build" / "legacy-al2").exists()


def test_the_tree_shows_children_below_their_parents_by_type_and_name() -> None:
    nodes = [
        DeclaredResource("u:b", "u:top", "t:B", "b", {}),
        DeclaredResource("u:top", "", "t:Stack", "top", {}),
        DeclaredResource("u:a2", "u:top", "t:A", "z", {}),
        DeclaredResource("u:a1", "u:a2", "t:C", "c", {}),
    ]
    drawn = [f"{first}{text}" for first, _, text in draw_tree(nodes)]
    assert drawn == ["t:Stack top", "├─ t:A z", "│  └─ t:C c", "└─ t:B b"]
