"""The stand-ins for the images that the Containerfile names, made of Debian's packages: see the package's docstring."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from multiarch.facts.architectures import Architecture
from sandbox import debian
from sandbox.registry.images import INDEX, LAYER, Repository
from tools import build

NAME: Final = "library/python"
TAG: Final = "3.11-slim-bookworm"
"""The repository and the tag in the Containerfile, without the registry."""
GIT_NAME: Final = "library/buildpack-deps"
GIT_TAG: Final = "bookworm-scm"
"""Those of the image that Git's program comes from."""
_PACKAGES: Final = ("base-files", "ca-certificates", "coreutils", "dash", "netbase", "python3", "python3-pip", "tzdata")
_NOT_NEEDED: Final = (
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/cache",
    "var/lib/apt",
)
_EMPTY: Final = ("dev", "proc", "root", "run", "sys", "tmp", "var/tmp")
_ENVIRONMENT: Final = (
    "PATH=/usr/local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
)


@dataclass(frozen=True, slots=True)
class Layer:
    """A compressed layer in the cache, and the digest of its archive."""

    file: Path
    diff_id: str


def key() -> str:
    """Return a hash that changes with what the base is made of."""
    return debian.key(__file__)


def repository() -> Repository:
    """Return the base for both architectures, made if missing (needs root, apt-get and a Debian mirror; a minute).

    Raises PackageError.
    """
    return _make_repository(NAME, TAG, make_layer)


def git_repository() -> Repository:
    """Return the image that Git comes from, made as :func:`repository` is: its program, and dpkg's record of it."""
    return _make_repository(GIT_NAME, GIT_TAG, partial(_make_once, "git", _make_git))


def _make_repository(name: str, tag: str, layer_of: Callable[[Architecture], Layer]) -> Repository:
    made = Repository(name=name)
    rows = []
    for architecture in Architecture:
        layer = layer_of(architecture)
        content = made.add(LAYER, layer.file.read_bytes())
        settings = {"Env": _ENVIRONMENT, "Cmd": ["python3"]}
        # buildah keeps no step of a build whose base has no history.
        history = [{"created_by": "Debian's packages"}]
        image = made.image(str(architecture), settings, {layer.diff_id: content}, history=history)
        rows.append(image.described(platform={"architecture": str(architecture), "os": "linux"}))
    made.tags[tag] = made.add(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": rows})
    return made


def make_layer(architecture: Architecture) -> Layer:
    """Return the base's only layer for one architecture, made if it is missing. Raises PackageError."""
    return _make_once("base", _make, architecture)


def _make_once(name: str, make: Callable[[Architecture, Path], Path], architecture: Architecture) -> Layer:
    place = build.cache_root().parent / "images" / f"{name}-{architecture}-{key()}"
    kept = debian.make_once(place, partial(make, architecture))
    return Layer(kept / "layer.tar.gz", (kept / "diff-id").read_text())


def _make(architecture: Architecture, workplace: Path) -> Path:
    root = workplace / "root"
    debian.make_root(root)
    for package in debian.download(architecture, _PACKAGES, workplace / "apt"):
        debian.unpack(package.file, root)
    _finish(root)
    return _pack(root, workplace)


def _make_git(architecture: Architecture, workplace: Path) -> Path:
    root = workplace / "root"
    downloaded = debian.download(architecture, ["git"], workplace / "apt")
    (package,) = (each for each in downloaded if each.field("Package") == "git")
    root.mkdir()
    debian.unpack(package.file, root)
    (root / "var/lib/dpkg").mkdir(parents=True)
    first, _, rest = package.control.partition("\n")
    (root / "var/lib/dpkg/status").write_text(f"{first}\nStatus: install ok installed\n{rest.rstrip()}\n\n")
    return _pack(root, workplace)


def _pack(root: Path, workplace: Path) -> Path:
    """Return a folder with the layer that has a root's files, and the digest of its archive."""
    result = workplace / "result"
    result.mkdir()
    archive = workplace / "layer.tar"
    options = ("--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--hard-dereference")
    debian.run(["tar", "-C", root, *options, "-cf", archive, "."])
    (result / "diff-id").write_text(f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}")
    with (result / "layer.tar.gz").open("wb") as output:
        subprocess.run(["gzip", "-n", "-6", "-c", str(archive)], stdout=output, check=True)
    return result


def _finish(root: Path) -> None:
    """Do what the packages' own scripts would do, as far as an image needs it."""
    for name in _NOT_NEEDED:
        shutil.rmtree(root / name, ignore_errors=True)
    for name in _EMPTY:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    authorities = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    (root / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
    (root / "etc/ssl/certs/ca-certificates.crt").write_bytes(b"".join(each.read_bytes() for each in authorities))
