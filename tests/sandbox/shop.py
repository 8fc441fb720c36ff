"""A small Pulumi project to bring up: components only, so that the lifecycle is tested and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sandbox import processes
from sandbox.layout import CLONE, Layout

PROGRAM = """\
import time
from pathlib import Path

import pulumi

config = pulumi.Config()


class Part(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("fixture:index:Part", name, opts=pulumi.ResourceOptions(protect=config.get_bool("protect")))
        self.register_outputs({"name": name})


for name in config.require_object("parts"):
    Part(name)
if config.get("slow"):
    Path(config.require("slow")).touch()
    for _ in range(1200):
        if not Path(config.require("slow")).exists():
            break
        time.sleep(0.1)
for _ in range(3 if config.get_bool("warns") else 0):
    pulumi.log.warn("a part is old")
if config.get_bool("broken"):
    raise pulumi.RunError("the program says no")
pulumi.export("parts", len(config.require_object("parts")))
pulumi.export("password", pulumi.Output.secret("hidden"))
"""
SETTINGS = """\
name: fixture
stackConfigDir: config/stacks
runtime: python
config:
  aws:region: eu-central-1
"""
STACK = """\
# written by hand, with a layout that Pulumi would change
config:
    fixture:parts:   [one,   two]   # keep
"""


@dataclass(frozen=True)
class Project:
    """A Pulumi project in a folder of its own, and the sandbox's command line for it."""

    root: Path

    @property
    def layout(self) -> Layout:
        return Layout(self.root)

    def stack_file(self, stack: str = "shop-dev") -> Path:
        return self.root / "config" / "stacks" / f"Pulumi.{stack}.yaml"

    def set(self, **values: str) -> None:
        self.stack_file().write_text(STACK + "".join(f"    fixture:{key}: {value}\n" for key, value in values.items()))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "sandbox", "--project", str(self.root), *arguments]

    def run(
        self,
        *arguments: str,
        expect: int = 0,
        before: Sequence[str] = (),
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; ``before`` is a program that starts it, ``environ`` is set in its environment."""
        result = subprocess.run(
            [*before, *self.command(*arguments)],
            cwd=CLONE,
            env=os.environ | dict(environ),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert result.returncode == expect, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        # Tests that were started with `nohup` ignore SIGHUP, and what they start would inherit that.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            return subprocess.Popen(
                self.command(*arguments),
                cwd=CLONE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        finally:
            signal.signal(signal.SIGHUP, before)

    def running(self) -> list[str]:
        """Command lines of all processes that belong to this project, whoever started them."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or not processes.is_running(int(entry.name)):
                continue
            try:
                words = (entry / "cmdline").read_bytes() + b"\0" + (entry / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(self.root) + b"/.sandbox" in words:
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        return found

    def locks(self) -> Sequence[Path]:
        return list((self.layout.backend / ".pulumi" / "locks").rglob("*.json"))
