"""Whether the Kubernetes API answers: found once, when the provider is configured, and kept for the whole run.

Source: pulumi-kubernetes, provider/pkg/provider/provider.go, Configure (clusterUnreachable, deleteUnreachable).
"""

from __future__ import annotations

import base64
import os
import sys
from dataclasses import dataclass
from typing import Any

import urllib3
import yaml

from sandbox.providers import StandInError, loopback_url
from sandbox.providers.values import Record

_TIMEOUT = 10.0
_OK, _UNAVAILABLE = 200, 503
_RERUN = (
    "you can remove this resource from Pulumi state by rerunning the operation with the "
    'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'
)


@dataclass(frozen=True, slots=True)
class Reach:
    """Why the API can't be reached, nothing if it answers, and what the user wants then."""

    fault: str = ""
    delete: bool = False

    def require(self, what: str = "configured Kubernetes cluster is unreachable: {}") -> None:
        """Raise :class:`StandInError` if the API can't be reached. provider.go, Create and Update."""
        if self.fault:
            raise StandInError(what.format(self.fault))

    def forget(self, what: str) -> None:
        """Let an object that can't be reached count as deleted. provider.go, Read and Delete.

        Raises :class:`StandInError`, which begins with ``what``, if the user did not say so.
        """
        sys.stderr.write(f"configured Kubernetes cluster is unreachable: {self.fault}\n")
        if not self.delete:
            raise StandInError(f"{what}. If the cluster was deleted, {_RERUN}")
        sys.stderr.write(
            "configured Kubernetes cluster is unreachable and the `deleteUnreachable` option is enabled. "
            "Deleting the unreachable resource from Pulumi state\n"
        )


def find_reach(settings: Record) -> Reach:
    """Return whether the API server of the provider's kubeconfig answers; one off this machine gets no request."""
    return Reach(
        _find_fault(str(settings.get("kubeconfig") or "")),
        settings.get("deleteUnreachable", os.environ.get("PULUMI_K8S_DELETE_UNREACHABLE")) in (True, "true"),
    )


def _find_fault(kubeconfig: str) -> str:
    try:
        config = yaml.safe_load(kubeconfig)
        cluster = _find_cluster(config) if isinstance(config, dict) else {}
        server = str(cluster.get("server", ""))
        authority = base64.b64decode(cluster.get("certificate-authority-data", "")).decode() or None
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        return f"failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- {error}"
    try:
        loopback_url(server, "the kubeconfig's server")
    except StandInError:  # nothing to request: the objects go to a folder
        return ""
    return _request(f"{server}/version", authority)


def _find_cluster(config: dict[str, Any]) -> dict[str, Any]:
    contexts = {each["name"]: each["context"]["cluster"] for each in config["contexts"]}
    clusters: dict[str, dict[str, Any]] = {each["name"]: each["cluster"] for each in config["clusters"]}
    return clusters[contexts[config["current-context"]]]


def _request(url: str, authority: str | None) -> str:
    """Request a URL; ``authority`` is PEM, None for plain HTTP."""
    try:
        pool = urllib3.PoolManager(ca_cert_data=authority)
        status = pool.request("GET", url, timeout=_TIMEOUT, retries=False).status
    except urllib3.exceptions.HTTPError as error:
        reason = f'Get "{url}": {error}'
    else:
        if status == _OK:
            return ""
        reason = "the server is currently unable to handle the request" if status == _UNAVAILABLE else f"HTTP {status}"
    return f"unable to load schema information from the API server: {reason}"
