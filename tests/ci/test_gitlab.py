"""The GitLab templates, included by a repository that is not a clone of this project, and run by gitlab-ci-local."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
import yaml

from tests.ci import gitlab
from tests.quotations import ROOT, blocks

pytestmark = pytest.mark.tools
CLONED = ("ci", "components", "config", "multiarch", "__main__.py", "Pulumi.yaml")
# Prices are requested where nothing answers, not at AWS.
TOKEN = {"AWS_TOKEN": "the-oidc-token", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
ROLE = "arn:aws:iam::111122223333:role/ci-preview"
ENGINE = """\
#!/bin/sh
echo "$* as $AWS_ROLE_ARN" >>{calls}
[ "$1" = preview ] || exit 0
while [ $# -gt 0 ]; do
  case $1 in --save-plan) echo '{{}}' >"$2" ;; --stack) stack=$2 ;; esac
  shift
done
urn="urn:pulumi:$stack::multiarch-eks::aws:eks/nodeGroup:NodeGroup::graviton"
state='{{"urn": "'$urn'", "type": "aws:eks/nodeGroup:NodeGroup", "inputs": {{}}, "outputs": {{}}}}'
echo '{{"steps": [{{"op": "same", "urn": "'$urn'", "oldState": '$state', "newState": '$state'}}],
  "changeSummary": {{"same": 1}}}}'
"""


@pytest.fixture
def forge(tmp_path: Path) -> gitlab.GitLab:
    return gitlab.make(tmp_path)


def including(template: str, ref: str, **inputs: object) -> str:
    values = {"project": gitlab.PROJECT, "ref": ref, **inputs}
    include = {"project": gitlab.PROJECT, "ref": ref, "file": f"ci/gitlab/{template}", "inputs": values}
    return str(yaml.safe_dump({"include": [include]}, sort_keys=False))


def test_templates_that_are_included_together_keep_their_own_inputs(forge: gitlab.GitLab) -> None:
    own = {"stacks.yml": {}, "audits.yml": {"name": "stacks"}, "image.yml": {"name": "stacks"}}
    includes = []
    for number, (template, inputs) in enumerate(own.items()):
        text = including(template, forge.ref, image=f"registry.example.com/python:{number}", **inputs)
        includes += yaml.safe_load(text)["include"]
    ran = forge.run(forge.team(yaml.safe_dump({"include": includes})), "--preview")
    assert ran.code == 0, ran.out
    jobs = yaml.safe_load(ran.out.partition("---\n")[2])
    expected = {"multiarch-check": 0, "multiarch-drift": 0, "multiarch-audit-stacks": 1, "verify-stacks": 2}
    images = {name: jobs[name]["image"]["name"] for name in expected}
    assert images == {name: f"registry.example.com/python:{number}" for name, number in expected.items()}


def write_engine(folder: Path) -> None:
    engine = folder / "bin" / "pulumi"
    engine.write_text(ENGINE.format(calls=folder / "calls"))
    engine.chmod(0o755)


@pytest.fixture
def team(tmp_path: Path) -> tuple[gitlab.GitLab, Path]:
    """A clone of this project with one changed stack, and a stand-in for the engine that says how it was called."""
    # gitlab-ci-local issues no ID tokens: what the jobs get comes from the environment.
    forge = gitlab.make(tmp_path, environ=TOKEN)
    clone = forge.team("")
    gitlab.copy_project(clone, *CLONED)
    inputs = {"setup": f"ln -s {ROOT / '.venv'} .venv", "backend": "file:///state", "preview_role": ROLE}
    (clone / ".gitlab-ci.yml").write_text(
        yaml.safe_dump({"include": [{"local": "ci/gitlab/stacks.yml", "inputs": inputs}]})
    )
    gitlab.commit(clone)
    stack = clone / "config/stacks/Pulumi.checkout-dev.yaml"
    stack.write_text(stack.read_text().replace("maxSize: 4", "maxSize: 5"))
    gitlab.commit(clone)
    write_engine(tmp_path)
    return forge, clone


SNIPPETS = [each.text for each in blocks(ROOT / "docs/ci.md") if "ci/gitlab/" in each.text and each.language == "yaml"]
"""In the documents' order: a clone's stacks, those of another repository, its audits, its images."""
REQUEST = {
    "CI_COMMIT_BRANCH": "",
    "CI_PIPELINE_SOURCE": "merge_request_event",
    "CI_MERGE_REQUEST_PROJECT_PATH": "team/app",
}
EVENTS = {
    "a merge request": REQUEST | {"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "team/app"},
    "a fork's merge request": REQUEST | {"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "somebody/app"},
    "main": {"CI_COMMIT_BRANCH": "main", "CI_PIPELINE_SOURCE": "push"},
    "a tag": {"CI_COMMIT_BRANCH": "", "CI_COMMIT_TAG": "v1", "CI_PIPELINE_SOURCE": "push"},
    "a feature branch": {"CI_COMMIT_BRANCH": "feature", "CI_PIPELINE_SOURCE": "push"},
    "a schedule": {"CI_COMMIT_BRANCH": "main", "CI_PIPELINE_SOURCE": "schedule"},
}
IMAGE = {"build-image", "verify-image", "tag-image"}
STARTED = {
    "a merge request": {"multiarch-check", "multiarch-render-diff", "multiarch-review"},
    "a fork's merge request": {"multiarch-check", "multiarch-render-diff"},
    "main": {"multiarch-check", "multiarch-updates", "multiarch-update"} | IMAGE,
    "a tag": IMAGE,
    "a feature branch": set(),
    "a schedule": {"multiarch-drift", "multiarch-audit-shop-prod"},
}


def snippet(index: int, ref: str) -> str:
    return SNIPPETS[index].replace("0123456789abcdef0123456789abcdef01234567", ref)


def test_each_event_starts_the_jobs_of_the_documents_snippets_that_are_meant(forge: gitlab.GitLab) -> None:
    """The last includes of all that another repository has; and a clone's, without images and audits."""
    includes = [each for index in (1, 2, 3) for each in yaml.safe_load(snippet(index, forge.ref))["include"]]
    others = forge.team(yaml.safe_dump({"include": includes}))
    clone = forge.team(SNIPPETS[0], name="team/clone")
    gitlab.copy_project(clone, "ci")
    gitlab.commit(clone)
    for event, variables in EVENTS.items():
        for repository, apart in ((others, set()), (clone, {*IMAGE, "multiarch-audit-shop-prod"})):
            ran = forge.run(repository, "--list-csv", **variables)
            names = {re.split("[;: ]", line)[0] for line in ran.out.splitlines() if re.match("[a-z]+-", line)}
            assert names == STARTED[event] - apart, (event, ran.out)


def test_a_repository_that_is_not_a_clone_runs_the_snippet_with_the_projects_packages(
    forge: gitlab.GitLab, tmp_path: Path
) -> None:
    project = forge.folder / f"{gitlab.PROJECT}.git"
    (project / "Makefile").write_text(f"venv:\n\tln -s {ROOT / '.venv'} .venv\n")
    forge = dataclasses.replace(forge, ref=gitlab.commit(project), environ={**forge.environ, **TOKEN})
    stack = "config/stacks/Pulumi.checkout-dev.yaml"
    clone = forge.team(snippet(1, forge.ref), {each: (ROOT / each).read_text() for each in (stack, "Pulumi.yaml")})
    (clone / stack).write_text((clone / stack).read_text().replace("maxSize: 4", "maxSize: 5"))
    gitlab.commit(clone)
    write_engine(tmp_path)
    ran = forge.run(clone, **merge_request(clone))
    assert ran.code == 0, ran.out
    assert [line.split()[0] for line in (tmp_path / "calls").read_text().splitlines()] == ["install", "preview"]


def merge_request(clone: Path) -> dict[str, str]:
    base = gitlab.git(clone, "rev-parse", "HEAD~1")
    return EVENTS["a merge request"] | {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}


def test_a_merge_request_gets_a_check_a_diff_and_a_digest(team: tuple[gitlab.GitLab, Path], tmp_path: Path) -> None:
    forge, clone = team
    ran = forge.run(clone, **merge_request(clone))
    assert ran.code == 0, ran.out
    reports = clone / "reports"
    entries = json.loads((reports / "codequality.json").read_text())
    assert "config/stacks/Pulumi.checkout-dev.yaml" in {each["location"]["path"] for each in entries}
    assert json.loads((reports / "check.sarif").read_text())["version"] == "2.1.0"
    assert '-        "maxSize": 4' in (reports / "render.diff").read_text()
    assert "| node group general | stays |  |  |" in (reports / "stack-diff.md").read_text()
    assert (reports / "affected.txt").read_text() == "checkout-dev\n"
    assert (tmp_path / "calls").read_text() == (
        "preview --stack checkout-dev --json --event-log reports/previews/checkout-dev.events --non-interactive "
        f"as {ROLE}\n"
    )
    assert (reports / "review.md").read_text().startswith("<!--")
    assert "the-oidc-token" not in ran.out


def test_a_merge_updates_what_changed_by_its_plan_and_production_waits(
    team: tuple[gitlab.GitLab, Path], tmp_path: Path
) -> None:
    forge, clone = team
    stack = clone / "config/stacks/Pulumi.payments-prod.yaml"
    stack.write_text(stack.read_text().replace("maxSize: 12", "maxSize: 13"))
    gitlab.commit(clone)
    before = gitlab.git(clone, "rev-parse", "HEAD~2")
    variables = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BEFORE_SHA": before}
    ran = forge.run(clone, **variables, UPDATE_ROLE="arn:update")
    calls = (tmp_path / "calls").read_text().splitlines()
    saved = "reports/plan-checkout-dev.json"
    assert calls[:2] == [
        f"preview --stack checkout-dev --non-interactive --save-plan {saved} --diff as {ROLE}",
        f"up --stack checkout-dev --non-interactive --yes --skip-preview --plan {saved} as arn:update",
    ], ran.out
    assert [line.split()[:3] for line in calls[2:]] == [["preview", "--stack", "payments-prod"]]
    assert "update payments-prod" in ran.out
    started = forge.run(clone, "--manual", "update payments-prod", **variables, UPDATE_ROLE="arn:update")
    assert "up --stack payments-prod" in (tmp_path / "calls").read_text(), started.out


def test_drift_and_audits_run_in_schedules_alone_and_keep_one_issue(
    team: tuple[gitlab.GitLab, Path], tmp_path: Path
) -> None:
    forge, clone = team
    tool = tmp_path / "bin" / "multiarch"
    tool.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path / "asked"}\ncase $1 in audit) exit 1 ;; esac\n')
    tool.chmod(0o755)
    inputs = {"audits": ["images", "daemonsets"], "name": "prod"}
    ci = yaml.safe_load((clone / ".gitlab-ci.yml").read_text())
    ci["include"].append({"local": "ci/gitlab/audits.yml", "inputs": inputs})
    (clone / ".gitlab-ci.yml").write_text(yaml.safe_dump(ci))
    gitlab.commit(clone)
    ran = forge.run(clone, CI_PIPELINE_SOURCE="schedule", MULTIARCH=str(tool))
    assert ran.code == 0, ran.out
    asked = (tmp_path / "asked").read_text().splitlines()
    assert "post issue --close --name drift" in asked
    assert [line for line in asked if line.startswith("audit")] == [
        "audit images --fail-on unsupported --output markdown",
        "audit daemonsets --fail-on finding --output markdown",
    ]
    title = "Findings of the audit of images in prod"
    assert f"post issue reports/images.md --name audit-images-prod --title {title}" in asked
    assert all("--refresh" in line for line in (tmp_path / "calls").read_text().splitlines())
