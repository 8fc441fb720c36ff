"""Kubelet flags, for the families that have them (AL2 and AL2023), and names of its settings."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from multiarch.errors import MultiarchError
from multiarch.facts.labels import EKS_CAPACITY_TYPE
from multiarch.nodes.model import BootstrapCase, ClusterFacts, KubeletValue, NodeGroupPlan

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
PLANNED_FLAGS = {"--node-labels": "labels", "--register-with-taints": "taints", "--max-pods": "maxPods"}
"""Flags that the plan sets, each with its key in the stack file."""
_DNS_OFFSET = 10
Config = dict[str, int | str | dict[str, str]]
"""Fields of KubeletConfiguration, as JSON and YAML hold them."""
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=GC)(?=[A-Z])")


def explain_insecure_flag(flag: str) -> str | None:
    """Say what ``flag`` opens, in a clause, or None. Values are read as Go's flag package does.

    Source: Kubernetes, "Kubelet authentication/authorization".
    """
    name, _, value = flag.partition("=")
    on, off = value in {"", *_TRUE}, value in _FALSE
    if name == "--anonymous-auth" and on:
        return "anyone who reaches a node may call its kubelet"
    if name == "--authentication-token-webhook" and off:
        return "the kubelet does not verify bearer tokens"
    if name == "--authorization-mode" and value != "Webhook":
        return "the kubelet allows every request: commands in pods among them"
    if name == "--read-only-port" and value.lstrip("+0"):
        return f"port {value} of each node shows its pods to anyone"
    return None


def build_config(config: Sequence[tuple[str, KubeletValue]]) -> Config:
    """Return a plan's settings as JSON and YAML hold them."""
    return {key: dict(value) if isinstance(value, tuple) else value for key, value in config}


def name_setting(field: str) -> str:
    """Return a field of KubeletConfiguration as Bottlerocket writes it: ``image-gc-high-threshold-percent``."""
    return _WORDS.sub("-", field).lower()


def list_labels(group: NodeGroupPlan) -> dict[str, str]:
    """Return the labels that the kubelet registers with, sorted.

    With ``ami.id`` a managed group's have EKS's ``capacityType``, so that pods which select it need not wait for EKS.
    """
    own = {EKS_CAPACITY_TYPE: group.capacity_type.eks} if group.case is BootstrapCase.CUSTOM_AMI else {}
    return dict(sorted({**own, **dict(group.labels)}.items()))


def build_label_flags(group: NodeGroupPlan) -> tuple[str, ...]:
    """Return ``--node-labels`` and ``--register-with-taints``, sorted; each only if not empty."""
    flags = []
    if labels := list_labels(group):
        flags.append("--node-labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    if group.taints:
        flags.append("--register-with-taints=" + ",".join(map(str, sorted(group.taints))))
    return tuple(flags)


def get_cluster_dns_ip(cluster: ClusterFacts) -> str:
    """Return the cluster's DNS address: the tenth of the Services' CIDR block, ``10.100.0.10`` for ``10.100.0.0/16``.

    Raises MultiarchError when ``service_cidr`` is not a CIDR block with that address.
    Source: EKS user guide, "Customize managed nodes with launch templates", ``--dns-cluster-ip``.
    """
    try:
        return str(ipaddress.ip_network(cluster.service_cidr)[_DNS_OFFSET])
    except (ValueError, IndexError) as error:
        message = f"{cluster.service_cidr!r} is no CIDR block of Services with a DNS address: {error}."
        raise MultiarchError(message) from error
