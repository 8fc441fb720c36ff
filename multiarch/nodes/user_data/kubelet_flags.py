"""What the kubelet is told on its command line, for the families that have one: AL2 and AL2023."""

from __future__ import annotations

import ipaddress
import re

from multiarch.facts.limits import NODE_REPORTED_LABELS, why_not_node_label
from multiarch.nodes.model import ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data.errors import UserDataError

_FLAG = re.compile(r"--[a-z][a-z0-9-]*(=.*)?", re.DOTALL)
# systemd splits the line at white space and reads quotes and backslashes in a way of its own.
_UNSAFE = re.compile(r"[^\x21-\x7e]|[\"'\\]")
_OWN = {"--node-labels": "labels", "--register-with-taints": "taints", "--max-pods": "maxPods"}
_DNS_OFFSET = 10


def restricted_label(key: str) -> str | None:
    """Why a group may not carry a label with this key, or None if it may.

    The kubelet does not start with a key of Kubernetes' own domains that is not on its list, and EKS refuses it. The
    keys on that list are what the kubelet and the cloud provider report about the node (architecture, zone, instance
    type …): the flag would overrule the report, and a node could claim an architecture it has not. For taints neither
    holds. Sources: kubelet, ``pkg/apis/well_known_labels.go`` and ``ValidateKubeletFlags``; facts in ``limits``.
    """
    if key in NODE_REPORTED_LABELS:
        return f"{key!r} is what the node reports about itself, and a label would overrule it"
    return why_not_node_label(key)


def kubelet_flag_fault(flag: str) -> str | None:
    """Why ``flag`` cannot be one of ``kubeletExtraArgs``, or None if it can.

    Flags travel through an environment variable of a systemd unit, on AL2 (``bootstrap.sh``) and AL2023 (nodeadm's
    ``internal/kubelet/environment.go``) alike: white space ends a flag there, quotes and backslashes are read.
    """
    if not _FLAG.fullmatch(flag):
        return f"{flag!r} is no flag: write --name=value"
    if found := _UNSAFE.search(flag):
        return f"{flag!r} holds {found.group()!r}, which systemd does not hand on to the kubelet"
    name = flag.partition("=")[0]
    if name in _OWN:
        return f"{name} is written by the plan: use the key {_OWN[name]}"
    return None


def label_and_taint_flags(group: NodeGroupPlan) -> tuple[str, ...]:
    """``--node-labels`` and ``--register-with-taints``, each only when there are some, sorted."""
    flags = []
    if group.labels:
        flags.append("--node-labels=" + ",".join(f"{key}={value}" for key, value in sorted(group.labels)))
    if group.taints:
        flags.append("--register-with-taints=" + ",".join(map(str, sorted(group.taints))))
    return tuple(flags)


def extra_flags(group: NodeGroupPlan) -> tuple[str, ...]:
    """The team's own flags in their order. Raises UserDataError for one with a :func:`kubelet_flag_fault`."""
    for flag in group.kubelet_extra_args:
        if fault := kubelet_flag_fault(flag):
            raise UserDataError(group, f"can't get its kubeletExtraArgs: {fault}.")
    return group.kubelet_extra_args


def cluster_dns_ip(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """The address of the cluster's DNS: the tenth of the Services' range, ``10.100.0.10`` for ``10.100.0.0/16``.

    Raises UserDataError when ``service_cidr`` is no IPv4 range with that address.
    Source: EKS user guide, "Customize managed nodes with launch templates", ``--dns-cluster-ip``.
    """
    try:
        return str(ipaddress.IPv4Network(cluster.service_cidr)[_DNS_OFFSET])
    except (ValueError, IndexError) as error:
        message = f"can't find the cluster's DNS: {cluster.service_cidr!r} is no IPv4 range of Services ({error})."
        raise UserDataError(group, message) from error
