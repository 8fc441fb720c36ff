"""A checkout as a runner has it: a small project with two commits, and stand-ins for the programs that need a cloud."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox import installer
from tests.comments.stand_in import TOKEN, GitHubStandIn, serving
from tests.github.runner import Job, base_environ
from tests.quotations import ROOT

REPOSITORY = "team/clusters"  # the stand-in's
STACK = "checkout-dev"


@dataclass
class Checkout:
    """``root`` is the checkout; ``bin`` has stand-ins, which ``calls`` has the command lines of.

    ``aws`` is AWS's address; by default nothing answers there.
    """

    root: Path
    bin: Path
    github: GitHubStandIn
    aws: str = "http://127.0.0.1:9"

    def program(self, name: str, text: str = "") -> None:
        """Write a shell script that notes how it was called, with ``text`` as the rest of it."""
        script = self.bin / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.bin}/calls"\n{text}\n')
        script.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """The command lines of stand-ins, in the order of their calls."""
        file = self.bin / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def job(self, workflow: str, job: str, contexts: dict[str, Any] | None = None, **inputs: object) -> Job:
        """A job in this checkout, for a pull request of the repository itself; input names have _ for -."""
        own = {
            "github.repository": REPOSITORY,
            "github.event.pull_request.head.repo.full_name": REPOSITORY,
            "github.event.before": "",
            "github.event.repository.private": False,
            "github.token": TOKEN,
            "github.actor": "somebody",
        }
        environ = base_environ(self.root.parent) | {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_REF": "refs/pull/3/merge",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_ENDPOINT_URL": self.aws,
        }
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        return Job(workflow, job, self.root, self.root.parent / "temp", environ, given, {**own, **(contexts or {})})

    def commit(self) -> None:
        """Commit what is there."""
        git = ["git", "-C", str(self.root), "-c", "user.name=Test", "-c", "user.email=test@example.com"]
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", "change"], check=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    """A project with one stack, whose last commit raises the size of a node group."""
    root = tmp_path / "checkout"
    stacks = root / "config" / "stacks"
    stacks.mkdir(parents=True)
    for name in ("Makefile", "Pulumi.yaml", "__main__.py", "pyproject.toml", "requirements.lock", "setup.py"):
        shutil.copy(ROOT / name, root)
        os.utime(root / name, (0, 0))  # older than .venv, so that nothing is installed
    shutil.copytree(ROOT / "ci", root / "ci")
    (root / "sandbox").mkdir()
    for name in ("__init__.py", "installer.py"):
        shutil.copy(ROOT / "sandbox" / name, root / "sandbox")
    (root / ".venv").symlink_to(sys.prefix)
    (root / ".gitignore").write_text(".venv\nreports\nsandbox\n")
    stack = stacks / f"Pulumi.{STACK}.yaml"
    text = (ROOT / "config" / "stacks" / stack.name).read_text(encoding="utf-8")
    stack.write_text(text.replace("maxSize: 4", "maxSize: 3"), encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    github = GitHubStandIn()
    with serving(github):
        made = Checkout(root, tmp_path / "bin", github)
        made.bin.mkdir()
        made.commit()
        stack.write_text(text.replace("maxSize: 3", "maxSize: 4"), encoding="utf-8")
        made.commit()
        yield made


@pytest.fixture
def engine(checkout: Checkout) -> Callable[[str], None]:
    """Puts a stand-in for the engine where the set-up looks for the one that it has downloaded."""

    def write(text: str) -> None:
        checkout.program("pulumi", text)
        folder = checkout.root.parent / "temp" / "pulumi" / installer.VERSION
        folder.mkdir(parents=True)
        (folder / "pulumi").symlink_to(checkout.bin / "pulumi")

    return write
