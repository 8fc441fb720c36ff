"""What all workflows have in common: pinned actions, least permissions, documented inputs, no injected scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.github.runner import Job, list_started, load_workflow
from tests.github.test_linters import BLOCKS
from tests.quotations import ROOT
from tools.generate.documents import REUSABLE, WORKFLOWS

NAMES = sorted(file.name for file in WORKFLOWS.iterdir())
WRITES = {
    "audits.yml": {"id-token", "issues"},
    "drift.yml": {"id-token", "issues"},
    "image.yml": {"attestations", "id-token", "packages"},
    "official.yml": set(),
    "pull-request.yml": {"id-token", "pull-requests", "security-events"},
    "release.yml": {"attestations", "contents", "id-token", "packages"},
    "review.yml": {"id-token", "pull-requests", "security-events"},
    "up.yml": {"id-token"},
}
"""Permissions to write, by workflow; any other must be added here, which a reviewer sees."""

_USES = re.compile(r"^\s*(?:- )?uses: (?P<what>\S+?)(?:@(?P<commit>\S+))?(?:\s+# (?P<version>\S+))?$", re.MULTILINE)


def jobs(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = load_workflow(name)["jobs"]
    return found


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in jobs(name).values():
        yield from job.get("steps", [])


def test_the_reusable_workflows_and_the_projects_own_are_all_there_are() -> None:
    assert [name for name in NAMES if "workflow_call" in load_workflow(name)["on"]] == [
        f"{name}.yml" for name in REUSABLE
    ]
    assert set(NAMES) == set(WRITES)


def test_an_action_has_one_commit_and_one_version_in_all_workflows() -> None:
    used: dict[str, set[tuple[str, str]]] = {}
    for name in NAMES:
        for use in _USES.finditer((WORKFLOWS / name).read_text(encoding="utf-8")):
            if use["commit"]:
                used.setdefault(use["what"], set()).add((use["commit"], use["version"]))
    assert {what: pins for what, pins in used.items() if len(pins) > 1} == {}
    assert {what.partition("/")[0] for what in used} == {"actions", "aws-actions", "github"}


@pytest.mark.parametrize("name", NAMES)
def test_permissions_are_given_per_job_and_no_more_than_needed(name: str) -> None:
    assert load_workflow(name)["permissions"] == {}
    written = set()
    for job in jobs(name).values():
        for permission, level in job["permissions"].items():
            assert level in {"read", "write"}
            written |= {permission} if level == "write" else set()
            assert level == "write" or permission in {"actions", "contents"}
    assert written == WRITES[name]


@pytest.mark.parametrize("name", NAMES)
def test_jobs_end_in_time_and_credentials_are_never_a_forks_and_removed_at_the_end(name: str) -> None:
    """Zizmor rejects triggers that give forks credentials, and inherited secrets."""
    assert [key for key, job in jobs(name).items() if not {"uses", "timeout-minutes"} & set(job)] == []
    for job in jobs(name).values():
        found = job.get("steps", [])
        assumes = any("configure-aws-credentials" in step.get("uses", "") for step in found)
        if "review" in name and (assumes or any("secrets." in str(step) for step in found)):
            assert "github.event.pull_request.head.repo.full_name == github.repository" in job["if"]
        if assumes:
            assert found[-1]["if"] == "always()"
            assert "forget-credentials.sh" in found[-1]["run"]


@pytest.mark.parametrize("name", REUSABLE)
def test_inputs_and_secrets_are_typed_and_documented(name: str) -> None:
    call = load_workflow(f"{name}.yml")["on"]["workflow_call"]
    text = (WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8")
    for key, row in call["inputs"].items():
        assert row["description"].endswith((".", "%")), key
        assert row["type"] in {"string", "number", "boolean"}
        assert ("default" in row) != row.get("required", False), key
        assert f"inputs.{key}" in text.partition("\njobs:")[0] + text.partition("\njobs:")[2], key
    for key, row in call.get("secrets", {}).items():
        assert row["description"]
        assert f"secrets.{key}" in text, key


@pytest.mark.parametrize("name", NAMES)
def test_scripts_that_a_workflow_runs_are_there_and_may_be_run(name: str) -> None:
    for step in steps(name):
        for script in re.findall(r'"?\$SCRIPTS/([\w.-]+)"?', step.get("run", "")):
            file = ROOT / "ci" / "scripts" / script
            assert file.is_file(), script
            assert script.endswith(".py") or file.stat().st_mode & 0o100, script


def test_a_stack_has_a_lock_of_its_own_and_an_update_is_never_cancelled() -> None:
    up = jobs("up.yml")["up"]
    assert up["concurrency"] == {"group": "multiarch-up-${{ matrix.stack }}", "cancel-in-progress": False}
    assert up["environment"] == "${{ inputs.environment }}"
    assert up["needs"] == "plan"


BRANCH = {"github.ref_type": "branch", "github.event.repository.default_branch": "main"}
REQUEST = BRANCH | {"github.event_name": "pull_request", "github.ref_name": "3/merge", "github.repository": "team/app"}
HEAD = "github.event.pull_request.head.repo.full_name"
PUSH = BRANCH | {"github.event_name": "push", HEAD: None, "github.repository": "team/app"}
IMAGE = {f"image.yml/{job}" for job in ("plan", "build", "publish")}
STARTED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a pull request": (REQUEST | {HEAD: "team/app"}, {"review.yml/check", "review.yml/preview"}),
    "a fork's": (REQUEST | {HEAD: "somebody/app"}, {"review.yml/check"}),
    "main": (PUSH | {"github.ref_name": "main"}, {"up.yml/plan", "up.yml/up"} | IMAGE),
    "a tag": (PUSH | {"github.ref_type": "tag", "github.ref_name": "v1"}, IMAGE),
    "a feature branch": (PUSH | {"github.ref_name": "feature"}, set()),
    "a schedule": (
        PUSH | {"github.event_name": "schedule"}, {"drift.yml/drift", "audits.yml/audit", "audits.yml/issue"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("event", STARTED)
def test_each_event_starts_the_jobs_of_the_documents_workflows_that_are_meant(event: str, tmp_path: Path) -> None:
    contexts, expected = STARTED[event]
    needs = {"needs.plan.outputs.stacks": '["checkout-dev"]'}
    found = [list_started(text, contexts["github.event_name"], tmp_path, contexts | needs) for text in BLOCKS]
    assert set().union(*found) == expected


@pytest.mark.parametrize(("event", "any_ref"), [("a pull request", False), ("a pull request", True), ("main", False)])
def test_a_caller_that_runs_on_everything_tags_images_of_main_alone(
    event: str, *, any_ref: bool, tmp_path: Path
) -> None:
    """`any-ref` is for those who want images of pull requests."""
    with_ = {"image": "ghcr.io/team/app", "tags": "latest", "any-ref": any_ref}
    job = Job("image.yml", "plan", tmp_path, tmp_path, {}, with_, STARTED[event][0])
    assert job.starts == (any_ref or event == "main")


def test_a_tag_is_written_by_one_run_at_a_time() -> None:
    """ci/scripts/image.sh leaves a tag that a later run has written: nobody may write between its look and its push."""
    found = jobs("image.yml")["publish"]["concurrency"]
    assert found["cancel-in-progress"] is False
    assert all(f"inputs.{name} " in found["group"] for name in ("image", "context", "file", "target", "name"))
    assert "github.ref " in found["group"]


def test_a_tag_is_written_after_every_architecture_was_built_and_verified() -> None:
    publish = jobs("image.yml")["publish"]
    assert publish["needs"] == ["plan", "build"]
    assert "if" not in publish
    scripts = [step["run"] for step in publish["steps"] if "image.sh" in step.get("run", "")]
    assert [re.findall(r'image\.sh" (\w+)', script) for script in scripts] == [["verify"], ["tag"]]
    assert all('image.sh" tag' not in step.get("run", "") for step in jobs("image.yml")["build"]["steps"])
