"""The environment variables that point ``pulumi`` and AWS clients to the sandbox, and to nothing else."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.layout import CLONE, Layout
from sandbox.state import Engine, write_atomically

PROVIDERS = CLONE / "sandbox" / "providers" / "bin"
PASSPHRASE = "sandbox"  # noqa: S105 (protects nothing: it encrypts made-up values in a folder that `down` removes)
_SHIM_MARK = "# The sandbox's own pulumi"


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables to set, and variables to remove because they would point outside the sandbox."""

    set: Mapping[str, str]
    unset: tuple[str, ...]

    def applied_to(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return a changed copy of ``environ``."""
        kept = {name: value for name, value in environ.items() if name not in self.unset}
        return kept | dict(self.set)

    def as_shell(self) -> str:
        """Return lines for ``eval`` in a POSIX shell, in a fixed order."""
        lines = [f"unset {name}" for name in self.unset]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(self.set.items())]
        return "\n".join(lines) + "\n"


def build(
    layout: Layout, engine: Engine, url: str, stack: str, environ: Mapping[str, str], *, by_hand: bool = False
) -> Environment:
    """Return what a Pulumi command for ``stack`` needs.

    ``url`` is the AWS server's. ``by_hand`` puts the sandbox's own ``pulumi`` first on PATH (see ``write_shim``).
    """
    python = Path(sys.executable)  # not resolved: Python finds its virtual environment by the link's location
    region = layout.region(stack, copied=not by_hand)  # by hand, the copy is brought up to date afterwards
    set_ = {
        "AWS_ACCESS_KEY_ID": "sandbox",
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": region,
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        # The user's profiles may name another endpoint, or a role.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "MULTIARCH_SANDBOX_MANIFESTS": str(layout.manifests(stack)),
        "MULTIARCH_SANDBOX_PYTHON": str(python),
        "PATH": _path(layout, engine, python, environ, by_hand=by_hand),
        # Without the files of attributes beside each file: unlike the rest they are not written in one step, and a kill
        # in that moment leaves an empty one, with which no command can load the state any more.
        "PULUMI_BACKEND_URL": f"{layout.backend.as_uri()}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_HOME": str(layout.home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    for name in ("NO_PROXY", "no_proxy"):
        others = [entry for entry in environ.get(name, "").split(",") if entry and entry != "127.0.0.1"]
        set_[name] = ",".join(["127.0.0.1", *others])
    return Environment(set_, _leading_out(environ, set_))


def _leading_out(environ: Mapping[str, str], set_: Mapping[str, str]) -> tuple[str, ...]:
    """The names of other variables that AWS's and Pulumi's programs read: profiles, roles, endpoints, access tokens."""
    always = {
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "PULUMI_ACCESS_TOKEN",
        "PULUMI_CONFIG_PASSPHRASE_FILE",
        "PULUMI_STACK",
    }
    found = {name for name in environ if name.startswith(("AWS_", "PULUMI_"))}
    return tuple(sorted((always | found) - set(set_)))


def _path(layout: Layout, engine: Engine, python: Path, environ: Mapping[str, str], *, by_hand: bool) -> str:
    own = [
        *([layout.bin] if by_hand else []),
        PROVIDERS,
        *([engine.language_host_dir] if engine.language_host_dir else []),
        # A language host that does not read `runtime.options.virtualenv` takes the first python.
        python.parent,
        engine.path.parent,
    ]
    first = [str(folder) for folder in own]
    # Asked twice (`eval` of `env` in a shell that has it already), the result is the same.
    rest = [
        entry for entry in environ.get("PATH", os.defpath).split(os.pathsep) if entry not in {*first, str(layout.bin)}
    ]
    return os.pathsep.join([*first, *rest])


def write_shim(layout: Layout, engine: Engine) -> Path:
    """Write ``.sandbox/bin/pulumi``: it updates the project folder, then runs the real engine there."""
    shim = layout.bin / "pulumi"
    python, root, clone = (shlex.quote(str(part)) for part in (sys.executable, layout.root, CLONE))
    write_atomically(
        shim,
        f"""#!/bin/sh
{_SHIM_MARK}; written by `python -m sandbox`.
PYTHONPATH={clone}${{PYTHONPATH:+:$PYTHONPATH}} {python} -m sandbox --project {root} sync || exit $?
cd {shlex.quote(str(layout.project))} || exit 3
exec {shlex.quote(str(engine.path))} "$@"
""",
        mode=0o755,
    )
    return shim


def is_shim(file: Path) -> bool:
    """Whether ``file`` is a ``pulumi`` written by ``write_shim``, of this clone or another."""
    try:
        with file.open("rb") as handle:
            return _SHIM_MARK.encode() in handle.read(200)
    except OSError:
        return False
