"""Finding a Pulumi engine: the one on PATH, the official release, or a build from the pins in ``tools/``."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from multiarch.doctor.programs import ENGINE, parse_version
from multiarch.errors import OutsideError
from sandbox import installer
from sandbox.environment import is_shim
from sandbox.state import Engine
from tools import build

_HOST = "pulumi-language-python"
_MINIMUM = "v" + ".".join(map(str, ENGINE))

NONE_FOUND = """\
No Pulumi engine: {reasons}.
Any one of these is enough:
  - install Pulumi {minimum} or later, so that `pulumi` is on PATH (https://www.pulumi.com/docs/install/);
  - let this machine reach https://get.pulumi.com and https://github.com: the release is then fetched into a cache;
  - install Go 1.26 or later (https://go.dev/doc/install): the engine is then built once, in about 4 minutes.
Without an engine, `make render STACK=…` shows a stack's resources, and `make check` checks all stacks: both need \
only Python."""


def find(
    say: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
    *,
    fetch: Callable[[Path, Callable[[str], None]], Path] = installer.install,
) -> Engine:
    """Return an engine, getting one when there is none.

    In this order: ``pulumi`` on PATH; what an earlier call has cached; the official release, if it can be reached;
    a build with Go. ``say`` gets a line for each slow step and each skipped engine; ``fetch`` downloads the release.

    Raises:
        OutsideError: no engine was found; the message names the ways to get one.
        BuildError: it could not be built.
    """
    environ = os.environ if environ is None else environ
    found, reason = _on_path(say, environ)
    if engine := found or _cached(environ):
        return engine
    reasons, cache = [reason], _release_cache(environ)
    try:
        return _described(fetch(cache, say), "the official release")
    except OutsideError as error:
        say(f"the official release is not used: {error}")
        reasons.append("the official release could not be downloaded")
    if shutil.which("go", path=environ.get("PATH")) is None:
        reasons.append("there is no Go to build one with")
        raise OutsideError(NONE_FOUND.format(reasons=", ".join(reasons), minimum=_MINIMUM))
    return _built()


def _on_path(say: Callable[[str], None], environ: Mapping[str, str]) -> tuple[Engine | None, str]:
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("pulumi", path=folder) if folder else None
        if found is None or is_shim(Path(found)):
            continue
        path = Path(found).absolute()
        version = _version(path)
        if version is None:
            reason = f"{path} does not say its version"
        elif parse_version(version) < ENGINE:
            reason = f"{path} is {version}, older than {_MINIMUM}"
        else:
            return Engine(path, version, "PATH"), ""
        say(f"passing over a pulumi: {reason}")
        return None, reason
    return None, "there is no `pulumi` on PATH"


def _cached(environ: Mapping[str, str]) -> Engine | None:
    if release := installer.installed(_release_cache(environ)):
        return _described(release, "the official release")
    return _built() if build.installed("pulumi") and build.installed(_HOST) else None


def _release_cache(environ: Mapping[str, str]) -> Path:
    return build.cache_root(environ).parent / "pulumi-release"


def _built() -> Engine:
    """Put engine and language host into one folder: the engine warns of a host that it finds on PATH."""
    engine, host = build.ensure("pulumi"), build.ensure(_HOST)
    folder = build.cache_root() / f"engine-{engine.parent.name}-{host.parent.name}"
    folder.mkdir(exist_ok=True)
    for file in (engine, *host.parent.iterdir()):
        with contextlib.suppress(FileExistsError):
            (folder / file.name).hardlink_to(file)
    return Engine(folder / engine.name, build.PULUMI_VERSION, "built with Go")


def _described(path: Path, source: str) -> Engine:
    version = _version(path)
    if version is None:
        raise OutsideError(f"{path} does not run on this machine.")
    return Engine(path, version, source)


def _version(path: Path) -> str | None:
    environ = os.environ | {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run([path, "version"], env=environ, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode(errors="replace").strip()
    return said if parse_version(said) else None
