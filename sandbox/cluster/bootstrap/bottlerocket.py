"""Bottlerocket: settings in TOML, from which its templates make the kubelet's arguments and configuration.

Sources: bottlerocket-core-kit, ``packages/kubernetes-*/kubelet-config`` and ``kubelet-exec-start``; the template helper
``join_node_taints``; bottlerocket-settings-sdk, ``KubernetesTaintValue``; Bottlerocket, "Settings reference".
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import check_certificate, merge

_CONFIG: Mapping[str, str] = {
    "cluster-dns-ip": "clusterDNS",
    "container-log-max-files": "containerLogMaxFiles",
    "container-log-max-size": "containerLogMaxSize",
    "eviction-hard": "evictionHard",
    "eviction-soft": "evictionSoft",
    "eviction-soft-grace-period": "evictionSoftGracePeriod",
    "image-gc-high-threshold-percent": "imageGCHighThresholdPercent",
    "image-gc-low-threshold-percent": "imageGCLowThresholdPercent",
    "kube-reserved": "kubeReserved",
    "max-pods": "maxPods",
    "system-reserved": "systemReserved",
}
"""Settings that a plan or Karpenter writes, with the field of KubeletConfiguration that the template writes."""
_REQUIRED = ("api-server", "cluster-certificate", "cluster-name")
_TAINT = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?:[A-Za-z0-9]{1,253}")
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def read(documents: Sequence[str]) -> KubeletStart:
    """Read settings, the later over the earlier.

    Raises NodeStartError if a node would not join, and for settings of the kubelet that this reader does not know.
    """
    every: dict[str, Any] = {}
    for text in documents:
        every = merge(every, _parsed(text))
    settings = every.get("settings")
    if not isinstance(settings, Mapping) or not isinstance(settings.get("kubernetes"), Mapping):
        raise NodeStartError("The user data has no settings.kubernetes. The node does not join.")
    kubernetes: Mapping[str, Any] = settings["kubernetes"]
    for key in _REQUIRED:
        if not isinstance(kubernetes.get(key), str) or not kubernetes[key]:
            raise NodeStartError(f"settings.kubernetes.{key} is missing. The node does not join.")
    for key in kubernetes:
        if key not in {*_REQUIRED, *_CONFIG, "node-labels", "node-taints"}:
            raise NodeStartError(
                f"This reader does not know settings.kubernetes.{key}. If Bottlerocket does not know it either, it "
                "rejects all settings, and the node does not join."
            )
    return KubeletStart(
        flags=tuple(_flags(kubernetes)),
        config={_CONFIG[key]: _value(key, value) for key, value in kubernetes.items() if key in _CONFIG},
        cluster=kubernetes["cluster-name"],
        endpoint=kubernetes["api-server"],
        certificate_authority=check_certificate(kubernetes["cluster-certificate"]),
        ignored=tuple(key for key in every if key != "settings"),
    )


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NodeStartError(f"The user data is not TOML: {error}. The node does not join.") from error


def _value(key: str, value: Any) -> Any:  # noqa: ANN401  (TOML to YAML)
    if key.endswith("-percent"):
        return int(value)
    return [value] if key == "cluster-dns-ip" and not isinstance(value, list) else value


def _flags(kubernetes: Mapping[str, Any]) -> Iterator[str]:
    labels = _table(kubernetes, "node-labels")
    for key, value in labels.items():
        if not isinstance(value, str) or not _LABEL.fullmatch(value):
            raise _rejected(f"node-labels.{key}", value)
    if labels:
        yield "--node-labels=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    if taints := list(_taints(_table(kubernetes, "node-taints"))):
        yield "--register-with-taints=" + ",".join(taints)


def _taints(table: Mapping[str, Any]) -> Iterator[str]:
    for key, several in sorted(table.items()):
        for each in several if isinstance(several, list) else [several]:
            if not isinstance(each, str) or not _TAINT.fullmatch(each):
                raise _rejected(f"node-taints.{key}", each)
            yield f"{key}={each}"


def _table(kubernetes: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = kubernetes.get(key, {})
    if not isinstance(table, Mapping):
        raise _rejected(key, table)
    return table


def _rejected(key: str, value: object) -> NodeStartError:
    return NodeStartError(
        f"Bottlerocket rejects all settings: settings.kubernetes.{key} can't be {value!r}. The node does not join."
    )
