"""Stack files for tests: written into a project folder, loaded, and their problems in plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from multiarch.errors import Problem, StackError
from multiarch.stack.load import Stack, load_file

CONFIG = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "4711"
  multiarch-eks:nodeGroups:
    web:
      instanceTypes: [m7i.large]
"""
PROJECT = """\
name: multiarch-eks
runtime: python
stackConfigDir: config/stacks
"""


@dataclass(frozen=True)
class Project:
    """A project folder with one stack file."""

    root: Path

    @property
    def file(self) -> Path:
        return self.root / "config" / "stacks" / "Pulumi.shop-dev.yaml"

    def write(self, text: str | bytes, *, project: str = PROJECT) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        (self.root / "Pulumi.yaml").write_text(project)

    def load(self, text: str | bytes, *, project: str = PROJECT) -> Stack:
        self.write(text, project=project)
        return load_file(self.file)

    def problems(self, text: str | bytes, *, project: str = PROJECT) -> Sequence[Problem]:
        """What rejects the file; none when it is accepted."""
        try:
            self.load(text, project=project)
        except StackError as error:
            return error.problems
        return ()

    def lines(self, text: str | bytes, *, project: str = PROJECT) -> list[str]:
        """The problems as their user reads them, with file names alone."""
        folder = f"{self.file.parent.as_posix()}/"
        found = self.problems(text, project=project)
        return [str(problem).replace(folder, "").replace(f"{self.root.as_posix()}/", "") for problem in found]
