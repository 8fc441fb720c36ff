"""The sandbox's files: all in ``.sandbox`` next to the project's ``Pulumi.yaml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multiarch.errors import MultiarchError, StackError
from multiarch.stack import yaml_source
from multiarch.today import get_today

if TYPE_CHECKING:
    from multiarch.stack.model import Plan

CLONE = Path(__file__).resolve().parent.parent
"""The checkout of this package. Tests may use another project folder."""

_STACK_FILE = re.compile(r"Pulumi\.(?P<stack>[A-Za-z0-9][A-Za-z0-9._-]*)\.yaml")


class SandboxUsageError(MultiarchError):
    """The command can't run here: no such stack, no project, or no running sandbox (exit code 2)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one sandbox. ``root`` is the folder that holds ``Pulumi.yaml``, absolute."""

    root: Path

    @property
    def folder(self) -> Path:
        """Everything below is the sandbox's own, and goes away with ``down``."""
        return self.root / ".sandbox"

    def require_folder(self) -> None:
        """Raise SandboxUsageError if ``folder`` is a link or a file: what a link leads to could hold more."""
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            kind = "a symbolic link" if self.folder.is_symlink() else "a file"
            raise SandboxUsageError(f"{self.folder} is {kind}; the sandbox needs a folder.", hint="Remove it.")

    @property
    def lock(self) -> Path:
        """Held while a command works, so that two do not work at once."""
        return self.folder / "lock"

    @property
    def state(self) -> Path:
        """What runs, as JSON."""
        return self.folder / "state.json"

    @property
    def server(self) -> Path:
        """The AWS server's output and log."""
        return self.folder / "server"

    @property
    def registry(self) -> Path:
        """The output of the demo's registry, and the hosts.toml that leads to it."""
        return self.folder / "registry"

    @property
    def cluster(self) -> Path:
        """What is known of the cluster of real nodes; its own files are elsewhere."""
        return self.folder / "cluster"

    @property
    def control_plane(self) -> Path:
        """What is known of the control plane that the official Kubernetes provider talks to."""
        return self.folder / "control-plane"

    @property
    def token(self) -> Path:
        """The control plane's token, as ``aws eks get-token`` prints one."""
        return self.programs / "token.json"

    @property
    def backend(self) -> Path:
        """Pulumi's state, a file backend."""
        return self.folder / "backend"

    @property
    def home(self) -> Path:
        """``PULUMI_HOME``: the engine's own settings and plugins stay out of the user's."""
        return self.folder / "pulumi-home"

    @property
    def project(self) -> Path:
        """Pulumi's working directory: see ``sandbox.project``."""
        return self.folder / "project"

    @property
    def bin(self) -> Path:
        """A ``pulumi`` that updates the project folder and then runs the real one."""
        return self.folder / "bin"

    @property
    def programs(self) -> Path:
        """Stand-ins for programs that this machine may lack."""
        return self.folder / "programs"

    @property
    def logs(self) -> Path:
        """Pulumi's output, one file per command and stack."""
        return self.folder / "logs"

    @property
    def all_manifests(self) -> Path:
        """Where the Kubernetes stand-in writes what it would apply, a folder per stack."""
        return self.folder / "manifests"

    def manifests(self, stack: str) -> Path:
        """Return what would be applied to the cluster of a stack."""
        return self.all_manifests / stack

    def settings(self) -> dict[str, Any]:
        """Read ``Pulumi.yaml``.

        Raises:
            SandboxUsageError: there is none, or it has no name.
        """
        file = self.root / "Pulumi.yaml"
        if not file.is_file():
            raise SandboxUsageError(f"{self.root} is not a Pulumi project: it has no Pulumi.yaml.")
        settings = read_yaml(file)
        if not isinstance(settings.get("name"), str):
            raise SandboxUsageError(f"{file} has no name.")
        return settings

    def is_own(self) -> bool:
        """Return whether this is the clone's project, also as a copy: its program and its stack files are known."""
        return (self.root / "Pulumi.yaml").is_file() and self.settings()["name"] == Layout(CLONE).settings()["name"]

    def stacks_folder(self) -> Path:
        """Return the folder of the stack files, as ``Pulumi.yaml`` names it."""
        return self.root / str(self.settings().get("stackConfigDir", "."))

    def stacks(self) -> list[str]:
        """List the stacks that have a settings file, sorted."""
        names = (_STACK_FILE.fullmatch(file.name) for file in self.stacks_folder().glob("Pulumi.*.yaml"))
        return sorted(match["stack"] for match in names if match)

    def stack(self, named: str) -> str:
        """Return the name of a stack that is given by its name or by its file.

        Raises:
            SandboxUsageError: it has no settings file in ``stacks_folder()``; the message names near ones.
        """
        file = Path(named)
        if match := _STACK_FILE.fullmatch(file.name):
            if file.resolve().parent != self.stacks_folder().resolve() and file.parent != Path():
                raise SandboxUsageError(f"{named} is not in {self.stacks_folder()}, where this project's stacks are.")
            named = match["stack"]
        known = self.stacks()
        if named not in known:
            from multiarch.stack.schema_paths import find_nearest  # noqa: PLC0415 (as in `plan`)

            near = find_nearest(named, known)
            hint = f"Did you mean {near}?" if near else f"There are: {', '.join(known)}."
            raise SandboxUsageError(f"{self.stacks_folder()} has no Pulumi.{named}.yaml.", hint=hint)
        return named

    def plan(self, stack: str) -> Plan:
        """Return what a stack's file leads to. Raises StackError with all that `stack check` rejects."""
        file = self.stacks_folder() / f"Pulumi.{stack}.yaml"
        # As long as to load all else that a command needs, and many need no plan.
        from multiarch.stack.load import load_file  # noqa: PLC0415
        from multiarch.stack.plan import make_plan  # noqa: PLC0415

        return make_plan(load_file(file, project_file=self.root / "Pulumi.yaml"), today=get_today())

    def copy(self, stack: str) -> Path:
        """Return Pulumi's own copy of a stack's settings file; see ``sandbox.project``."""
        return self.project / str(self.settings().get("stackConfigDir", ".")) / f"Pulumi.{stack}.yaml"

    def region(self, stack: str, *, copied: bool = False) -> str:
        """Return the AWS region of a stack: ``aws:region`` of its file, else of ``Pulumi.yaml``, else us-east-1.

        The sandbox's copy replaces a missing file; with ``copied`` it always comes first: it has the region that
        Pulumi used last.
        """
        file, copy = self.stacks_folder() / f"Pulumi.{stack}.yaml", self.copy(stack)
        own = read_yaml(copy if copy.is_file() and (copied or not file.is_file()) else file).get("config")
        for config in (own, self.settings().get("config")):
            value = config.get("aws:region") if isinstance(config, dict) else None
            # In Pulumi.yaml a value may stand as such, or under `value`.
            if isinstance(value, dict):
                value = value.get("value")
            if isinstance(value, str):
                return value
        return "us-east-1"


def read_yaml(file: Path) -> dict[str, Any]:
    """Read a file that holds one mapping; an empty file is an empty one.

    Raises:
        SandboxUsageError: it cannot be read, or holds something else.
    """
    try:
        content = yaml_source.read_yaml_file(file).value
    except StackError as error:
        raise SandboxUsageError(str(error)) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SandboxUsageError(f"{file} does not hold a mapping.")
    return content
