"""A GitLab made of folders, with gitlab-ci-local and its shell executor in place of runners.

It has a repository of this project, and teams' repositories that include its templates. Nothing is fetched from a
network: git takes everything of the project's group at https://gitlab.example.com from these folders.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.quotations import ROOT
from tools import build

HOST: Final = "https://gitlab.example.com"
PROJECT: Final = "platform/multiarch-eks"
_COLORS: Final = re.compile(r"\x1b\[[0-9;]*m")


def git(folder: Path, *words: str) -> str:
    """What git prints."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, message: str = "change") -> str:
    """Commit everything in a folder, and return the commit."""
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def copy_project(target: Path, *parts: str) -> None:
    """Copy the files of this checkout that git has or would add, below ``parts`` (all), as they are now."""
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "--", *parts).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


@dataclass(frozen=True, slots=True)
class Ran:
    """A pipeline that has ended. ``out`` has the jobs' output, without colours."""

    code: int
    out: str


@dataclass(frozen=True, slots=True)
class GitLab:
    """``folder`` holds the repositories, by their paths; ``ref`` is the commit of this project's."""

    folder: Path
    ref: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def team(self, ci: str, files: Mapping[str, str] | None = None, name: str = "team/app") -> Path:
        """A clone of a team's repository with this ``.gitlab-ci.yml``."""
        clone = self.folder.parent / name.replace("/", "-")
        clone.mkdir()
        git(clone, "init", "--quiet")
        for path, text in {".gitlab-ci.yml": ci, ".gitignore": ".gitlab-ci-local/\n", **(files or {})}.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_text(text)
        commit(clone)
        git(clone, "remote", "add", "origin", f"{HOST}/{name}.git")
        git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
        return clone

    def start(self, clone: Path, *options: str, **variables: str) -> subprocess.Popen[str]:
        """Begin a pipeline, in a process group of its own."""
        # All jobs share the clone: with --shell-isolation, after_script deletes what becomes the artifacts.
        command = [str(build.ensure("gitlab-ci-local")), "--force-shell-executor", "--concurrency", "1", "--no-color"]
        command += options
        for variable, value in variables.items():
            command += ["--variable", f"{variable}={value}"]
        path = f"{self.folder.parent / 'bin'}:{os.environ['PATH']}"
        return subprocess.Popen(
            command, cwd=clone, env={**os.environ, "PATH": path, **self.environ}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip

    def run(self, clone: Path, *options: str, **variables: str) -> Ran:
        """Run a pipeline to its end."""
        with self.start(clone, *options, **variables) as process:
            out, _ = process.communicate(timeout=600)
        return Ran(process.returncode, _COLORS.sub("", out))


def make(folder: Path, *parts: str, environ: Mapping[str, str] | None = None) -> GitLab:
    """A GitLab with this project's repository, which has the files below ``parts``."""
    project = folder / "repositories" / f"{PROJECT}.git"
    project.mkdir(parents=True)
    git(project, "init", "--quiet")
    copy_project(project, "ci", *parts)
    ref = commit(project)
    for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git(project, "config", setting, "true")
    settings = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(folder),
    }
    # Not all of the host: gitlab-ci-local reads the address of `origin`, which git would show rewritten.
    group = PROJECT.partition("/")[0]
    places = (f"{HOST}/{group}/", f"{HOST}:443/{group}/")
    (folder / "gitconfig").write_text(
        f'[url "file://{folder / "repositories" / group}/"]\n'
        + "".join(f"insteadOf = {place}\n" for place in places)
        + "[user]\nname = Test\nemail = test@example.com\n[safe]\ndirectory = *\n"
    )
    rsync = build.ensure("rsync")
    (folder / "bin").mkdir()
    # gitlab-ci-local copies the clone with it, and uses the copy for containers only.
    (folder / "bin" / "rsync").write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={rsync.parent} exec {rsync} "$@"\n')
    (folder / "bin" / "rsync").chmod(0o755)
    return GitLab(folder / "repositories", ref, {**settings, **(environ or {})})
