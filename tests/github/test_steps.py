"""The steps of the workflows, run one after the other here, with stand-ins for the engine and for GitHub's API."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.comments.stand_in import TOKEN
from tests.github.conftest import STACK, Checkout
from tests.github.runner import Job, Ran

ROLE = "arn:aws:iam::111122223333:role/eks-ci-preview"
FORK = {"github.event.pull_request.head.repo.full_name": "somebody/clusters"}
URN = f"urn:pulumi:{STACK}::multiarch-eks::aws:kms/key:Key::key"
KEY = {"urn": URN, "type": "aws:kms/key:Key", "custom": True}
DELETION = {"steps": [{"op": "delete", "urn": URN, "oldState": KEY}], "changeSummary": {"delete": 1}}
SAME = {"op": "same", "urn": URN, "oldState": KEY, "newState": KEY}
NOTHING = {"steps": [SAME], "changeSummary": {"same": 1}}

Engine = Callable[[str], None]

pytestmark = pytest.mark.tools  # each step starts the command line, some of them often


def prints(preview: object) -> str:
    return f"cat <<'JSON'\n{json.dumps(preview)}\nJSON"


def codes(job: Job) -> dict[str, int]:
    return {step.name: step.returncode for step in job.ran}


def said(job: Job, name: str) -> str:
    (step,) = [step for step in job.ran if step.name == name]
    return step.said


def failures(job: Job) -> list[Ran]:
    return [step for step in job.run() if step.returncode]


def test_a_pull_request_is_checked_and_compared_without_credentials(checkout: Checkout) -> None:
    job = checkout.job("review.yml", "check")
    assert failures(job) == []
    assert json.loads((checkout.root / "reports" / "check.sarif").read_text())["version"] == "2.1.0"
    diff = (checkout.root / "reports" / "render.diff").read_text()
    assert "-" in diff
    assert "maxSize" in diff
    nodes, _, declared = job.summary.partition("## What the stacks declare")
    assert "## What happens to nodes" in nodes
    assert "| node group general | stays |  |  |" in nodes
    assert "maxSize" in declared
    assert job.used == [
        "actions/checkout",
        "actions/cache",
        "github/codeql-action/upload-sarif",
        "actions/upload-artifact",
    ]
    assert checkout.calls == []


def test_a_fork_gets_the_check_and_the_diff_and_is_told_why_there_is_no_preview(checkout: Checkout) -> None:
    job = checkout.job("review.yml", "check", FORK)
    job.only = ("Upload the SARIF report", "Say why there is no preview")
    assert failures(job) == []
    assert "::notice::Pull requests of forks get no credentials" in said(job, "Say why there is no preview")
    assert "github/codeql-action/upload-sarif" not in job.used
    condition = "${{ inputs.role != '' && github.event.pull_request.head.repo.full_name == github.repository }}"
    assert checkout.job("review.yml", "preview", FORK, role=ROLE).text(condition) == "false"
    assert checkout.job("review.yml", "preview").text(condition) == "false"
    assert checkout.job("review.yml", "preview", role=ROLE).text(condition) == "true"


def test_a_repository_that_is_not_a_clone_takes_the_projects_scripts_and_packages(checkout: Checkout) -> None:
    tool = checkout.root / ".multiarch"  # as its checkout leaves it
    tool.mkdir()
    for name in ("ci", "Makefile", "pyproject.toml", "requirements.lock", "setup.py", ".venv"):
        (checkout.root / name).rename(tool / name)
    where: dict[str, Any] = {"multiarch_repository": "example/multiarch-eks", "multiarch_ref": "0" * 40}
    job = checkout.job("review.yml", "check", **where)
    assert failures(job) == []
    assert "maxSize" in (checkout.root / "reports" / "render.diff").read_text()


def test_a_runner_without_the_aws_cli_gets_the_projects_and_keeps_its_own_python(
    checkout: Checkout, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    engine("")
    job = checkout.job("drift.yml", "drift", role=ROLE)
    job.only = ("Set up",)
    assert failures(job) == []
    (added,) = map(Path, job.files["PATH"].read_text().splitlines())
    assert sorted(each.name for each in added.iterdir()) == ["aws", "pulumi"]
    assert (added / "aws").resolve() == Path(sys.executable).with_name("aws").resolve()


def test_the_sarif_report_is_uploaded_where_the_caller_says(checkout: Checkout) -> None:
    for private, where, uploads in (
        (False, "public", True), (True, "public", False), (True, "always", True), (False, "never", False),
    ):  # fmt: skip
        job = checkout.job("review.yml", "check", {"github.event.repository.private": private}, code_scanning=where)
        job.only = ("Upload the SARIF report",)
        assert job.run() == []
        assert bool(job.used) == uploads, (private, where)


def test_a_stack_that_is_rejected_fails_the_check_and_is_reported(checkout: Checkout) -> None:
    file = checkout.root / "config" / "stacks" / f"Pulumi.{STACK}.yaml"
    file.write_text(file.read_text().replace("maxSize: 4", "maxSize: 0"))
    checkout.commit()
    job = checkout.job("review.yml", "check")
    assert [step.name for step in failures(job)] == ["Check all stacks"]
    assert "maxSize" in said(job, "Check all stacks")
    assert "github/codeql-action/upload-sarif" in job.used


def test_the_affected_stacks_are_previewed_and_one_comment_has_the_digest(checkout: Checkout, engine: Engine) -> None:
    engine(prints(DELETION))
    for _ in range(2):
        job = checkout.job("review.yml", "preview", role=ROLE, backend="s3://states")
        assert failures(job) == []
    assert said(job, "Find the affected stacks").strip() == STACK
    events = f"reports/previews/{STACK}.events"
    assert checkout.calls[0] == f"pulumi preview --stack {STACK} --json --event-log {events} --non-interactive"
    assert said(job, "Fetch prices").strip().endswith("The prices of eu-west-1 can't be fetched.")
    (body,) = checkout.github.bodies
    assert "delete-stateful" in body
    assert "delete-stateful" in job.summary
    assert not list(job.temp.glob("multiarch-eks-*"))
    assert "aws-actions/configure-aws-credentials" in job.used
    assert all(TOKEN not in step.said for step in job.ran)


def test_stacks_of_an_environment_that_ends_with_another_ones_name_are_not_of_it(
    checkout: Checkout, engine: Engine
) -> None:
    engine('echo "$1 of $3"')
    stacks = checkout.root / "config" / "stacks"
    text = (stacks / f"Pulumi.{STACK}.yaml").read_text()
    for environment in ("pre-prod", "prod"):
        new = text.replace("environment: dev", f"environment: {environment}")
        (stacks / f"Pulumi.checkout-{environment}.yaml").write_text(new)
    (stacks / "Pulumi.broken-prod.yaml").write_text("config: [\n")
    checkout.commit()
    for environment, expected in (("prod", ["broken-prod", "checkout-prod"]), ("pre-prod", ["checkout-pre-prod"])):
        settings = {"environment": environment, "role": ROLE, "preview_role": ROLE}
        plan = checkout.job("up.yml", "plan", {"github.event.before": ""}, **settings)
        plan.only = ("Set up", "Find the affected stacks of the environment")
        assert failures(plan) == []
        assert json.loads(plan.values["steps.affected.outputs.stacks"]) == expected


def test_drift_has_one_issue_which_is_updated_and_closed_when_it_is_gone(checkout: Checkout, engine: Engine) -> None:
    engine(f'if [ -e "$HOME/fixed" ]; then {prints(NOTHING)}\nelse {prints(DELETION)}\nfi')
    for _ in range(2):
        assert failures(checkout.job("drift.yml", "drift", role=ROLE)) == []
    (issue,) = checkout.github.issues.values()
    assert (issue["title"], issue["state"]) == ("Drift of stacks", "open")
    assert "delete-stateful" in issue["body"]
    (checkout.root.parent / "fixed").touch()
    assert failures(checkout.job("drift.yml", "drift", role=ROLE)) == []
    assert checkout.github.issues[issue["number"]]["state"] == "closed"


def test_an_audit_has_a_python_that_can_ask_eks_for_the_cluster(checkout: Checkout) -> None:
    """The system's Python of a runner has no boto3."""
    job = checkout.job("audits.yml", "audit", {"matrix.audit": "nodes"}, cluster="a", region="eu-west-1", role=ROLE)
    script = checkout.root / "ci" / "scripts" / "install-cli.sh"
    script.write_text('#!/bin/sh\nmkdir -p "$1/venv/bin"\ncp "$HOME/bin/"* "$1/venv/bin"\n')
    checkout.program("python")
    checkout.program("multiarch")
    job.only = ("Set up", "Audit")
    job.environ = {**job.environ, "AWS_REGION": "eu-west-1"}  # as configure-aws-credentials leaves it
    job.run()
    assert checkout.calls == ["python ci/scripts/eks.py kubeconfig a eu-west-1"]


@pytest.mark.parametrize(("result", "state"), [("success", "closed"), ("failure", "open")])
def test_findings_of_all_audits_are_one_issue_that_only_complete_audits_close(
    checkout: Checkout, result: str, state: str
) -> None:
    reports = checkout.root / "reports"
    reports.mkdir()
    checkout.program("multiarch")
    for audit in ("images", "nodes"):
        (reports / f"{audit}.md").write_text(f"# {audit}\n")
        (reports / f"{audit}.findings").touch()
    (reports / "pods.md").write_text("# pods\n")

    def issue_job(outcome: str) -> Job:
        settings = {"cluster": "shop-prod", "region": "eu-west-1", "role": ROLE}
        job = checkout.job("audits.yml", "issue", {"needs.audit.result": outcome}, **settings)
        job.environ = {**job.environ, "MULTIARCH": str(checkout.root / ".venv" / "bin" / "multiarch")}
        job.only = ("Keep the issue",)
        return job

    assert failures(issue_job("success")) == []
    (issue,) = checkout.github.issues.values()
    assert issue["title"] == "Audit of shop-prod"
    assert "# images" in issue["body"]
    assert "# nodes" in issue["body"]
    assert "# pods" not in issue["body"]
    (checkout.root / "findings.md").unlink()
    for file in reports.glob("*.findings"):
        file.unlink()
    assert failures(issue_job(result)) == []
    assert checkout.github.issues[issue["number"]]["state"] == state


def test_runners_are_native_where_the_caller_has_them_and_emulate_the_rest(checkout: Checkout) -> None:
    platforms = "linux/amd64 linux/arm64  linux/arm/v7"
    job = checkout.job("image.yml", "plan", image="ghcr.io/team/api", tags="1", platforms=platforms)
    assert failures(job) == []
    other = checkout.job("image.yml", "plan", image="ghcr.io/team/web", tags="1", platforms=platforms)
    assert failures(other) == []
    keys = {each.values["steps.plan.outputs.key"] for each in (job, other)}
    assert len(keys) == 2  # the names of their artifacts, which a run has once
    builds = json.loads(job.values["steps.plan.outputs.builds"])
    assert [(each["platform"], each["architecture"], each["runner"], each["emulated"]) for each in builds] == [
        ("linux/amd64", "amd64", "ubuntu-24.04", False),
        ("linux/arm64", "arm64", "ubuntu-24.04-arm", False),
        ("linux/arm/v7", "armv7", "ubuntu-24.04", True),
    ]


DOCKER = f"""\
while [ $# -gt 0 ]; do
  case $1 in
  --metadata-file) echo '{{"containerimage.digest": "sha256:{"a" * 64}"}}' >"$2" ;;
  inspect) echo sha256:{"b" * 64} ;;
  esac
  shift
done
"""
"""What `docker buildx` writes, as far as the script reads it."""


@pytest.mark.parametrize("verified", [True, False])
def test_an_image_is_tagged_only_if_its_binaries_are_what_they_should_be(checkout: Checkout, verified: bool) -> None:  # noqa: FBT001
    checkout.program("docker", DOCKER)
    checkout.program("multiarch", "exit 0" if verified else "exit 1")
    image: dict[str, Any] = {"image": "ghcr.io/team/api", "tags": "1.0 latest", "platforms": "linux/amd64 linux/arm64"}
    for platform in ("linux/amd64", "linux/arm64"):
        contexts = {"matrix.build.platform": platform, "matrix.build.emulated": False}
        build = checkout.job("image.yml", "build", contexts, **image)
        assert failures(build) == []
        assert TOKEN not in "".join(checkout.calls) + "".join(step.said for step in build.ran)
    publish = checkout.job("image.yml", "publish", **image)
    publish.environ = {**publish.environ, "MULTIARCH": "multiarch"}
    publish.only = ("Verify the binaries of every architecture", "Tag", "Remove credentials")
    assert [step.name for step in failures(publish)] == ([] if verified else [publish.only[0]])
    tags = [call for call in checkout.calls if "imagetools create" in call]
    assert bool(tags) == verified
    if verified:
        assert tags[0].startswith(
            "docker buildx imagetools create --annotation index:multiarch-eks/pipeline=github.com/42 "
            "--tag ghcr.io/team/api:1.0 --tag ghcr.io/team/api:latest"
        )
        assert publish.values["steps.tag.outputs.digest"] == f"sha256:{'b' * 64}"
    assert not list(publish.temp.glob("multiarch-eks-*"))


def test_a_release_is_rejected_if_the_tag_is_not_the_version(checkout: Checkout) -> None:
    for folder in ("multiarch", "charts/multiarch-webhook"):
        (checkout.root / folder).mkdir(parents=True)
    (checkout.root / "multiarch" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (checkout.root / "charts" / "multiarch-webhook" / "Chart.yaml").write_text("version: 1.2.3\n")
    for tag, code in (("v1.2.3", 0), ("v1.2.4", 1)):
        job = checkout.job("release.yml", "packages")
        job.environ = {**job.environ, "GITHUB_REF_NAME": tag}
        job.only = ("Compare the tag with the version",)
        (step,) = job.run()
        assert step.returncode == code
    assert "::error::The tag is v1.2.4, but multiarch/__init__.py has 1.2.3" in step.said
