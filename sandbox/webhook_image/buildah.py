"""buildah with folders of its own: what other programs on this machine store of images is not touched."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from sandbox.cluster import machine
from tools import build

_LINES_SHOWN: Final = 30
# In its mount namespace: a list of libraries that has those beside buildah too. It starts itself again with an
# empty environment, so LD_LIBRARY_PATH is not enough. Each command has a list of its own: several may run at a time.
_WITH_LIBRARIES: Final = """\
list=$(mktemp "$1.XXXXXX") && ldconfig -X -C "$list" "$2" 2>/dev/null && mount --bind "$list" /etc/ld.so.cache &&
rm -f "$list" && shift 2 && exec "$@"
"""
_PIP_KEYS: Final = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "default-timeout", "cert")
_CA: Final = "/run/secrets/ca"


class ImageBuildError(OutsideError):
    """The image could not be built; the message has the end of what buildah said."""


@dataclass(frozen=True, slots=True)
class Buildah:
    """buildah with its storage in ``folder``. ``mirrors`` is the host and port that serves a registry, by its name."""

    folder: Path
    mirrors: Mapping[str, str]

    def run(self, *arguments: str | Path) -> str:
        """Run a command of buildah, and return what it prints. Raises ImageBuildError."""
        done = subprocess.run(
            [*self.command(), *map(str, arguments)], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode:
            said = "\n".join(done.stdout.splitlines()[-_LINES_SHOWN:])
            raise ImageBuildError(f"buildah {arguments[0]} ended with exit code {done.returncode}:\n{said}")
        return done.stdout

    def command(self) -> list[str]:
        """Return the program with its options, to which a command of buildah is appended."""
        program = build.ensure("buildah")
        (self.folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        (self.folder / "registries.conf").write_text(self._registries())
        # Otherwise it makes /etc/cni/net.d, and leaves it.
        (self.folder / "containers.conf").write_text(f'[network]\nnetwork_config_dir = "{self.folder / "networks"}"\n')
        storage = ("--root", self.folder / "storage", "--runroot", self.folder / "run")
        # Overlay takes half the time; vfs works on every file system, and in containers.
        driver = "overlay" if machine.overlay_works_in(self.folder) else "vfs"
        options = ("--storage-driver", driver, *storage, "--registries-conf", self.folder / "registries.conf")
        # What it mounts goes away with it.
        command: list[str | Path] = ["unshare", "--mount"]
        if program.is_relative_to(build.cache_root()):
            command += ["sh", "-c", _WITH_LIBRARIES, "sh", self.folder / "ld.so.cache", program.parent]
        return [str(word) for word in (*command, program, *options)]

    def environment(self) -> dict[str, str]:
        """Return all variables that it gets."""
        return {
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
            "HOME": str(self.folder),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "TMPDIR": str(self.folder),
        }

    def policy(self) -> tuple[str | Path, ...]:
        """Return the option for commands that read or write images: a machine without containers has no policy."""
        return "--signature-policy", self.folder / "policy.json"

    def pip_secrets(self) -> tuple[str, ...]:
        """Return the options that let pip in a build use the package index that it uses here."""
        settings = {key: value for key, value in _pip_settings().items() if key in _PIP_KEYS}
        options: tuple[str, ...] = ()
        if "cert" in settings:
            shutil.copyfile(settings["cert"], self.folder / "ca.pem")
            settings["cert"] = _CA
            options = ("--secret", f"id=ca,src={self.folder / 'ca.pem'}")
        file = self.folder / "pip.conf"
        file.write_text("[global]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
        return (*options, "--secret", f"id=pip,src={file}")

    def _registries(self) -> str:
        tables = (
            f'[[registry]]\nprefix = "{name}"\nlocation = "{host}"\ninsecure = true\n'
            for name, host in self.mirrors.items()
        )
        return "unqualified-search-registries = []\n" + "".join(tables)


def _pip_settings() -> Mapping[str, str]:
    """Return what files and the environment set for pip; the environment comes last, and wins."""
    command: Sequence[str] = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.partition("=") for line in listed.splitlines()]
    ordered = sorted(rows, key=lambda row: row[0].startswith(":env:"))
    return {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, _, value in ordered}
