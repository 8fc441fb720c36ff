"""Kubeconfig files as kubectl reads them: which, merged how, and what one context holds.

The rules: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/: of several
files the first that sets a value or a name wins, and a path in a file starts at the file's folder.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from multiarch.errors import MultiarchError
from multiarch.files import read_bytes
from multiarch.kubernetes.errors import KubeconfigError
from multiarch.kubernetes.exec_plugin import ExecPlugin, expanded, plugin_from

_HOW = "Create one with `aws eks update-kubeconfig --region REGION --name CLUSTER`, or pass one with --kubeconfig."
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PARTS = ("clusters", "users", "contexts")


@dataclass(frozen=True, slots=True)
class User:
    """Credentials of a kubeconfig's user, which are not shown. The first that is set is used, as in kubectl."""

    name: str = ""
    certificate: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    token_file: Path | None = None
    token: str | None = field(default=None, repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    plugin: ExecPlugin | None = None

    @property
    def sends_secrets(self) -> bool:
        """Whether requests carry a token or a password."""
        return not (self.token_file is None and self.token is None and self.basic is None and self.plugin is None)


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach one cluster. ``name`` is the context's, ``file`` the kubeconfig that has the cluster.

    ``authority`` are certificates in PEM; None trusts the system's. ``namespace`` is the context's, if it names one.
    """

    name: str
    server: str
    user: User
    authority: str | None = field(default=None, repr=False)
    insecure: bool = False
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    namespace: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """A named value of a kubeconfig, and its file."""

    name: str
    value: Mapping[str, Any]
    file: Path

    def text(self, key: str) -> str:
        found = self.value.get(key)
        if found is None:
            return ""
        if not isinstance(found, str):
            raise KubeconfigError(f"{self.file}: {key} of {self.name} must be a string.", file=str(self.file))
        return found

    def content(self, key: str) -> bytes | None:
        """What ``KEY-data`` holds in base64, or the file that ``KEY`` names."""
        data, path = self.text(f"{key}-data"), self.text(key)
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                message = f"{self.file}: {key}-data of {self.name} is not valid base64."
                raise KubeconfigError(message, hint="Recreate the kubeconfig.", file=str(self.file)) from error
        return _read(self.path(key), f"{key} of {self.name}", self.file) if path else None

    def path(self, key: str) -> Path:
        """The path under ``key``: a relative one starts at the kubeconfig's folder."""
        return self.file.parent / expanded(Path(self.text(key)))


def connection(
    *, kubeconfig: Path | None = None, context: str | None = None, environ: Mapping[str, str] | None = None
) -> Connection:
    """How to reach a cluster: ``kubeconfig`` alone, else the files of KUBECONFIG, else ``~/.kube/config``.

    Without any of them, and without ``context``, it is the pod's service account, as in kubectl. Raises KubeconfigError
    for a file or a context that does not exist, and for a context that lacks what it needs.
    """
    env = os.environ if environ is None else environ
    files = _files(kubeconfig, env)
    if not files:
        if context is None and (found := _in_cluster(env)) is not None:
            return found
        looked = env.get("KUBECONFIG") or "~/.kube/config"
        raise KubeconfigError(f"No kubeconfig found: {looked} does not exist.", hint=_HOW)
    parts, current = _merged(files)
    contexts = parts["contexts"]
    chosen = context or current
    shown = ", ".join(str(file) for file in files)
    if not chosen:
        raise KubeconfigError(
            f"{shown} does not set current-context.", hint=_there_are("Choose one with --context", contexts)
        )
    if chosen not in contexts:
        whose = "" if context else ", its current-context"
        raise KubeconfigError(f"{shown} has no context {chosen}{whose}.", hint=_there_are("There are", contexts))
    entry = contexts[chosen]
    cluster = _named(parts["clusters"], entry, "cluster")
    if cluster is None:
        message = f"{entry.file}: context {chosen} does not name a cluster."
        raise KubeconfigError(message, hint="Recreate the kubeconfig.", file=str(entry.file))
    user = _named(parts["users"], entry, "user")
    return _connection(entry, cluster, user)


def _connection(context: _Entry, cluster: _Entry, user: _Entry | None) -> Connection:
    server = cluster.text("server").rstrip("/")
    if fault := _server_fault(server):
        message = f"{cluster.file}: cluster {cluster.name} {fault}."
        raise KubeconfigError(message, hint="Recreate the kubeconfig.", file=str(cluster.file))
    authority = cluster.content("certificate-authority")
    return Connection(
        name=context.name,
        server=server,
        user=User() if user is None else _user(user, _with_authority(cluster, authority)),
        authority=None if authority is None else authority.decode("ascii", errors="replace"),
        insecure=cluster.value.get("insecure-skip-tls-verify") is True,
        server_name=cluster.text("tls-server-name") or None,
        proxy=cluster.text("proxy-url") or None,
        namespace=context.text("namespace") or None,
        file=str(cluster.file),
    )


def _server_fault(server: str) -> str:
    """What is wrong with a server's address, which is not shown: it may contain a password."""
    if not server.startswith(("https://", "http://")):
        return "needs a server that starts with https://"
    try:
        parts = parse_url(server)
    except LocationParseError:
        return "has a server that is not a valid URL"
    if parts.auth is not None:
        return "has a user name or password in its server, which belong in users"
    if not parts.host or parts.query or parts.fragment or not server.isprintable() or " " in server:
        return "has a server that is not a valid URL"
    return ""


def _with_authority(cluster: _Entry, authority: bytes | None) -> dict[str, Any]:
    """The cluster that a credential plugin is given: with certificates in place of the files that hold them."""
    data = {} if authority is None else {"certificate-authority-data": base64.b64encode(authority).decode()}
    return {**cluster.value, **data}


def _user(entry: _Entry, cluster: Mapping[str, Any]) -> User:
    if entry.value.get("auth-provider") is not None:
        message = f"{entry.file}: user {entry.name} has an auth-provider, which Kubernetes removed in 1.26."
        raise KubeconfigError(message, hint="Use an exec credential plugin instead.", file=str(entry.file))
    certificate, key = entry.content("client-certificate"), entry.content("client-key")
    if (certificate is None) != (key is None):
        message = f"{entry.file}: user {entry.name} needs both client-certificate and client-key."
        raise KubeconfigError(message, file=str(entry.file))
    name, password = entry.text("username"), entry.text("password")
    written = entry.value.get("exec")
    return User(
        name=entry.name,
        certificate=certificate,
        key=key,
        token_file=entry.path("tokenFile") if entry.text("tokenFile") else None,
        token=entry.text("token") or None,
        basic=(name, password) if name and password else None,
        plugin=None if written is None else plugin_from(written, cluster, user=entry.name, file=entry.file),
    )


def _named(entries: Mapping[str, _Entry], context: _Entry, key: str) -> _Entry | None:
    name = context.text(key)
    if not name:
        return None
    if name not in entries:
        message = f"{context.file}: context {context.name} names {key} {name}, which does not exist."
        raise KubeconfigError(message, hint=_there_are("There are", entries), file=str(context.file))
    return entries[name]


def _there_are(said: str, entries: Mapping[str, _Entry]) -> str:
    return f"{said}: {', '.join(sorted(entries))}." if entries else _HOW


def _files(kubeconfig: Path | None, environ: Mapping[str, str]) -> list[Path]:
    """The files to merge. Files in KUBECONFIG that do not exist are skipped, as in kubectl."""
    if kubeconfig is not None:
        return [expanded(kubeconfig)]
    listed = [part for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environ.get("HOME")
    default = [Path(home, ".kube", "config")] if home else []
    return [path for path in (map(Path, listed) if listed else default) if os.path.lexists(path)]


def _merged(files: Sequence[Path]) -> tuple[dict[str, dict[str, _Entry]], str]:
    parts: dict[str, dict[str, _Entry]] = {part: {} for part in _PARTS}
    current = ""
    for file in files:
        config = _loaded(file)
        current = current or str(config.get("current-context") or "")
        for part in _PARTS:
            for entry in _entries(config.get(part), part, file):
                parts[part].setdefault(entry.name, entry)
    return parts, current


def _entries(listed: object, part: str, file: Path) -> list[_Entry]:
    made = []
    if not isinstance(listed, list | None):
        raise KubeconfigError(f"{file}: {part} must be a list.", file=str(file))
    for row in listed or ():
        name = row.get("name") if isinstance(row, dict) else None
        value = row.get(part.removesuffix("s")) if isinstance(row, dict) else None
        if not isinstance(name, str) or not isinstance(value, dict | None):
            raise KubeconfigError(f"{file}: each entry of {part} needs a name and a {part[:-1]}.", file=str(file))
        made.append(_Entry(name, value or {}, file))
    return made


def _loaded(file: Path) -> dict[str, Any]:
    from multiarch.yaml_text.events import YamlError  # noqa: PLC0415 # as below
    from multiarch.yaml_text.reader import documents  # noqa: PLC0415 # only a live cluster needs it

    text = _read(file, "", file).decode("utf-8", errors="replace")
    try:
        found = [document.value for document in documents(text)]
    except YamlError as error:
        place = file if error.fault.line is None else f"{file}:{error.fault.line}"
        raise KubeconfigError(f"{place}: {error.fault.message}.", hint=error.fault.hint, file=str(file)) from error
    value = found[0] if found else {}
    if not isinstance(value, dict | None):
        raise KubeconfigError(f"{file} is not a kubeconfig.", hint=_HOW, file=str(file))
    return value or {}


def _read(path: Path, what: str, file: Path) -> bytes:
    try:
        return read_bytes(path)
    except (OSError, ValueError) as error:
        head = f"{file}: {what}, {path}," if what else f"The kubeconfig {path}"
        why = getattr(error, "strerror", None) or error
        raise KubeconfigError(f"{head} can't be read: {why}.", hint="" if what else _HOW, file=str(file)) from error


def _in_cluster(environ: Mapping[str, str], account: Path = _ACCOUNT) -> Connection | None:
    """The service account of the pod that this runs in, or None outside of one."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token = account / "token"
    if not host or not port or not token.is_file():
        return None
    try:
        authority = (account / "ca.crt").read_text(encoding="ascii")
        namespace = (account / "namespace").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise MultiarchError(f"The pod's service account in {account} can't be read: {why}.") from error
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    if fault := _server_fault(server):
        raise MultiarchError(f"KUBERNETES_SERVICE_HOST with KUBERNETES_SERVICE_PORT {fault}.")
    return Connection(
        name="in-cluster",
        server=server,
        user=User(name="the pod's service account", token_file=token),
        authority=authority,
        namespace=namespace or None,
    )
