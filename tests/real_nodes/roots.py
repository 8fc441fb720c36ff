"""Root file systems of nodes, of both architectures, made of Debian's packages: what a script finds on a node.

That of arm64 has dpkg's database of its packages. That of amd64 is as of distributions with rpm: its containerd and
runc are Debian's too, but come as real rpm packages, made by its own rpmbuild and installed by its own rpm. They are
kept in a cache outside the clone. Nothing of this machine's packages is changed: apt and rpm work on folders of their
own.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox import debian
from sandbox.debian import Package
from tools import build

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
_RPM_NAME: Final = "x86_64"
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


def ensure(architecture: Architecture) -> Path:
    """Return the root file system, made if it is missing (needs root, apt-get and a Debian mirror; about a minute).

    Treat it as read-only: it is shared. Raises PackageError.
    """
    root = build.cache_root().parent / "roots" / f"{architecture}-{debian.key(__file__)}"
    return debian.make_once(root, partial(_make, architecture))


def _make(architecture: Architecture, workplace: Path) -> Path:
    root = workplace / "root"
    _skeleton(root)
    if architecture is Architecture.ARM64:
        packages = debian.download(architecture, (*_SHELL, "dpkg", *_RUNTIME), workplace / "apt")
        for package in packages:
            debian.unpack(package.file, root)
        _write_dpkg_database(packages, root)
        return root
    packages = debian.download(architecture, (*_SHELL, "rpm", *_RUNTIME), workplace / "apt")
    for package in packages:
        if package.field("Package") not in _RUNTIME:
            debian.unpack(package.file, root)
    (root / "etc/rpm").mkdir(parents=True, exist_ok=True)
    (root / "etc/rpm/macros").write_text("%_dbpath /var/lib/rpm\n")
    for package in packages:
        if package.field("Package") in _RUNTIME:
            _install_as_rpm(package, root, workplace)
    return root


def _skeleton(root: Path) -> None:
    debian.make_root(root)
    for name in _EMPTY:
        (root / name).mkdir(parents=True)
    os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (root / "dev/null").chmod(0o666)


def _write_dpkg_database(packages: Sequence[Package], root: Path) -> None:
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


def _install_as_rpm(package: Package, root: Path, workplace: Path) -> None:
    name = package.field("Package")
    unpacked, top = workplace / f"files-{name}", workplace / "rpmbuild"
    (unpacked / "usr").mkdir(parents=True)
    debian.unpack(package.file, unpacked)
    names = [f"/{each.relative_to(unpacked)}" for each in unpacked.rglob("*") if each.is_file() or each.is_symlink()]
    version = package.field("Version").replace("-", ".").replace("~", ".").replace("+", ".")
    spec = workplace / f"{name}.spec"
    spec.write_text(_SPEC.format(name=name, version=version, files=unpacked, names="\n".join(sorted(names))))
    defines = ("--define", f"_topdir {top}")
    _rpm(root, "rpmbuild", "-bb", "--quiet", "--nodeps", "--target", _RPM_NAME, *defines, spec)
    for file in (top / "RPMS" / _RPM_NAME).glob(f"{name}-*.rpm"):
        options = ("--nodeps", "--noscripts", "--ignorearch", "--ignoreos", "--force-debian")
        _rpm(root, "rpm", "--root", root, "--define", "_dbpath /var/lib/rpm", *options, "--install", file)


def _rpm(root: Path, program: str, *arguments: str | Path) -> None:
    """Run a program of rpm from a root, with its libraries and its configuration."""
    (loader,) = (each for each in (root / "usr/lib64", root / "usr/lib") for each in each.glob("ld-linux*.so.*"))
    libraries = next((root / "usr/lib").glob("*-linux-gnu"))
    env = {"RPM_CONFIGDIR": str(root / "usr/lib/rpm"), "HOME": str(root)}
    debian.run([loader, "--library-path", libraries, root / "usr/bin" / program, *arguments], env=env)
