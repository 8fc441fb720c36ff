"""What a user or a test of the sandbox makes fail: the switches of its AWS server (``sandbox/aws/controls.py``).

``release`` and the beginning of a release's name: its pods are not ready in time. ``chart`` and the beginning of a
host's name: charts can't be loaded from there.
"""

from __future__ import annotations

import json
import os
from urllib.parse import urlsplit

import urllib3

from sandbox.providers import loopback_url
from sandbox.providers.values import Record


def is_late(release: Record) -> bool:
    """Return whether Helm's wait for a release ends before its pods are ready."""
    return not release.get("skipAwait") and _is_set("release", release["name"])


def find_chart_fault(release: Record) -> str:
    """Return why the chart of a release can't be loaded, in Helm's words, or nothing.

    Sources: pulumi-kubernetes, provider/pkg/provider/helm_release.go, Check; Helm 3, pkg/repo/chartrepo.go,
    FindChartInAuthAndTLSAndPassRepoURL.
    """
    repository = str((release.get("repositoryOpts") or {}).get("repo") or "")
    host = urlsplit(repository or str(release.get("chart", ""))).hostname
    if not host or not _is_set("chart", host):
        return ""
    fault = f"dial tcp: lookup {host}: no such host"
    if repository:
        fault = f'looks like "{repository}" is not a valid chart repository or cannot be reached: {fault}'
    return f"{fault}; check the chart name and repository configuration."


def _is_set(kind: str, name: str) -> bool:
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return False
    answer = urllib3.PoolManager().request("GET", loopback_url(endpoint, "AWS_ENDPOINT_URL") + "/sandbox/faults")
    return any(each["kind"] == kind and name.startswith(each["name"]) for each in json.loads(answer.data)["failures"])
