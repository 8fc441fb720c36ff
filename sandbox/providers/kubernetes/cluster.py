"""A small client for a cluster on this machine: discovery, server-side apply, get, delete.

Upstream: Kubernetes documentation, "Server-Side Apply" and "API concepts".
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import tempfile
import time
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote

import urllib3
import yaml

from sandbox.providers import StandInError, loopback_url
from sandbox.providers.kubernetes.objects import ordered
from sandbox.providers.values import Record, Value

MANAGER: Final = "multiarch-sandbox"
_SECONDS: Final = 60.0


class Cluster:
    """An API server named by a kubeconfig. Raises :class:`StandInError` for one that is not on this machine."""

    def __init__(self, kubeconfig: Path) -> None:
        """Read the current context: server, CA or insecure, client certificate or token."""
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = _named(config, "contexts", config["current-context"])["context"]
        cluster = _named(config, "clusters", context["cluster"])["cluster"]
        user = _named(config, "users", context["user"])["user"]
        self._server = loopback_url(cluster["server"], f"the server in {kubeconfig}").rstrip("/")
        self._headers = {"Authorization": f"Bearer {user['token']}"} if user.get("token") else {}
        self._pool = urllib3.PoolManager(ssl_context=_tls(cluster, user, kubeconfig.parent), timeout=30.0)
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def put(self, obj: Record) -> Record:
        """Server-side apply; conflicts go to us, as for the owner of the object."""
        url = f"{self._url(obj)}?fieldManager={MANAGER}&force=true"
        answer: Record = self._ask("PATCH", url, ordered(obj), "application/apply-patch+yaml")
        return _without_noise(answer)

    def get(self, obj: Record) -> Record | None:
        """The live object, or ``None``."""
        try:
            answer = self._ask("GET", self._url(obj), missing=True)
        except LookupError:
            return None
        return None if answer is None else _without_noise(answer)

    def delete(self, obj: Record) -> None:
        """Delete and wait until it is gone. Raises :class:`StandInError` when finalizers keep it for over a minute."""
        try:
            url = self._url(obj)
        except LookupError:
            return
        self._ask("DELETE", f"{url}?propagationPolicy=Background", missing=True)
        end = time.monotonic() + _SECONDS
        while self._ask("GET", url, missing=True) is not None:
            if time.monotonic() > end:
                raise StandInError(
                    f"{obj['kind']} {obj['metadata']['name']} is still there {_SECONDS:.0f} s after it was deleted"
                )
            time.sleep(0.2)

    def _url(self, obj: Record) -> str:
        plural, namespaced = self._resource(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        scope = f"/namespaces/{metadata.get('namespace') or 'default'}" if namespaced else ""
        return f"{self._root(obj['apiVersion'])}{scope}/{plural}/{quote(metadata['name'])}"

    def _root(self, api_version: str) -> str:
        return f"{self._server}/apis/{api_version}" if "/" in api_version else f"{self._server}/api/{api_version}"

    def _resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        """Plural and scope of a kind. Raises LookupError when the server has none, after waiting for a fresh CRD."""
        end = time.monotonic() + 10.0
        while (api_version, kind) not in self._kinds:
            rows = (self._ask("GET", self._root(api_version), missing=True) or {}).get("resources", [])
            self._kinds.update(
                {(api_version, row["kind"]): (row["name"], row["namespaced"]) for row in rows if "/" not in row["name"]}
            )
            if (api_version, kind) not in self._kinds:
                if time.monotonic() > end:
                    raise LookupError(f"the cluster has no {kind} in {api_version}")
                time.sleep(0.5)
        return self._kinds[api_version, kind]

    def _ask(
        self, method: str, url: str, body: Value = None, content: str = "application/json", *, missing: bool = False
    ) -> Value:
        headers = {**self._headers, "Accept": "application/json", "Content-Type": content}
        data = None if body is None else json.dumps(body, sort_keys=True).encode()
        answer = self._pool.request(method, url, body=data, headers=headers)
        if answer.status == HTTPStatus.NOT_FOUND and missing:
            return None
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise StandInError(
                f"{method} {url.removeprefix(self._server)} answered {answer.status}: {_message(answer.data)}"
            )
        return json.loads(answer.data)


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data).get("message", ""))
    except ValueError:
        return data[:200].decode(errors="replace")


def _named(config: Value, kind: str, name: str) -> Value:
    for row in config.get(kind) or []:
        if row["name"] == name:
            return row
    raise StandInError(f"the kubeconfig names no {name!r} in {kind}")


def _tls(cluster: Record, user: Record, folder: Path) -> ssl.SSLContext | None:
    if cluster["server"].startswith("http://"):
        return None
    authority = _bytes(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate", folder), _bytes(user, "client-key", folder)
    if certificate and key:
        with tempfile.TemporaryDirectory() as scratch:  # ssl reads a certificate from files only
            both = Path(scratch) / "client.pem"
            both.touch(mode=0o600)
            both.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(os.fspath(both))
    return context


def _bytes(row: Record, key: str, folder: Path) -> bytes | None:
    if row.get(f"{key}-data"):
        return base64.b64decode(row[f"{key}-data"])
    return (folder / row[key]).read_bytes() if row.get(key) else None


def _without_noise(obj: Record) -> Record:
    """A live object without the field owners, which change with every call."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    return {**obj, "metadata": metadata}
