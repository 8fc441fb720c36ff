"""Root file systems of nodes, of both architectures, made of Debian's packages: what a script finds on a node.

They are kept in a cache outside the clone. Nothing of this machine's packages is changed: apt works on folders of its
own.
"""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox import debian
from tools import build

_PACKAGES: Final = (
    "base-files",
    "bash",
    "busybox-static",
    "containerd",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "gzip",
    "mount",
    "runc",
    "sed",
    "util-linux",
)
_EMPTY: Final = ("dev", "node", "proc", "run", "tmp", "var/log", "etc/kubernetes")
"""Folders that are mounted or filled when a root is used; ``node`` is for what a test or a demo adds."""


def ensure(architecture: Architecture) -> Path:
    """Return the root file system, made if it is missing (needs root, apt-get and a Debian mirror; about a minute).

    Treat it as read-only: it is shared. Raises PackageError.
    """
    root = build.cache_root().parent / "roots" / f"{architecture}-{debian.key(__file__)}"
    return debian.make_once(root, partial(_make, architecture))


def _make(architecture: Architecture, workplace: Path) -> Path:
    root = workplace / "root"
    _skeleton(root)
    for package in debian.download(architecture, _PACKAGES, workplace / "apt"):
        debian.unpack(package.file, root)
    return root


def _skeleton(root: Path) -> None:
    debian.make_root(root)
    for name in _EMPTY:
        (root / name).mkdir(parents=True)
    os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (root / "dev/null").chmod(0o666)
