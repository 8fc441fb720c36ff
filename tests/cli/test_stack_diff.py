"""``multiarch stack diff``: from a commit, a file or another clone, with an exit code for CI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.running import type_of_run
from tests.cli.test_stack_affected import _git as git

STACK = Path("config", "stacks", "Pulumi.payments-prod.yaml")
EDITS = (("m7i.xlarge", "m7i.2xlarge"), ("prefer: arm64", "prefer: amd64"))


@pytest.fixture
def repository(clone: Path) -> Path:
    """The project in Git, with a change of one stack that is not committed."""
    git(clone, "init", "-q")
    git(clone, "add", "Pulumi.yaml", "config")
    git(clone, "commit", "-qm", "first")
    edited(clone / STACK)
    return clone


def edited(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for old, new in EDITS:
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def test_what_is_not_committed_is_said_in_words(repository: Path, run: type_of_run) -> None:
    ran = run("stack", "diff", "payments-prod")
    assert ran.code == 1
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "node group base replaced all at the same time instanceTypes" in lines
    assert "node group arm64-services stays" in lines
    assert "- nodeGroups.base.instanceTypes[0]: m7i.xlarge → m7i.2xlarge" in lines
    assert any(line.startswith("- MEDIUM: autoscaler: New pods prefer amd64") for line in lines)
    git(repository, "commit", "-qam", "second")
    same = run("stack", "diff", "payments-prod")
    assert (same.code, same.out) == (0, "payments-prod: nothing differs from HEAD.\n")
    assert run("stack", "diff", "payments-prod", "--against", "HEAD~1").code == 1


def test_programs_get_json(repository: Path, run: type_of_run) -> None:
    ran = run("stack", "diff", str(repository / STACK), "--output", "json")
    assert (ran.code, ran.json["kind"], ran.json["stack"], ran.json["against"]) == (
        1,
        "stack-diff",
        "payments-prod",
        "HEAD",
    )
    assert ran.json["endsNodes"] is True
    nodes = {each["name"]: each for each in ran.json["nodes"]}
    assert nodes["base"] == {
        "kind": "node group",
        "name": "base",
        "outcome": "replaced",
        "pace": "all at the same time",
        "reasons": ["instanceTypes"],
    }
    assert nodes["jobs-arm64-spot"]["outcome"] == "stays"
    assert {each["rule"] for each in ran.json["findings"]} == {"change-preference"}
    assert len(ran.json["unknown"]) == 2


def test_a_file_and_another_clone_are_compared_without_git(clone: Path, tmp_path: Path, run: type_of_run) -> None:
    other, copy = tmp_path / "other", tmp_path / "before.yaml"
    shutil.copytree(clone / "config", other / "config")
    shutil.copy(clone / "Pulumi.yaml", other)
    shutil.copy(clone / STACK, copy)
    edited(clone / STACK)
    for against in (copy, other):
        ran = run("stack", "diff", "payments-prod", "--against", str(against))
        assert (ran.code, "node group base" in ran.out) == (1, True)
    copy.write_text("config: []\n", encoding="utf-8")
    ran = run("stack", "diff", "payments-prod", "--against", str(copy))
    assert ran.code == 2
    assert f"{copy}: " in ran.err


def test_a_new_stack_ends_no_nodes(repository: Path, run: type_of_run) -> None:
    text = (repository / STACK).read_text(encoding="utf-8").replace("environment: prod", "environment: new")
    (repository / STACK).with_name("Pulumi.payments-new.yaml").write_text(text, encoding="utf-8")
    ran = run("stack", "diff", "payments-new", "--output", "json")
    assert ran.code == 0
    assert ran.json["new"]
    assert {each["outcome"] for each in ran.json["nodes"]} == {"new"}
    assert run("stack", "diff", "payments-new").out.startswith("payments-new is new: HEAD has no such stack.\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("payments-dev",), "There is no stack payments-dev"),
        (("payments-prod", "--against", "nowhere"), "Git knows no commit 'nowhere'"),
        (("elsewhere/Pulumi.payments-prod.yaml",), "Give --against FILE."),
        (
            ("payments-prod", "--against", "config/stacks/Pulumi.legacy-al2.yaml"),
            "--against takes another version of config/stacks/Pulumi.payments-prod.yaml",
        ),
    ],
)
def test_what_can_not_be_compared_is_rejected(
    repository: Path, run: type_of_run, arguments: tuple[str, ...], says: str
) -> None:
    (repository / "elsewhere").mkdir()
    shutil.copy(repository / STACK, repository / "elsewhere")
    ran = run("stack", "diff", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
