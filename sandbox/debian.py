"""Debian packages of any architecture, downloaded and unpacked into folders. Nothing of this machine's is changed."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture

_MERGED: Final = ("bin", "lib", "sbin")


class PackageError(OutsideError):
    """A package could not be had or unpacked; the message has the last lines of the program that failed."""


@dataclass(frozen=True, slots=True)
class Package:
    """A downloaded Debian package: its file, and its fields as in dpkg's database."""

    file: Path
    control: str

    def field(self, name: str) -> str:
        """Return a field's value on one line, empty without one."""
        return next((line.partition(": ")[2] for line in self.control.splitlines() if line.startswith(f"{name}: ")), "")


def key(*files: str) -> str:
    """Hash these source files, this one, and the release that this machine runs."""
    parts = (Path(file) for file in (*files, __file__, "/etc/os-release"))
    return hashlib.sha256(b"\0".join(part.read_bytes() for part in parts if part.is_file())).hexdigest()[:16]


def make_once(place: Path, make: Callable[[Path], Path]) -> Path:
    """Return a folder of a cache; ``make`` makes it in a workplace if it is missing.

    Needs root, apt-get and a Debian mirror. Raises PackageError.
    """
    if place.is_dir():
        return place
    if os.geteuid() != 0 or not all(map(shutil.which, ("apt-get", "dpkg-deb", "tar"))):
        hint = "Run as root on Debian or Ubuntu, with apt-get."
        raise PackageError("A root file system can't be made here.", hint=hint)
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.parent / ".lock-made"), tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as made:
        if not place.is_dir():
            make(Path(made)).rename(place)
    return place


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one process at a time make what is kept in a cache."""
    with file.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def run(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Return what a program prints; ``env`` is added to the environment. Raises PackageError."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise PackageError(f"{command[0]} ended with exit code {done.returncode}:\n{last}")
    return done.stdout


def make_root(root: Path) -> None:
    """Make a root file system whose ``/bin``, ``/lib`` and ``/sbin`` lead to ``/usr``, as Debian's do."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "usr/lib64").mkdir()
    (root / "lib64").symlink_to("usr/lib64")


def download(architecture: Architecture, names: Sequence[str], folder: Path) -> list[Package]:
    """Download packages and what they depend on, for an architecture that this machine need not have."""
    for name in ("lists/partial", "cache/archives/partial", "state"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    config = folder / "apt.conf"
    config.write_text(
        f'APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }};\n'
        f'Dir::State "{folder}/state"; Dir::State::lists "{folder}/lists"; Dir::State::status "{folder}/status";\n'
        f'Dir::Cache "{folder}/cache"; APT::Sandbox::User "root"; Acquire::Languages "none";\n'
    )
    env = {"APT_CONFIG": str(config), "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "-qq", "update"], env=env)
    options = ("-qq", "--yes", "--no-install-recommends", "--download-only")
    run(["apt-get", *options, "install", *names], env=env)
    files = sorted((folder / "cache/archives").glob("*.deb"))
    return [Package(file, run(["dpkg-deb", "--field", file])) for file in files]


def unpack(package: Path, root: Path) -> None:
    """Unpack a package into a root whose ``/bin`` and ``/lib`` are links, and must stay so."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as tar:
        unpacked = subprocess.run(
            ["tar", "-x", "--keep-directory-symlink", "-C", str(root)],
            stdin=tar.stdout,
            capture_output=True,
            check=False,
        )
    if tar.returncode or unpacked.returncode:
        raise PackageError(f"{package.name} can't be unpacked: {unpacked.stderr.decode(errors='replace').strip()}")
