"""The text of a stack file for a cluster that exists: each value with a comment that says where it is from."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from multiarch.existing.counterparts import Counterpart
from multiarch.existing.proposal import Proposal
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import names_architecture
from multiarch.nodes.model import CapacityType, NodeGroupKind
from multiarch.observed.eks.model import ObservedPool
from multiarch.stack.engine_config import format_scalar
from multiarch.stack.new_file import format_names

_WIDTH = 118
_BULLET: Mapping[str, Any] = {
    "initial_indent": "# - ",
    "subsequent_indent": "#   ",
    "break_long_words": False,
    "break_on_hyphens": False,
}
_DISK = 50
"""The default of ``diskSize``."""
_SMALLEST_DISK = 20
_POD_IDENTITY = "eks-pod-identity-agent"


def write_stack_file(found: Proposal, team: str, env: str, *, owner: str, cost_center: str) -> str:
    """Return a stack file: the same bytes for the same cluster."""
    head = _head(found, team, env, owner, cost_center)
    return "\n".join((*head, *_cluster(found), *_groups(found), *_scaler(found), ""))


def list_not_taken_over(found: Proposal) -> Iterator[str]:
    """Yield a sentence for everything of the cluster that the stack does not have, with the reason."""
    yield from (f"No arm64 counterpart of {each.what}: {each.reason}." for each in found.skipped)
    for each in found.counterparts:
        if each.notes:
            yield f"Not taken over from {each.group.short_name} to {each.name}: {'; '.join(each.notes)}."
    for pool in found.pools:
        if rest := [*([f"requirements on {', '.join(pool.others)}"] if pool.others else []), *pool.settings]:
            yield f"Not taken over from the NodePool {pool.name}: {'; '.join(rest)}."
    yield from found.notes


def _head(found: Proposal, team: str, env: str, owner: str, cost_center: str) -> Iterator[str]:
    cluster, name = found.cluster, f"{team}-{env}"
    yield "# yaml-language-server: $schema=../stack.schema.json"
    yield "#"
    yield f"# The stack {name}: arm64 nodes for the EKS cluster {cluster.name}, which it does not change otherwise."
    yield f"#   multiarch stack check {name}      is it valid?"
    yield f"#   multiarch stack render {name}     which resources will Pulumi declare?"
    yield f"#   multiarch stack pin {name}        pin images, and read the cluster again"
    yield "#"
    yield "# What the cluster has and this stack does not:"
    for sentence in list_not_taken_over(found):
        yield from textwrap.wrap(sentence, _WIDTH, **_BULLET)
    yield format_names(team, env, region=cluster.region, owner=owner, cost_center=cost_center)


def _cluster(found: Proposal) -> Iterator[str]:
    cluster, inside = found.cluster, found.cluster.inside
    cni = "of the add-on vpc-cni"
    prefixes, custom = cluster.prefix_delegation, cluster.custom_networking
    # Also true where the variable was set by hand, of which the add-on says nothing.
    if inside is not None and inside.prefix_delegation is not None:
        prefixes, cni = inside.prefix_delegation, "of the DaemonSet aws-node"
        custom = inside.custom_networking
    yield "  # From `aws eks describe-cluster`. Keep the quotes: without them 1.30 is the number 1.3."
    yield f"  multiarch-eks:kubernetesVersion: {_text(cluster.version)}"
    yield "  multiarch-eks:cluster:"
    yield f"    existing: {_text(cluster.name)}"
    yield f"    # {found.subnet_source[0].upper()}{found.subnet_source[1:]}; the numbers are of free addresses."
    yield "    subnets:"
    for zone in found.zones:
        here = [each for each in found.subnets if each.zone == zone]
        yield f"      {zone}: [{', '.join(each.id for each in here)}] # {', '.join(str(each.free) for each in here)}"
    if cluster.node_security_groups:
        yield "    # What all of its nodes have; without them pods on new nodes do not reach the others."
        yield f"    securityGroups: [{', '.join(cluster.node_security_groups)}]"
    yield f"    authenticationMode: {cluster.authentication_mode} # accessConfig of the cluster"
    yield f"    ipFamily: {cluster.ip_family} # kubernetesNetworkConfig of the cluster"
    yield f"    prefixDelegation: {format_scalar(bool(prefixes))} # {cni if prefixes is not None else 'unknown'}"
    if custom:
        yield f"    customNetworking: true # {cni}"
    agent = format_scalar(cluster.pod_identity_agent)
    yield f"    podIdentityAgent: {agent} # of the add-on {_POD_IDENTITY}, or of Auto Mode"
    yield ""
    yield f"  # {found.taint_source[0].upper()}{found.taint_source[1:]}."
    yield f"  multiarch-eks:arm64Taint: {_text(str(found.taint))}"
    yield ""


def _groups(found: Proposal) -> Iterator[str]:
    if not found.counterparts:
        yield "  multiarch-eks:nodeGroups: {}"
        return
    yield "  multiarch-eks:nodeGroups:"
    for each in found.counterparts:
        yield from (f"    {line}" for line in _group(each, found.autoscaler.use))


def _group(each: Counterpart, use: str) -> Iterator[str]:
    group = each.group
    yield f"# For {group.name}: {', '.join(group.instance_types)}, {group.kind}."
    yield f"{each.name}:"
    if each.kind is NodeGroupKind.SELF_MANAGED:
        why = "as that group" if group.kind is each.kind else "EKS rejects such a taint for managed groups"
        yield f"  kind: self-managed # {why}"
    yield f"  instanceTypes: [{', '.join(each.types)}] # the same vCPUs and memory, offered in its zones"
    if group.capacity_type is CapacityType.SPOT:
        yield "  capacityType: spot"
    scaled = use == "cluster-autoscaler"
    yield f"  minSize: {'0 # the cluster autoscaler adds nodes' if scaled else '1 # nothing else adds its first node'}"
    yield f"  maxSize: {max(group.sizes[2], 1)} # as that group"
    if group.family and group.family is not AmiFamily.AL2023:
        yield f"  amiFamily: {group.family}"
    if each.ami_type:
        yield f"  amiType: {each.ami_type}"
    yield from (f"  {line}" for line in _node_settings(each))


def _node_settings(each: Counterpart) -> Iterator[str]:
    group, settings = each.group, each.group.settings
    disk = max(settings.disk_size or _SMALLEST_DISK, _SMALLEST_DISK)
    if disk != _DISK:
        yield f"diskSize: {disk} # GiB, {'as that group' if settings.disk_size == disk else 'the size of the image'}"
    if settings.hop_limit > 1:
        yield f"imdsHopLimit: {settings.hop_limit} # as that group: pods can use the role of their node"
    if each.labels:
        yield f"labels: {_mapping(each.labels)}"
    if each.taints:
        yield f"taints: [{', '.join(_text(str(taint)) for taint in each.taints)}]"
    if each.zones:
        yield f"zones: [{', '.join(each.zones)}] # those of its subnets"
    if (update := dict(group.update)) and update != {"maxUnavailable": 1}:
        yield f"updateStrategy: {{{', '.join(f'{key}: {value}' for key, value in sorted(update.items()))}}}"


def _scaler(found: Proposal) -> Iterator[str]:
    scaler = found.autoscaler
    yield ""
    yield f"  # Found by {scaler.source}." if scaler.use != "none" else "  # No autoscaler was found."
    yield "  multiarch-eks:autoscaling:"
    yield f"    use: {scaler.use}"
    if scaler.use == "cluster-autoscaler":
        yield "    clusterAutoscaler:"
        yield "      installed: true # `multiarch verify` names the flags that it needs for the preference"
        if scaler.namespace not in ("", "kube-system"):
            yield f"      namespace: {scaler.namespace} # its flag --namespace"
    elif found.has_pools:
        yield "    karpenter:" if scaler.use == "karpenter" else "    autoMode:"
        if scaler.use == "karpenter":
            yield "      installed: true"
        if scaler.role:
            yield f"      nodeRole: {_text(scaler.role)} # of the nodes that it has"
        if scaler.isolated:
            yield "      isolatedVPC: true # its EC2NodeClasses have an instanceProfile, and no role"
        yield "      nodePools:"
        if not found.pools:
            yield "        # The cluster's own NodePools stay as they are."
            yield "        # Add spot where your pods may be interrupted."
            yield "        general: {architectures: [arm64], capacityTypes: [on-demand]}"
        for pool in found.pools:
            yield from (f"        {line}" for line in _pool(pool))


def _pool(pool: ObservedPool) -> Iterator[str]:
    yield f"# For the NodePool {pool.name}, which allows amd64 only."
    yield f"{pool.name}:"
    yield "  architectures: [arm64]"
    yield f"  capacityTypes: [{', '.join(pool.capacity_types)}]"
    if labels := {key: value for key, value in pool.labels.items() if not names_architecture(value)}:
        yield f"  labels: {_mapping(labels)}"
    if taints := [each for each in pool.taints if not names_architecture(each.value)]:
        yield f"  taints: [{', '.join(_text(str(taint)) for taint in taints)}]"
    if pool.cpu_limit:
        yield f"  cpuLimit: {pool.cpu_limit} # as that NodePool"
    if pool.memory_limit:
        yield f"  memoryLimit: {_text(pool.memory_limit)} # as that NodePool"


def _mapping(values: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{_text(key)}: {_text(value)}' for key, value in values.items())}}}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
