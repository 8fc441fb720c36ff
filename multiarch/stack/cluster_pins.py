"""Pinning the values of an existing cluster: what a plan must know without AWS. The clients are the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from multiarch.errors import MultiarchError
from multiarch.plurals import format_count
from multiarch.schema.cluster import ExistingCluster
from multiarch.stack.eks_cluster import (
    CUSTOM_NETWORKING,
    PREFIX_DELEGATION,
    EksCluster,
    find_security_groups,
    read_nodes,
    read_private_subnets,
    read_subnets,
    require_eks_cluster,
)
from multiarch.stack.engine_config import format_scalar
from multiarch.stack.load import Stack
from multiarch.stack.pin import Kept, Pin, PinClients, Pins, PinValue

_FIELDS = {
    "authenticationMode": "authentication_mode",
    "ipFamily": "ip_family",
    "prefixDelegation": "prefix_delegation",
    "customNetworking": "custom_networking",
    "podIdentityAgent": "pod_identity_agent",
}
"""Keys below ``cluster``, and the attributes that hold their values, of the section and of the cluster."""
_VARIABLES = {"prefixDelegation": PREFIX_DELEGATION, "customNetworking": CUSTOM_NETWORKING}


def pin_cluster(stack: Stack, settings: ExistingCluster, clients: PinClients) -> tuple[Pins, Stack]:
    """Read the cluster, and return what to write, and the stack as if that were written.

    The cluster's own values are always taken; subnets that are written stay. Raises MultiarchError for a cluster that
    does not exist or takes no nodes; botocore's own errors pass through.
    """
    cluster = require_eks_cluster(clients.eks, settings.existing)
    if not cluster.is_usable:
        message, hint = cluster.explain_status(stack.region)
        raise MultiarchError(f"The {message}", hint=hint)
    found = {key: getattr(cluster, name) for key, name in _FIELDS.items()}
    written = stack.spec.written
    rows: list[Pin | Kept] = []
    version = stack.spec.kubernetes_version if "kubernetesVersion" in written else None
    rows.append(_compare("kubernetesVersion", version, cluster.version))
    for key, name in _FIELDS.items():
        old = getattr(settings, name) if key in settings.written else None
        if found[key] is None and key == "customNetworking" and old is None:
            continue  # most clusters have none, and nothing says so
        if found[key] is None:
            reason = f"no configuration of an EKS add-on says it: write {_VARIABLES[key]} of the DaemonSet aws-node"
            rows.append(Kept(f"cluster.{key}", str(format_scalar(old)), reason))
        else:
            rows.append(_compare(f"cluster.{key}", old, found[key]))
    subnets, of_subnets = _find_subnets(settings, cluster, clients)
    groups, of_groups = _find_security_groups(settings, cluster, clients)
    rows += [*of_subnets, *of_groups]
    update = {_FIELDS[key]: value for key, value in found.items() if value is not None}
    section = settings.model_copy(update={**update, "subnets": subnets, "security_groups": list(groups)})
    spec = stack.spec.model_copy(update={"kubernetes_version": cluster.version, "cluster": section})
    return Pins.sort(rows), replace(stack, spec=spec)


def _find_security_groups(
    settings: ExistingCluster, cluster: EksCluster, clients: PinClients
) -> tuple[Sequence[str], list[Pin | Kept]]:
    key = "cluster.securityGroups"
    if settings.security_groups:
        return settings.security_groups, [Kept(key, ", ".join(settings.security_groups), "written already")]
    found = find_security_groups(cluster, read_nodes(clients.ec2, cluster.name))
    if found is None:
        reason = "the cluster's nodes have no security group in common: write those of the nodes to be reached"
        return (), [Kept(key, "", reason)]
    return found, [Pin(key, None, found, "those of the cluster's nodes")] if found else []


def _compare(key: str, old: PinValue | None, new: PinValue) -> Pin | Kept:
    if old != new:
        return Pin(key, old, new)
    return Kept(key, str(format_scalar(new)), "is the cluster's")


def _find_subnets(
    settings: ExistingCluster, cluster: EksCluster, clients: PinClients
) -> tuple[Mapping[str, list[str]], list[Pin | Kept]]:
    if settings.subnets:
        count = format_count(sum(map(len, settings.subnets.values())), "subnet")
        return settings.subnets, [Kept("cluster.subnets", count, "written already")]
    found = read_private_subnets(clients.ec2, cluster.vpc_id, read_subnets(clients.ec2, cluster.subnet_ids))
    if not found:
        raise MultiarchError(
            f"None of the subnets of the cluster {cluster.name} has a route to the internet that does not lead through "
            "an internet gateway: which of the VPC's subnets are private can't be told.",
            hint="Write cluster.subnets: the subnets of new nodes, as lists of IDs by zone.",
        )
    pins: list[Pin | Kept] = [Pin(f"cluster.subnets.{zone}", None, ids) for zone, ids in found.items()]
    return {zone: list(ids) for zone, ids in found.items()}, pins
