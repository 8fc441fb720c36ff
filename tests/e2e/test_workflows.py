"""GitHub's workflows with the real engine: a change is reviewed, merged by its plan, and leaves no drift."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox import environment, installer, state
from tests.comments.stand_in import TOKEN, GitHubStandIn, serving
from tests.e2e.world import World
from tests.github.runner import Job
from tests.quotations import ROOT

STACK = "checkout-dev"
ROLE = "arn:aws:iam::111122223333:role/eks-ci-preview"
REPOSITORY = "team/clusters"


class Repository:
    """The world's folder as the checkout of a runner, whose engine is the sandbox's."""

    def __init__(self, world: World, folder: Path, github: GitHubStandIn) -> None:
        self.root, self.temp = world.root, folder / "temp"
        known = state.load(world.layout)
        assert known.engine is not None
        spoken = environment.build(world.layout, known.engine, world.server.url, STACK, os.environ)
        self.environ = spoken.applied_to(os.environ) | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": github.url,
            "GITHUB_REF": "refs/pull/3/merge",
            "GITHUB_REPOSITORY": REPOSITORY,
        }
        engine = self.temp / "pulumi" / installer.VERSION
        engine.mkdir(parents=True)
        (engine / "pulumi").symlink_to(known.engine.path)
        shutil.copytree(ROOT / "ci", self.root / "ci")
        for name in ("Makefile", "pyproject.toml", "requirements.lock", "setup.py"):
            shutil.copy(ROOT / name, self.root)
            os.utime(self.root / name, (0, 0))  # older than .venv, so that nothing is installed
        (self.root / "sandbox").symlink_to(ROOT / "sandbox")
        (self.root / ".gitignore").write_text("/.venv\n/.sandbox\n/reports\n/sandbox\n__pycache__\n")
        # The engine's own line of the stack's file, about the encryption of secrets.
        shutil.copy(world.layout.project / "config" / "stacks" / f"Pulumi.{STACK}.yaml", world.stack_file(STACK))
        self._git("init", "--quiet")
        self.commit()

    def _git(self, *words: str) -> str:
        own = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        return subprocess.check_output(["git", "-C", str(self.root), *own, *words], text=True)

    def commit(self) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", "change")

    @property
    def before(self) -> str:
        return self._git("rev-parse", "HEAD^").strip()

    def run(self, workflow: str, job: str, contexts: Mapping[str, str] | None = None, **inputs: Any) -> Job:
        given = {"github.repository": REPOSITORY, "github.token": TOKEN, "github.event.before": self.before}
        given["github.event.pull_request.head.repo.full_name"] = REPOSITORY
        given["secrets.PULUMI_CONFIG_PASSPHRASE"] = self.environ["PULUMI_CONFIG_PASSPHRASE"]
        settings = {"backend": self.environ["PULUMI_BACKEND_URL"], **inputs}
        settings = {name.replace("_", "-"): value for name, value in settings.items()}
        made = Job(workflow, job, self.root, self.temp, self.environ, settings, {**given, **(contexts or {})})
        failed = [step for step in made.run() if step.returncode]
        assert failed == []
        return made


@pytest.mark.e2e
def test_a_change_is_reviewed_merged_by_its_plan_and_leaves_no_drift(world: World, tmp_path: Path) -> None:
    world.sandbox("up", STACK)
    github = GitHubStandIn()
    with serving(github):
        repository = Repository(world, tmp_path, github)
        file = world.stack_file(STACK)
        file.write_text(file.read_text().replace("maxSize: 4", "maxSize: 6", 1))
        repository.commit()

        repository.run("review.yml", "preview", role=ROLE)
        (comment,) = github.bodies
        assert f"## {STACK}: low risk" in comment
        assert "maxSize 4 → 6" in comment

        settings: dict[str, Any] = {"environment": "dev", "role": ROLE, "preview_role": ROLE}
        plan = repository.run("up.yml", "plan", **settings)
        assert plan.values["steps.affected.outputs.stacks"] == f'["{STACK}"]'
        assert "maxSize" in plan.summary
        assert json.loads((world.root / "reports" / f"plan-{STACK}.json").read_text())
        repository.run("up.yml", "up", {"matrix.stack": STACK}, **settings)
        clusters = world.aws(STACK).client("eks")
        (cluster,) = clusters.list_clusters()["clusters"]
        sizes = {
            clusters.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]["scalingConfig"][
                "maxSize"
            ]
            for name in clusters.list_nodegroups(clusterName=cluster)["nodegroups"]
        }
        assert 6 in sizes

        repository.run("drift.yml", "drift", role=ROLE, stacks=STACK)
        assert github.issues == {}
