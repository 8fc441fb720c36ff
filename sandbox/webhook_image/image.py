"""The image as an OCI layout in a cache outside the clone, built when its sources have changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture
from sandbox import debian
from sandbox.cluster import machine
from sandbox.layout import CLONE
from sandbox.registry import server
from sandbox.webhook_image import base
from sandbox.webhook_image.buildah import Buildah
from tools import build

TAG: Final = "gate"
_SOURCES: Final = (
    *("Containerfile", ".dockerignore", "LICENSE"),
    *("ci/scripts/eks.py", "requirements-cli.lock", "tools/image_packages.py"),
)
_STEPS: Final = tuple(CLONE / each for each in ("Containerfile", "requirements-cli.lock", "tools/image_packages.py"))
_MOST_STEPS: Final = 200
"""A build adds about fifteen, 60 MB."""
_REGISTRY: Final = "docker.io"
_KEPT: Final = 3
"""So many images stay in the cache: another branch's is not built again at once."""
PLATFORMS: Final = tuple(f"linux/{each}" for each in Architecture)


def ensure(say: Callable[[str], None]) -> Path:
    """Return the OCI layout of the image's index under :data:`TAG`, built if missing (needs root; about a minute).

    Raises:
        OutsideError: no root, no Debian mirror or package index, or buildah failed; the message says which.
        BuildError: buildah is not there, and can't be downloaded.
    """
    folder = build.cache_root().parent / "images"
    layout = folder / f"webhook-{_hash(_inputs())}"
    if layout.is_dir():
        layout.touch()
        return layout
    if os.geteuid() != 0:
        raise OutsideError("The image can't be built here: buildah needs root.", hint="Run the command as root.")
    folder.mkdir(parents=True, exist_ok=True)
    with debian.locked(folder / ".lock"):
        if not layout.is_dir():
            say("building the image for amd64 and arm64")
            for left in folder.glob(".building-*"):
                shutil.rmtree(left, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=".building-", dir=folder) as made:
                _build(_workplace(folder, Path(made)), Path(made)).rename(layout)
            _forget_old(folder)
    return layout


def _workplace(folder: Path, made: Path) -> Path:
    """Return where buildah works: a folder that keeps the steps of builds with the same packages.

    After many builds it begins anew, and always where buildah would copy all files for each step.
    """
    if not machine.overlay_works_in(made):
        return made
    place = folder / f"steps-{_hash(_STEPS)}"
    if sum(1 for _ in (place / "storage").glob("overlay/*")) > _MOST_STEPS:
        shutil.rmtree(place)
    place.mkdir(exist_ok=True)
    place.touch()
    return place


def _build(workplace: Path, folder: Path) -> Path:
    """Build both platforms, and write their index as an OCI layout into ``folder``."""
    index = f"webhook-{time.time_ns()}"  # its parts of an earlier build, which was killed, would stay
    with server.running({base.NAME: base.repository(), base.GIT_NAME: base.git_repository()}) as url:
        buildah = Buildah(workplace, {_REGISTRY: url.partition("://")[2]})
        options = (
            *buildah.policy(), *buildah.pip_secrets(), "--isolation", "chroot", "--layers", "--pull-always",
            "--timestamp", "0", "--build-arg", f"BASE={_REGISTRY}/{base.NAME}:{base.TAG}",
            "--build-arg", f"GIT={_REGISTRY}/{base.GIT_NAME}:{base.GIT_TAG}",
            "--build-arg", f"BUILDPLATFORM=linux/{machine.native_architecture()}",
        )  # fmt: skip
        for platform in PLATFORMS:
            # buildah 1.28 does not set BUILDPLATFORM and TARGETPLATFORM in FROM.
            own = ("--platform", platform, "--build-arg", f"TARGETPLATFORM={platform}", "--manifest", index)
            buildah.run("build", *options, *own, "--file", CLONE / "Containerfile", CLONE)
    layout = folder / "layout"
    buildah.run("manifest", "push", *buildah.policy(), "--all", index, f"oci:{layout}:{TAG}")
    return layout


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256(base.key().encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"\0{file.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()[:16]


def _inputs() -> Iterator[Path]:
    yield from (CLONE / name for name in _SOURCES)
    yield from sorted(Path(__file__).parent.glob("*.py"))
    yield from sorted(path for path in (CLONE / "multiarch").rglob("*") if path.is_file() and path.suffix != ".pyc")


def _forget_old(folder: Path) -> None:
    for name in ("steps", "webhook", *(f"{made}-{each}" for made in ("base", "git") for each in Architecture)):
        kept = sorted(folder.glob(f"{name}-*"), key=lambda each: each.stat().st_mtime, reverse=True)
        for old in kept[1 if name == "steps" else _KEPT :]:  # steps are a gigabyte
            shutil.rmtree(old, ignore_errors=True)
