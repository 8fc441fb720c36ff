"""Credential plugins: programs that a kubeconfig names and that print a token or a certificate, as `aws eks get-token`.

The protocol is https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.program import OutputLimitError, TimeLimitError, run_program
from multiarch.registry.errors import one_line
from multiarch.registry.settings import MIB

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
SECONDS = 60.0
OUTPUT_LIMIT = MIB
_BEFORE_EXPIRY = timedelta(seconds=30)
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A credential plugin. ``environment`` is added to this process's own; ``about`` is KUBERNETES_EXEC_INFO's spec."""

    user: str
    file: Path
    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    install_hint: str = ""
    interactive: str = "IfAvailable"
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The program's name."""
        return Path(self.command).name

    @property
    def title(self) -> str:
        """How errors call it."""
        return f"{self.name}, the credential plugin of user {self.user} in {self.file}"


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plugin printed; no part of it is shown."""

    token: str | None = field(default=None, repr=False)
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    expires: datetime | None = None

    @property
    def expired(self) -> bool:
        """Whether it expires within half a minute."""
        return self.expires is not None and datetime.now(UTC) + _BEFORE_EXPIRY >= self.expires


def plugin_from(written: object, cluster: Mapping[str, Any], *, user: str, file: Path) -> ExecPlugin:
    """Read ``users[].user.exec`` of a kubeconfig. Raises KubeconfigError for what kubectl would refuse."""
    head = f"{file}: exec of user {user}"
    if not isinstance(written, dict) or not isinstance(written.get("command"), str) or not written["command"]:
        raise KubeconfigError(f"{head} needs a command.", file=str(file))
    version = written.get("apiVersion")
    if version not in _VERSIONS:
        hint = f"Use {' or '.join(_VERSIONS)}; `aws eks update-kubeconfig` of AWS CLI v2 writes one of them."
        raise KubeconfigError(f"{head} has the apiVersion {version}.", hint=hint, file=str(file))
    arguments, environment = _list(written.get("args")), _list(written.get("env"))
    pairs = [(each.get("name"), each.get("value")) if isinstance(each, dict) else (None, None) for each in environment]
    texts = [*arguments, *(part for pair in pairs for part in pair)]
    if not all(isinstance(each, str) for each in texts):
        raise KubeconfigError(
            f"{head}: args must be strings, and each entry of env needs a name and a value.", file=str(file)
        )
    about = _about(cluster) if written.get("provideClusterInfo") is True else {}
    return ExecPlugin(
        user=user,
        file=file,
        api_version=version,
        command=written["command"],
        arguments=tuple(arguments),
        environment=tuple((str(name), str(value)) for name, value in pairs),
        install_hint=str(written.get("installHint") or ""),
        interactive=str(written.get("interactiveMode") or "IfAvailable"),
        about=about,
    )


def expanded(path: Path) -> Path:
    """The path with the home folder for ``~``; as it is if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _list(written: object) -> list[Any]:
    """The elements of a list; for anything else one that callers refuse."""
    if written is None:
        return []
    return written if isinstance(written, list) else [None]


def _about(cluster: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    for row in _list(cluster.get("extensions")):
        if isinstance(row, dict) and row.get("name") == f"{_GROUP}/exec":
            found["config"] = row.get("extension")
    return {"cluster": found}


def run(plugin: ExecPlugin) -> ExecCredential:
    """Run the plugin.

    Raises ClusterError if it is missing, fails, takes longer than a minute, prints more than 1 MiB, or prints something
    else.

    On a terminal the plugin may ask questions, and has no time limit.
    """
    program = _program(plugin)
    terminal = plugin.interactive != "Never" and sys.stdin.isatty() and sys.stderr.isatty()
    if plugin.interactive == "Always" and not terminal:
        raise ClusterError(f"{plugin.name} of user {plugin.user} has interactiveMode Always, which needs a terminal.")
    info = {
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {**plugin.about, "interactive": terminal},
    }
    environment = {**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        done = run_program(
            [program, *plugin.arguments], environment, seconds=None if terminal else SECONDS, limit=OUTPUT_LIMIT
        )
    except TimeLimitError as error:
        raise ClusterError(f"{plugin.title}, took more than {SECONDS:.0f} s.") from error
    except OutputLimitError as error:
        raise ClusterError(f"{plugin.title}, printed more than {OUTPUT_LIMIT // MIB} MiB.") from error
    except OSError as error:
        raise ClusterError(f"{program} can't be run: {error.strerror or error}.") from error
    except ValueError:
        # The value may be a secret: it is not shown.
        message = f"{plugin.title}, has args or env with characters that no program can be given."
        raise ClusterError(message, hint="Remove them from the kubeconfig.") from None
    if done.code:
        said = _last_line(done.errors)
        raise ClusterError(
            f"{plugin.title}, failed" + (f": {said}." if said else f" with exit code {done.code}."),
            hint=_login(plugin.name),
        )
    return _credential(done.output, plugin)


def _program(plugin: ExecPlugin) -> str:
    """The program's path: a name is looked up, a relative path starts at the kubeconfig's folder."""
    command = plugin.command
    if os.sep in command:
        path = plugin.file.parent / expanded(Path(command))
        if path.is_file():
            return str(path)
    else:
        environment = {**os.environ, **dict(plugin.environment)}
        if (found := shutil.which(command, path=environment.get("PATH"))) is not None:
            return found
    message = f"{command}, the credential plugin of user {plugin.user} in {plugin.file}, is not installed."
    said = one_line(plugin.install_hint)
    hint = f"{said}." if said else _INSTALL.get(command, "Install it, or put its folder on PATH.")
    raise ClusterError(message, hint=hint)


_INSTALL = {
    "aws": "Install the AWS CLI v2.",
    "aws-iam-authenticator": "Install it, or recreate the kubeconfig with `aws eks update-kubeconfig`.",
}


def _login(name: str) -> str:
    return "Log in to the AWS CLI first, for example with `aws sso login`." if name.startswith("aws") else ""


def _last_line(output: bytes) -> str:
    lines = [line.strip() for line in output.decode("utf-8", errors="replace").splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else ""


def _credential(output: bytes, plugin: ExecPlugin) -> ExecCredential:
    """The credential in the output, which is in no message: it holds a secret."""
    wrong = f"{plugin.title}, did not print an ExecCredential"
    try:
        answer = json.loads(output)
        status = answer["status"]
        token, certificate, key = (
            _text(status.get(each)) for each in ("token", "clientCertificateData", "clientKeyData")
        )
        expires = status.get("expirationTimestamp")
        until = None if expires is None else datetime.fromisoformat(expires)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ClusterError(f"{wrong}.") from None
    if answer.get("apiVersion") != plugin.api_version:
        raise ClusterError(
            f"{wrong} of {plugin.api_version}.", hint="The kubeconfig and the exec plugin use different API versions."
        )
    pair = (certificate.encode(errors="replace"), key.encode(errors="replace")) if certificate and key else None
    if not token and pair is None:
        raise ClusterError(f"{wrong} with a token or a certificate.")
    return ExecCredential(
        token=token or None,
        certificate=pair[0] if pair else None,
        key=pair[1] if pair else None,
        expires=until if until is None or until.tzinfo else until.replace(tzinfo=UTC),
    )


def _text(value: object) -> str:
    """A text, empty if missing. Raises TypeError, without the value, for anything else."""
    if not isinstance(value, str | None):
        raise TypeError
    return value or ""
