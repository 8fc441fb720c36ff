"""A small Kubernetes client: server-side apply, get, list, delete, wait.

Objects are the mappings that their manifests are. The API's own discovery says which path a kind has.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

Object = dict[str, Any]
FIELD_MANAGER = "sandbox"


class KubeError(Exception):
    """The API server said no: ``reason`` is its word (``NotFound``, ``Invalid``), ``code`` the HTTP status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        """Keep the parts apart: callers look at each."""
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach an API server: its address, the certificate to trust, a bearer token."""

    url: str
    certificate: Path
    token: str

    @property
    def authority(self) -> str:
        """The certificate in base64, as EKS describes it."""
        return base64.b64encode(self.certificate.read_bytes()).decode()


class Kube:
    """One API server. Safe to use from several threads."""

    def __init__(self, access: Access) -> None:
        """Open nothing yet; connections are made when first needed."""
        self.access = access
        # A kind whose definition is new is rejected for a moment, with the time after which to retry.
        again = urllib3.Retry(
            connect=False, read=False, redirect=False, other=False, status=10, status_forcelist=(429,),
            allowed_methods=None, raise_on_status=False,
        )  # fmt: skip
        self._http = urllib3.PoolManager(maxsize=8, ca_certs=str(access.certificate), retries=again, timeout=30.0)
        self._resources: dict[str, dict[str, tuple[str, bool]]] = {}
        self._lock = Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Send a request and return the object in the answer; an answer that is plain text is under ``text``.

        Raises:
            KubeError: the status is 400 or above.
        """
        url = f"{self.access.url}{path}" + (f"?{urlencode(query)}" if query else "")
        answer = self._http.request(
            method,
            url,
            body=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.access.token}", "Content-Type": content_type},
        )
        try:
            content = json.loads(answer.data)
        except ValueError:
            content = {"text": answer.data.decode(errors="replace")}
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise KubeError(answer.status, content.get("reason", ""), content.get("message") or content.get("text", ""))
        return dict(content)

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of a kind (in a namespace, if it has one), or of one object.

        Raises:
            KubeError: the API server does not know the kind (reason ``UnknownKind``).
        """
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        plural, namespaced = self._resource(root, kind)
        place = f"/namespaces/{quote(namespace or 'default')}" if namespaced else ""
        return f"{root}{place}/{plural}" + (f"/{quote(name)}" if name else "")

    def _resource(self, root: str, kind: str) -> tuple[str, bool]:
        """Return the plural of a kind, and whether its objects are in namespaces."""
        with self._lock:
            known = self._resources.get(root, {})
        if kind not in known:
            # Looked up again: a CustomResourceDefinition may have come since.
            listed = self.request("GET", root)["resources"]
            known = {row["kind"]: (row["name"], row["namespaced"]) for row in listed if "/" not in row["name"]}
            with self._lock:
                self._resources[root] = known
        if kind not in known:
            raise KubeError(404, "UnknownKind", f"{root} has no {kind}")
        return known[kind]

    def apply(self, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Object:
        """Create or change an object by server-side apply, taking over fields that others set.

        A field that the kind does not have is rejected. With ``dry_run`` the API server judges as always, and keeps
        nothing.
        """
        meta = manifest["metadata"]
        path = self.path(manifest["apiVersion"], manifest["kind"], meta.get("namespace"), meta["name"])
        query = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return self.request("PATCH", path, body=manifest, query=query, content_type="application/apply-patch+yaml")

    def create(self, manifest: Mapping[str, Any]) -> Object:
        """Create an object that must not be there yet."""
        path = self.path(manifest["apiVersion"], manifest["kind"], manifest["metadata"].get("namespace"))
        return self.request("POST", path, body=manifest)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return an object, or None when there is none."""
        try:
            return self.request("GET", self.path(api_version, kind, namespace, name))
        except KubeError as error:
            if error.reason == "NotFound":
                return None
            raise

    def list(
        self, api_version: str, kind: str, namespace: str | None = None, *, selector: str = "", fields: str = ""
    ) -> Sequence[Object]:
        """List objects sorted by namespace and name; ``namespace`` None is all namespaces."""
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        path = self.path(api_version, kind, namespace) if namespace else f"{root}/{self._resource(root, kind)[0]}"
        query = {
            key: value
            for key, value in (("labelSelector", selector), ("fieldSelector", fields), ("resourceVersion", ""))
            if value
        }
        items = self.request("GET", path, query=query)["items"]
        return sorted(items, key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))

    def patch(self, item: Mapping[str, Any], change: object, *, part: str = "") -> Object:
        """Merge ``change`` (RFC 7386) into an object; ``part`` names a subresource such as ``status``."""
        path = self.path_of(item) + (f"/{part}" if part else "")
        return self.request("PATCH", path, body=change, content_type="application/merge-patch+json")

    def delete(self, item: Mapping[str, Any], *, grace: int | None = None, policy: str = "Background") -> None:
        """Delete an object if it is still there; ``grace`` in seconds, 0 waits for no kubelet.

        ``policy``: what becomes of the objects that it owns. They go after it; before it (``Foreground``); or stay
        (``Orphan``).
        """
        options: Object = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        try:
            self.request("DELETE", self.path_of(item), body=options)
        except KubeError as error:
            if error.reason != "NotFound":
                raise

    def path_of(self, item: Mapping[str, Any]) -> str:
        """Return the path of an object that carries its apiVersion and kind."""
        meta = item["metadata"]
        return self.path(item["apiVersion"], item["kind"], meta.get("namespace"), meta["name"])


def condition(item: Mapping[str, Any], kind: str) -> Mapping[str, str]:
    """Return a condition of an object's status by its type; empty when there is none."""
    # A CustomResourceDefinition has them as null for a moment.
    conditions: Sequence[Mapping[str, str]] = item.get("status", {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == kind), {})


def is_true(item: Mapping[str, Any], kind: str) -> bool:
    """Return whether a condition of an object's status is True."""
    return condition(item, kind).get("status") == "True"
