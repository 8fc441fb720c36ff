"""Bottlerocket: settings in TOML, from which its templates make the kubelet's arguments and configuration.

Sources: bottlerocket-core-kit, ``packages/kubernetes-*/kubelet-config`` and ``kubelet-exec-start``; the template helper
``join_node_taints``; Bottlerocket, "Settings reference".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import merge

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


def read(documents: Sequence[str]) -> KubeletStart:
    """Read settings, the later over the earlier.

    Raises NodeStartError if a node would not join, and for settings of the kubelet that this reader does not know.
    """
    every: dict[str, Any] = {}
    try:
        for text in documents:
            every = merge(every, tomllib.loads(text))
        kubernetes = every.pop("settings")["kubernetes"]
        missing = {*_REQUIRED} - {*kubernetes}
        unknown = {*kubernetes, *every} - {*_REQUIRED, *_CONFIG, "node-labels", "node-taints"}
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise NodeStartError(f"The user data is not TOML with settings.kubernetes: {error!r}.") from error
    if missing or unknown:
        raise NodeStartError(
            f"settings.kubernetes has no {sorted(missing)}, or the unknown {sorted(unknown)}. The node does not join."
        )
    return KubeletStart(
        flags=tuple(_flags(kubernetes)),
        config={_CONFIG[key]: _value(key, value) for key, value in kubernetes.items() if key in _CONFIG},
    )


def _value(key: str, value: Any) -> Any:  # noqa: ANN401  (TOML to YAML)
    if key.endswith("-percent"):
        return int(value)
    return [value] if key == "cluster-dns-ip" and not isinstance(value, list) else value


def _flags(kubernetes: Mapping[str, Any]) -> Iterator[str]:
    if labels := kubernetes.get("node-labels"):
        yield "--node-labels=" + ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    if taints := kubernetes.get("node-taints"):
        rows = ((key, [each] if isinstance(each, str) else each) for key, each in sorted(taints.items()))
        yield "--register-with-taints=" + ",".join(f"{key}={each}" for key, several in rows for each in several)
