"""The child pipeline of GitLab's updates, and what every template has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ci.scripts import gitlab_updates
from tests.quotations import ROOT

TEMPLATES = sorted((ROOT / "ci" / "gitlab").glob("*.yml"))
PINNED = re.compile(r"[a-z.]+/[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}")
PARENT = {
    "ENVIRONMENTS": '["dev", "staging", "prod"] ',
    "MANUAL_ENVIRONMENTS": '["prod"] ',
    "AUDIENCE": "https://gitlab.com",
    "JOB_IMAGE": "python",
    "UPDATE_ROLE": "arn:update",
    "REPORTS": "reports",
    "GITLAB_TOKEN": "secret",
}


def document(template: Path, index: int) -> dict[str, Any]:
    """The header or the jobs; ``!reference`` becomes the list of its words."""
    found: dict[str, Any] = list(yaml.safe_load_all(template.read_text().replace("!reference ", "")))[index]
    return found


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_every_input_says_what_it_is_for_and_images_are_pinned(template: Path) -> None:
    for name, row in document(template, 0)["spec"]["inputs"].items():
        assert row["description"].endswith("."), name
        for default in row["default"] if isinstance(row.get("default"), list) else [row.get("default")]:
            if isinstance(default, str) and "/" in default and name.endswith(("image", "services")):
                assert PINNED.fullmatch(default), name


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda file: file.name)
def test_no_input_becomes_shell_unless_its_type_allows_only_harmless_text(template: Path) -> None:
    """Others reach scripts as variables, in which a shell finds no commands."""
    kinds = {name: row.get("type", "string") for name, row in document(template, 0)["spec"]["inputs"].items()}
    for job in document(template, 1).values():
        if isinstance(job, dict):
            lines = json.dumps([job.get(key) for key in ("before_script", "script", "after_script")])
            used = re.findall(r"\$\[\[ inputs\.(\w+) \]\]", lines)
            assert {kinds[name] for name in used} <= {"boolean"}


def test_environments_follow_one_another_and_production_waits_for_somebody() -> None:
    (job,) = gitlab_updates.pipeline([], PARENT).values()
    assert job["script"] == ["echo 'The change touches no stack.'"]
    made = gitlab_updates.pipeline(["pay-prod", "cart-dev", "pay-dev"], PARENT)
    assert made["stages"] == ["plan dev", "update dev", "plan prod", "update prod"]
    production = made["update pay-prod"]
    assert (production["when"], production["allow_failure"]) == ("manual", False)
    assert (production["resource_group"], production["environment"]["name"]) == ("pay-prod", "prod/pay-prod")
    assert production["dependencies"] == ["plan pay-prod"]
    assert "when" not in made["update cart-dev"]
    assert made["plan pay-prod"]["stage"] == "plan prod"


def test_an_environment_with_a_hyphen_has_its_own_role_and_stage() -> None:
    environments = {"ENVIRONMENTS": '["dev", "pre-prod", "prod"]', "UPDATE_ROLE": "arn:up-{environment}"}
    made = gitlab_updates.pipeline(["pay-pre-prod", "pay-prod"], {**PARENT, **environments})
    jobs = {name: (job["stage"], job["variables"]["UPDATE_ROLE"]) for name, job in made.items() if "update" in name}
    assert jobs == {
        "update pay-pre-prod": ("update pre-prod", "arn:up-pre-prod"),
        "update pay-prod": ("update prod", "arn:up-prod"),
    }


def test_jobs_of_the_child_get_the_settings_of_the_parent_and_no_secrets() -> None:
    job = gitlab_updates.pipeline(["pay-dev"], PARENT)["update pay-dev"]
    assert job["variables"]["UPDATE_ROLE"] == "arn:update"
    assert "secret" not in json.dumps(job)
    assert job["id_tokens"] == {"AWS_TOKEN": {"aud": "https://gitlab.com"}}
    assert job["after_script"] == ['rm -rf -- "$CREDENTIALS_DIR"']


def test_jobs_of_the_child_get_the_scripts_as_those_of_the_parent_do() -> None:
    setup = document(ROOT / "ci/gitlab/setup.yml", 1)[".multiarch-eks:$[[ inputs.name ]]"]
    fetch = gitlab_updates.pipeline(["pay-dev"], {**PARENT, "MULTIARCH_EKS_PROJECT": "a/b"})["plan pay-dev"]
    parent, child = (" ".join(re.sub(r"\\\n", "", each["before_script"][0]).split()) for each in (setup, fetch))
    (command,) = re.findall(r"git -C \.multiarch-eks -c .*?MULTIARCH_EKS_REF\"", child)
    assert command in parent


@pytest.mark.parametrize(
    ("stacks", "change", "said"),
    [
        (["pay-test"], {}, "stack pay-test: its name must end with one of the environments dev, staging, prod"),
        (["pay-dev"], {"MANUAL_ENVIRONMENTS": '["production"]'}, "manual_environments has production"),
        (["pay-dev"], {"ENVIRONMENTS": '["dev; rm"]', "MANUAL_ENVIRONMENTS": "[]"}, "an environment's name has"),
    ],
)
def test_what_would_not_be_updated_as_meant_is_rejected(stacks: list[str], change: dict[str, str], said: str) -> None:
    with pytest.raises(gitlab_updates.InvalidError, match=re.escape(said)):
        gitlab_updates.pipeline(stacks, {**PARENT, **change})
