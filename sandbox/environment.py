"""The environment variables that point ``pulumi`` and AWS clients to the sandbox, and to nothing else."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from multiarch.files import write_atomically
from sandbox import plugins
from sandbox.layout import CLONE, Layout
from sandbox.providers import forking, interpreter
from sandbox.state import Engine

# For a stack that `pulumi stack init` creates by hand without `--secrets-provider`: it needs one.
PASSPHRASE = "sandbox"  # noqa: S105 (protects nothing: it encrypts made-up values in a folder that `down` removes)
SECRETS_PROVIDER = "awskms://alias/aws/ssm?region=us-east-1"
"""A key that the sandbox's AWS makes at its first use. A passphrase costs each command 0.2 s of processor time."""
_SHIM_MARK = "# The sandbox's own pulumi"
_ENGINE_LOGS = "logs"
_NO_KUBECONFIG = ".kube/config"  # in the folder of the command, where there is none
# The user's profiles may name another endpoint, or a role; a file that can't be parsed stops every client.
_NO_AWS_FILES: Mapping[str, str] = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


@dataclass(frozen=True, slots=True)
class Environment:
    """Variables to set, and variables to remove because they would point outside the sandbox."""

    set: Mapping[str, str]
    unset: tuple[str, ...] = ()

    def applied_to(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return a changed copy of ``environ``."""
        kept = {name: value for name, value in environ.items() if name not in self.unset}
        return kept | dict(self.set)

    def as_shell(self) -> str:
        """Return lines for ``eval`` in a POSIX shell, in a fixed order."""
        lines = [f"unset {name}" for name in self.unset if name.isidentifier()]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(self.set.items())]
        return "".join(f"{line}\n" for line in lines)


def build(
    layout: Layout, engine: Engine, url: str, stack: str, environ: Mapping[str, str], *, by_hand: bool = False
) -> Environment:
    """Return what a Pulumi command for ``stack`` needs.

    ``url`` is the AWS server's. ``by_hand`` is for a shell: it selects the stack, and puts the sandbox's own ``pulumi``
    first on PATH (see ``write_shim``).
    """
    python = Path(sys.executable)  # not resolved: Python finds its virtual environment by the link's location
    # A language host that does not read `runtime.options.virtualenv` takes the first python.
    folders = [*([layout.bin] if by_hand else []), python.parent, engine.path.parent]
    path = [*map(str, folders), environ.get("PATH", os.defpath)]
    # A real AWS CLI comes first, unless only the stand-in has the token of the control plane.
    path.insert(0 if layout.token.is_file() else len(path), str(layout.programs))
    region = layout.region(stack, copied=not by_hand)  # by hand, the copy of the stack's file is renewed afterwards
    set_ = {
        "AWS_ACCESS_KEY_ID": "sandbox",
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": region,
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        **_NO_AWS_FILES,
        "MULTIARCH_SANDBOX_MANIFESTS": str(layout.all_manifests),
        "PATH": os.pathsep.join(path),
        # The language host runs `pip list`, which would look for a newer pip: without the internet, for 5 seconds.
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # Without the files of attributes beside each file: unlike the rest they are not written in one step, and a kill
        # in that moment leaves an empty one, with which no command can load the state any more.
        "PULUMI_BACKEND_URL": f"{layout.backend.as_uri()}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_HOME": str(layout.home),
        "PULUMI_PYTHON_CMD": str(layout.programs / interpreter.NAME),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    if any(shutil.which(f"pulumi-resource-{name}", path=environ.get("PATH")) for name in plugins.NAMES):
        # The engine would take it in place of a stand-in; `sandbox.plugins` says where one is used.
        set_["PULUMI_IGNORE_AMBIENT_PLUGINS"] = "true"
    if by_hand:
        # Not `pulumi stack select`, which would change the stack of every other shell.
        set_["PULUMI_STACK"] = stack
    set_ |= _go_around_proxies(environ)
    return Environment(set_, _leading_out(environ, set_))


def read_aws(url: str, region: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command that reads the sandbox's AWS, and no cluster of the user's kubeconfig."""
    made = dict(environ)
    forget_aws(made)
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "sandbox")
    place = {"AWS_ENDPOINT_URL": url, "AWS_REGION": region, "KUBECONFIG": _NO_KUBECONFIG}
    return {**made, **keys, **place, **_go_around_proxies(environ)}


def _go_around_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep this machine's own servers from a proxy, with what they have already."""
    found: dict[str, str] = {}
    for name in ("NO_PROXY", "no_proxy"):
        others = [entry for entry in environ.get(name, "").split(",") if entry and entry != "127.0.0.1"]
        found[name] = ",".join(["127.0.0.1", *others])
    return found


def forget_aws(environ: MutableMapping[str, str]) -> None:
    """Remove the user's AWS settings from this process, so that boto3 reads nothing of them."""
    for name in [name for name in environ if name.startswith("AWS_")]:
        del environ[name]
    environ.update(_NO_AWS_FILES, AWS_EC2_METADATA_DISABLED="true")


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


def write_plugins(layout: Layout, official: Mapping[str, str] = MappingProxyType({})) -> None:
    """Install stand-ins and official plugins as Pulumi's, in the versions that SDKs and component request.

    Also a Python for the engine's language host, and a file in place of the folder of the engine's own log.

    ``official`` is as ``sandbox.plugins.find_plugins`` returns it. A stand-in for the AWS CLI is on PATH, which the eks
    component looks for.
    """
    # The engine would log all it does into a folder of this name, compressed and encrypted: a third of its time.
    layout.home.mkdir(parents=True, exist_ok=True)
    if not (layout.home / _ENGINE_LOGS).exists():
        (layout.home / _ENGINE_LOGS).touch()
    connect = shlex.quote(str(CLONE / "sandbox" / "providers" / "connect.py"))
    stand_ins, programs = (shlex.quote(str(layout.server / name)) for name in (forking.STAND_INS, forking.PYTHON))
    for name, version in plugins.list_wanted():
        file = layout.home / "plugins" / f"resource-{name}-v{version}" / f"pulumi-resource-{name}"
        program = official.get(f"{name}-v{version}")
        _write_script(
            file,
            f"""#!/bin/sh
# The official {name} provider.
exec {shlex.quote(program)} "$@"
"""
            if program
            else f"""#!/bin/sh
# The sandbox's stand-in for the {name} provider. A plugin ends with its engine.
exec {shlex.quote(sys.executable)} -S {connect} {stand_ins} {name} "$@"
""",
        )
    program = shlex.quote(sys.executable)
    _write_script(
        layout.programs / interpreter.NAME,
        f"""#!/bin/sh
# Python for Pulumi's language host, with the SDKs loaded: sandbox/providers/interpreter.py.
case "$1 $2 $3" in
*/pulumi-language-python-exec\\ -*|"-m pip list") exec {program} -S {connect} {programs} {interpreter.NAME} "$@" ;;
esac
exec {program} "$@"
""",
    )
    _write_script(
        layout.programs / "aws",
        f"""#!/bin/sh
# The sandbox's stand-in for the AWS CLI: it is there, and has the token of the sandbox's control plane, if one runs.
[ "$1" = --version ] && echo "aws-cli/2.7.0 sandbox" && exit
case "$*" in *"eks get-token"*) cat {shlex.quote(str(layout.token))} 2>/dev/null && exit ;; esac
echo "This is the sandbox's stand-in for the AWS CLI, which does nothing. Install the AWS CLI." >&2
exit 252
""",
    )


def write_token(layout: Layout, token: str) -> None:
    """Let the stand-in for the AWS CLI print a token of a Kubernetes API, as ``aws eks get-token`` does."""
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    write_atomically(layout.token, json.dumps(credential))
    layout.token.chmod(0o600)


def write_shim(layout: Layout, engine: Engine) -> Path:
    """Write ``.sandbox/bin/pulumi``: it updates the project folder, then runs the real engine there."""
    shim = layout.bin / "pulumi"
    python, root, clone = (shlex.quote(str(part)) for part in (sys.executable, layout.root, CLONE))
    _write_script(
        shim,
        f"""#!/bin/sh
{_SHIM_MARK}; written by `python -m sandbox`.
PYTHONPATH={clone}${{PYTHONPATH:+:$PYTHONPATH}} {python} -m sandbox --project {root} sync -- "$@" || exit $?
cd {shlex.quote(str(layout.project))} || exit 3
exec {shlex.quote(str(engine.path))} "$@"
""",
    )
    return shim


def _write_script(file: Path, text: str) -> None:
    write_atomically(file, text)
    file.chmod(0o755)


def is_shim(file: Path) -> bool:
    """Return whether ``file`` is a ``pulumi`` written by ``write_shim``, of this clone or another."""
    try:
        with file.open("rb") as handle:
            return _SHIM_MARK.encode() in handle.read(200)
    except OSError:
        return False
