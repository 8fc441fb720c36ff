"""Official provider plugins in place of the stand-ins: found on PATH, or downloaded by the engine into the cache."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from multiarch.doctor.programs import BROUGHT_BY_EKS, SDKS
from sandbox.layout import SandboxUsageError
from sandbox.state import Engine
from tools import build

NAMES: Final = SDKS
OFFICIAL: Final = "official"
STAND_INS: Final = "stand-ins"
_SECONDS: Final = 900  # for the download of one plugin, of up to 200 MB

_ATTEMPT: Final = "Error downloading plugin: "

# The services that the program's resources and look-ups call, as the aws provider's setting `endpoints` names them.
SERVICES: Final = (
    "autoscaling", "cloudwatchevents", "cloudwatchlogs", "ec2", "eks", "iam", "kms", "sqs", "ssm", "sts",
)  # fmt: skip


def parse_names(text: str) -> frozenset[str]:
    """Return the providers that are official: ``official``, ``stand-ins``, or names separated by commas.

    Raises SandboxUsageError for anything else.
    """
    names = {OFFICIAL: NAMES, STAND_INS: ()}.get(text, tuple(text.split(",")))
    if unknown := sorted(set(names) - set(NAMES)):
        raise SandboxUsageError(
            f"PROVIDERS has {', '.join(map(repr, unknown))}.",
            hint=f"Allowed are {OFFICIAL}, {STAND_INS}, or some of {','.join(NAMES)}.",
        )
    return frozenset(names)


def list_wanted() -> list[tuple[str, str]]:
    """List name and version of each plugin that a stack needs: those of the SDKs, and those of the eks component."""
    return [*((name, importlib.metadata.version(f"pulumi_{name}")) for name in NAMES), *BROUGHT_BY_EKS.items()]


def is_official(official: Mapping[str, str], name: str) -> bool:
    """Return whether a provider is official."""
    return any(key.startswith(f"{name}-v") for key in official)


def require_same(official: Mapping[str, str], wanted: frozenset[str] | None, up: Sequence[str], stack: str) -> None:
    """Reject other plugins for stacks that are up, and a second stack with the official Kubernetes provider.

    Raises SandboxUsageError.
    """
    if wanted is not None and wanted != {name for name in NAMES if is_official(official, name)}:
        raise SandboxUsageError(
            f"PROVIDERS can't change while stacks are up: {', '.join(up)} came up with {describe(official)}.",
            hint="Run `make down` first.",
        )
    if is_official(official, "kubernetes") and stack not in up:
        raise SandboxUsageError(
            f"With the official Kubernetes provider one stack at a time can be up, and {', '.join(up)} is.",
            hint="Run `make down` first.",
        )


def find_plugins(
    names: frozenset[str], engine: Engine, environ: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, str]:
    """Return the program of each official plugin by ``NAME-vVERSION``; one that is not on PATH is downloaded once.

    A program on PATH serves every version of its name, as it does for the engine.

    Raises SandboxUsageError for the first that can't be downloaded.
    """
    found = {}
    for name, version in list_wanted():
        if name not in names:
            continue
        program, source = shutil.which(f"pulumi-resource-{name}", path=environ.get("PATH")), "PATH"
        if program is None:
            program, source = str(_download(name, version, engine, environ, say)), "downloaded"
        checked = "" if source == "downloaded" else ", whatever its version is"
        say(f"provider {name} {version}: the official plugin ({source}, {program}{checked})")
        found[f"{name}-v{version}"] = program
    return found


def _download(name: str, version: str, engine: Engine, environ: Mapping[str, str], say: Callable[[str], None]) -> Path:
    home = build.cache_root(environ).parent / "pulumi-plugins"
    program = home / "plugins" / f"resource-{name}-v{version}" / f"pulumi-resource-{name}"
    if _is_complete(program):
        return program
    say(f"downloading the official {name} plugin {version}")
    command = [str(engine.path), "plugin", "install", "resource", name, version, "--exact"]
    own = {"PULUMI_HOME": str(home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(
            command, env={**environ, **own}, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        # The last attempt's reason, not that all attempts have failed.
        said = next((line for line in reversed(lines) if _ATTEMPT in line), lines[-1]).rpartition(_ATTEMPT)[2]
    except subprocess.TimeoutExpired:
        said = f"nothing after {_SECONDS} s"
    if not _is_complete(program):
        raise SandboxUsageError(
            f"The official {name} plugin {version} could not be downloaded: {said}.",
            hint=f"Let this machine reach https://get.pulumi.com and https://github.com, or put pulumi-resource-{name} "
            "on PATH; `make up` without PROVIDERS uses stand-ins.",
        )
    return program


def make_settings(url: str) -> Sequence[str]:
    """Return the options that lead the official aws provider to the sandbox's AWS.

    It still queries the account's ID, which ARNs and ``allowedAccountIds`` need: the sandbox's STS answers.
    Source: pulumi-aws, the provider's ``endpoints`` and ``skip…`` settings.
    """
    endpoints = [f"aws:endpoints[0].{service}={url}" for service in SERVICES]
    skipped = [
        f"aws:{name}=true" for name in ("skipCredentialsValidation", "skipMetadataApiCheck", "skipRegionValidation")
    ]
    return ["--config-path", *(f"--config={each}" for each in (*endpoints, *skipped))]


def describe(official: Mapping[str, str]) -> str:
    """Say which providers are official, for ``status``."""
    told = [f"{key.replace('-v', ' ')} ({program})" for key, program in official.items()]
    rest = [name for name in NAMES if not is_official(official, name)]
    return "; ".join(
        [*([f"official {', '.join(told)}"] if told else []), *([f"stand-ins for {', '.join(rest)}"] if rest else [])]
    )


def _is_complete(program: Path) -> bool:
    """Return whether the engine has unpacked a plugin: a file beside its folder marks one that is not complete."""
    folder = program.parent
    return program.is_file() and not folder.with_name(f"{folder.name}.partial").exists()
