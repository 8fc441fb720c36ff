"""The child pipeline that updates stacks: ``gitlab_updates.py FILE`` prints it, for the stacks that FILE names.

Each environment has two stages: one previews its stacks and keeps their plans, one updates them by these plans. The
next environment begins when all of that have succeeded. `resource_group` lets one update of a stack run at a time.

Environment: ENVIRONMENTS, MANUAL_ENVIRONMENTS and RUNNER_TAGS (JSON arrays), AUDIENCE, JOB_IMAGE, and what the jobs
get, :data:`PASSED`. Standard library only; JSON is YAML.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

PASSED = (
    "CONSTRAIN", "MULTIARCH_EKS_PROJECT", "MULTIARCH_EKS_REF", "PIP_CACHE_DIR", "PREVIEW_ROLE", "PULUMI_BACKEND_URL",
    "PULUMI_SHA256", "PULUMI_SKIP_UPDATE_CHECK", "PULUMI_VERSION", "REPORTS", "SETUP", "UPDATE_ROLE",
)  # fmt: skip
"""Variables of the parent's job that the child's jobs get, where they are set."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
"""A stack's name, and an environment's."""


class InvalidError(Exception):
    """Something that would lead to a pipeline that does not do what was meant."""


def environment_of(stack: str, environments: list[str]) -> str:
    """Return the environment that the stack's name ends with, the longest if there are several."""
    found = [each for each in environments if stack.endswith(f"-{each}")]
    if not found or not _NAME.fullmatch(stack):
        known = ", ".join(environments)
        raise InvalidError(f"stack {stack}: its name must end with one of the environments {known}")
    return max(found, key=len)


def pipeline(stacks: list[str], environ: dict[str, str]) -> dict[str, Any]:
    """Return the child pipeline. Raises InvalidError."""
    environments: list[str] = json.loads(environ["ENVIRONMENTS"])
    manual: list[str] = json.loads(environ["MANUAL_ENVIRONMENTS"])
    if unknown := sorted(set(manual) - set(environments)):
        raise InvalidError(f"manual_environments has {', '.join(unknown)}, which environments has not")
    if not all(_NAME.fullmatch(each) for each in environments):
        raise InvalidError("an environment's name has lower-case letters, digits and hyphens")
    if not stacks:
        # GitLab rejects a pipeline without jobs.
        return {"nothing-to-update": {"image": environ["JOB_IMAGE"], "script": ["echo 'The change touches no stack.'"]}}
    used = {stack: environment_of(stack, environments) for stack in stacks}
    stages = [f"{step} {each}" for each in environments if each in used.values() for step in ("plan", "update")]
    tags = json.loads(environ.get("RUNNER_TAGS") or "[]")
    common: dict[str, Any] = {
        "image": environ["JOB_IMAGE"],
        **({"tags": tags} if tags else {}),
        "id_tokens": {"AWS_TOKEN": {"aud": environ["AUDIENCE"]}},
        "variables": {
            **{name: environ[name] for name in PASSED if name in environ},
            "CREDENTIALS_DIR": "/tmp/multiarch-eks-$CI_JOB_ID",  # noqa: S108 (made by the job, for it alone)
        },
        "cache": [
            {"key": {"files": ["requirements.lock"], "prefix": "multiarch-eks-pip"}, "paths": [".cache/pip"]},
            {"key": f"multiarch-eks-pulumi-{environ.get('PULUMI_VERSION', '')}", "paths": [".cache/pulumi"]},
        ],
        "before_script": [_fetch(environ), '. "$SCRIPTS/gitlab-setup.sh"', '. "$SCRIPTS/pulumi.sh"'],
        "after_script": ['rm -rf -- "$CREDENTIALS_DIR"'],
    }
    jobs: dict[str, Any] = {}
    for stack, name in sorted(used.items()):
        # The name's last word alone would give a stack of pre-prod the role of prod.
        roles = {
            key: value.replace("{environment}", name) for key, value in common["variables"].items() if "_ROLE" in key
        }
        own = {**common, "variables": {**common["variables"], **roles}}
        jobs[f"plan {stack}"] = {
            **own,
            "stage": f"plan {name}",
            "script": [f"$SCRIPTS/update.sh plan {stack}"],
            "artifacts": {"paths": ["reports"], "expire_in": "7 days", "access": "developer"},
        }
        jobs[f"update {stack}"] = {
            **own,
            "stage": f"update {name}",
            "script": [f"$SCRIPTS/update.sh up {stack}"],
            "dependencies": [f"plan {stack}"],
            "environment": {"name": f"{name}/{stack}", "deployment_tier": _tier(name)},
            "resource_group": stack,
            "interruptible": False,
            # A manual job that may not fail holds the pipeline until somebody starts it.
            **({"when": "manual", "allow_failure": False} if name in manual else {}),
        }
    return {"stages": stages, **jobs}


def _tier(environment: str) -> str:
    known = {"dev": "development", "test": "testing", "staging": "staging", "prod": "production"}
    return known.get(environment, "other")


def _fetch(environ: dict[str, str]) -> str:
    """Return what the parent's jobs do to get the scripts: the file beside setup.yml's ``before_script``."""
    if not environ.get("MULTIARCH_EKS_PROJECT"):
        return "export SCRIPTS=ci/scripts"
    helper = '!f() { echo username=gitlab-ci-token; echo "password=$CI_JOB_TOKEN"; }; f'
    source = '--quiet --depth 1 "$CI_SERVER_URL/$MULTIARCH_EKS_PROJECT.git" "$MULTIARCH_EKS_REF"'
    return "\n".join(
        (
            "rm -rf .multiarch-eks; git init --quiet .multiarch-eks",
            f"git -C .multiarch-eks -c credential.helper= -c credential.helper='{helper}' fetch {source}",
            "git -C .multiarch-eks checkout --quiet FETCH_HEAD",
            "export SCRIPTS=.multiarch-eks/ci/scripts",
        )
    )


def main() -> int:
    """Run the command line; exit code 2 for stacks that have no place in the pipeline."""
    stacks = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    try:
        made = pipeline(stacks, dict(os.environ))
    except InvalidError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(made, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
