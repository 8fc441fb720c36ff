"""Root file systems of nodes, of both architectures, made of Debian's packages: what a script finds on a node.

One kind has dpkg's database of its packages. The other is for distributions with rpm: its containerd and runc are
Debian's too, but come as real rpm packages, made by rpmbuild and installed by rpm. They are kept in a cache outside the
clone. Nothing of this machine's packages is changed: apt and rpm work on folders of their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture
from tools import build

__all__ = ["PackageManager", "RootError", "ensure"]

_SHELL: Final = (
    "base-files",
    "bash",
    "busybox-static",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "gzip",
    "mount",
    "sed",
    "util-linux",
)
_RUNTIME: Final = ("containerd", "runc")
_RPM_NAMES: Final = {Architecture.AMD64: "x86_64", Architecture.ARM64: "aarch64"}
_MERGED: Final = ("bin", "lib", "sbin")
_EMPTY: Final = ("dev", "node", "proc", "run", "tmp", "var/log", "etc/kubernetes")
"""Folders that are mounted or filled when a root is used; ``node`` is for what a test or a demo adds."""

_SPEC: Final = """\
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
Name: {name}
Version: {version}
Release: 1
Summary: Debian's {name} in an rpm package
License: Apache-2.0
AutoReqProv: no
%description
Made by the sandbox for a root file system with rpm.
%install
mkdir -p %{{buildroot}}
cp -a {files}/. %{{buildroot}}
%files
{names}
"""


class PackageManager(StrEnum):
    """Which database of packages a root has."""

    DPKG = "dpkg"
    RPM = "rpm"


class RootError(OutsideError):
    """A root file system could not be made; the message has the last lines of the program that failed."""


@dataclass(frozen=True, slots=True)
class _Package:
    """A downloaded Debian package: its file, and its fields as in dpkg's database."""

    file: Path
    control: str

    def field(self, name: str) -> str:
        return next((line.partition(": ")[2] for line in self.control.splitlines() if line.startswith(f"{name}: ")), "")


def ensure(architecture: Architecture, manager: PackageManager) -> Path:
    """The root file system, made if it is missing (needs root, apt-get and a Debian mirror; about a minute).

    Treat it as read-only: it is shared. Raises RootError.
    """
    folder = build.cache_root().parent / "roots"
    root = folder / f"{architecture}-{manager}-{_key()}"
    if root.is_dir():
        return root
    if os.geteuid() != 0 or not all(map(shutil.which, ("apt-get", "dpkg-deb", "tar"))):
        raise RootError(
            "A node's root file system can't be made here.", hint="Run as root on Debian or Ubuntu, with apt-get."
        )
    folder.mkdir(parents=True, exist_ok=True)
    foreign = manager is PackageManager.RPM and architecture is not _own()
    tools = ensure(_own(), manager) if foreign else None
    with _lock(folder / ".lock"):
        if not root.is_dir():
            with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as workplace:
                _make(architecture, manager, tools, Path(workplace)).rename(root)
    return root


def _key() -> str:
    """Changes with this file: its packages are those of the release that this machine runs."""
    release = Path("/etc/os-release")
    parts = (Path(__file__).read_bytes(), release.read_bytes() if release.is_file() else b"")
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    with file.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
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
        raise RootError(f"{command[0]} ended with exit code {done.returncode}:\n{last}")
    return done.stdout


def _make(architecture: Architecture, manager: PackageManager, tools: Path | None, workplace: Path) -> Path:
    """``tools`` is a root with the programs that make and install rpm packages, None if this one can run them."""
    root = workplace / "root"
    _skeleton(root)
    if manager is PackageManager.DPKG:
        packages = _download(architecture, (*_SHELL, "dpkg", *_RUNTIME), workplace / "apt")
        for package in packages:
            _unpack(package.file, root)
        _write_dpkg_database(packages, root)
        return root
    packages = _download(architecture, (*_SHELL, "rpm", *_RUNTIME), workplace / "apt")
    for package in packages:
        if package.field("Package") not in _RUNTIME:
            _unpack(package.file, root)
    (root / "etc/rpm").mkdir(parents=True, exist_ok=True)
    (root / "etc/rpm/macros").write_text("%_dbpath /var/lib/rpm\n")
    tools = tools or root
    for package in packages:
        if package.field("Package") in _RUNTIME:
            _install_as_rpm(package, architecture, root, tools, workplace)
    return root


def _own() -> Architecture:
    return next(each for each, name in _RPM_NAMES.items() if name == os.uname().machine)


def _skeleton(root: Path) -> None:
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "usr/lib64").mkdir()
    (root / "lib64").symlink_to("usr/lib64")
    for name in _EMPTY:
        (root / name).mkdir(parents=True)
    os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (root / "dev/null").chmod(0o666)


def _download(architecture: Architecture, names: Sequence[str], folder: Path) -> list[_Package]:
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
    _run(["apt-get", "-qq", "update"], env=env)
    options = ("-qq", "--yes", "--no-install-recommends", "--download-only")
    _run(["apt-get", *options, "install", *names], env=env)
    files = sorted((folder / "cache/archives").glob("*.deb"))
    return [_Package(file, _run(["dpkg-deb", "--field", file])) for file in files]


def _unpack(package: Path, root: Path) -> None:
    """Unpack a package into a root whose ``/bin`` and ``/lib`` are links, and must stay so."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as tar:
        unpacked = subprocess.run(
            ["tar", "-x", "--keep-directory-symlink", "-C", str(root)],
            stdin=tar.stdout,
            capture_output=True,
            check=False,
        )
    if tar.returncode or unpacked.returncode:
        raise RootError(f"{package.name} can't be unpacked: {unpacked.stderr.decode(errors='replace').strip()}")


def _write_dpkg_database(packages: Sequence[_Package], root: Path) -> None:
    """Write what dpkg would, if it had installed them: ``status`` and the list of each package's files."""
    folder = root / "var/lib/dpkg"
    (folder / "info").mkdir(parents=True, exist_ok=True)
    status = []
    for package in packages:
        first, _, rest = package.control.rstrip("\n").partition("\n")
        status.append(f"{first}\nStatus: install ok installed\n{rest}\n")
        name = package.field("Package")
        if package.field("Multi-Arch") == "same":
            name = f"{name}:{package.field('Architecture')}"
        (folder / "info" / f"{name}.list").write_text("".join(f"{file}\n" for file in _files(package.file)))
    (folder / "status").write_text("\n".join(status))


def _files(package: Path) -> list[str]:
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE, check=True).stdout
    names = subprocess.run(["tar", "-t"], input=listed, stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")
    return ["/." if name == "./" else name.removeprefix(".").rstrip("/") for name in names if name]


def _install_as_rpm(package: _Package, architecture: Architecture, root: Path, tools: Path, workplace: Path) -> None:
    name, target = package.field("Package"), _RPM_NAMES[architecture]
    unpacked, top = workplace / f"files-{name}", workplace / "rpmbuild"
    (unpacked / "usr").mkdir(parents=True)
    _unpack(package.file, unpacked)
    names = [f"/{each.relative_to(unpacked)}" for each in unpacked.rglob("*") if each.is_file() or each.is_symlink()]
    version = package.field("Version").replace("-", ".").replace("~", ".").replace("+", ".")
    spec = workplace / f"{name}.spec"
    spec.write_text(_SPEC.format(name=name, version=version, files=unpacked, names="\n".join(sorted(names))))
    defines = ("--define", f"_topdir {top}")
    _rpm(tools, "rpmbuild", "-bb", "--quiet", "--nodeps", "--target", target, *defines, spec)
    for file in (top / "RPMS" / target).glob(f"{name}-*.rpm"):
        options = ("--nodeps", "--noscripts", "--ignorearch", "--ignoreos", "--force-debian")
        _rpm(tools, "rpm", "--root", root, "--define", "_dbpath /var/lib/rpm", *options, "--install", file)


def _rpm(tools: Path, program: str, *arguments: str | Path) -> None:
    """Run a program of rpm from a root, with its libraries and its configuration."""
    (loader,) = (each for each in (tools / "usr/lib64", tools / "usr/lib") for each in each.glob("ld-linux*.so.*"))
    libraries = next((tools / "usr/lib").glob("*-linux-gnu"))
    env = {"RPM_CONFIGDIR": str(tools / "usr/lib/rpm"), "HOME": str(tools)}
    _run([loader, "--library-path", libraries, tools / "usr/bin" / program, *arguments], env=env)
