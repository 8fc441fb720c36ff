"""What the API server says of a cluster's autoscalers, NodePools and taints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from multiarch.autoscaling.owner_flags import list_arguments, read_namespace
from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import DEPLOYMENTS
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.quantities import parse_quantity
from multiarch.manifests.selectors import Operator
from multiarch.manifests.values import to_mapping
from multiarch.nodes.model import CapacityType
from multiarch.observed.eks.model import InCluster, ObservedPool
from multiarch.observed.nodes import read_nodes
from multiarch.observed.resources.nodes import find_pool_architectures, read_taints
from multiarch.stack.eks_cluster import CUSTOM_NETWORKING, PREFIX_DELEGATION

CLUSTER_AUTOSCALER, _KARPENTER = "cluster-autoscaler", "karpenter/controller"
"""The ends of the names of images."""
_READ = frozenset((keys.ARCHITECTURE, keys.KARPENTER_CAPACITY_TYPE, keys.OPERATING_SYSTEM))
_AUTO_MODE_GROUP = "eks.amazonaws.com"
_BUDGETS, _CONSOLIDATION, _AUTO_MODE_GRACE = [{"nodes": "10%"}], "WhenEmptyOrUnderutilized", "24h0m0s"
"""What a stack writes, or leaves to the API server."""


def read_inside(
    context: str,
    *,
    deployments: Sequence[LoadedObject],
    autoscalers: Iterable[Mapping[str, Any]],
    nodes: Iterable[LoadedObject],
    pools: Iterable[Mapping[str, Any]],
    classes: Iterable[Mapping[str, Any]],
    vpc_cni: Mapping[str, Any] | None,
) -> InCluster:
    """Return what objects say. Raises MultiarchError for a broken Node.

    ``autoscalers`` are the Deployments of the cluster autoscaler, whole; ``vpc_cni`` is the DaemonSet ``aws-node``.
    """
    namespaces = [read_namespace(words) for each in autoscalers for words in list_arguments(each)]
    specs = [to_mapping(each.get("spec")) for each in classes]
    roles = {str(role) for each in specs if (role := each.get("role"))}
    taints: dict[Architecture, dict[Taint, str]] = {}
    for node in read_nodes(nodes)[0]:
        for taint in node.taints:
            taints.setdefault(Architecture(node.architecture), {}).setdefault(taint, node.name)
    return InCluster(
        context=context,
        cluster_autoscalers=_list_running(deployments, CLUSTER_AUTOSCALER),
        karpenters=_list_running(deployments, _KARPENTER),
        karpenter_roles=tuple(sorted(roles)),
        pools=tuple(sorted((read_pool(each) for each in pools), key=lambda pool: pool.name)),
        taints=taints,
        prefix_delegation=_read_setting(vpc_cni, PREFIX_DELEGATION),
        custom_networking=_read_setting(vpc_cni, CUSTOM_NETWORKING),
        priorities_namespace=namespaces[0] if namespaces else "",
        with_profiles=not roles and any("instanceProfile" in each for each in specs),
    )


def read_running(cluster: KubernetesCluster, deployments: Iterable[LoadedObject], image: str) -> list[dict[str, Any]]:
    """Read the Deployments that run an image of this name, whole: a list comes without arguments of containers."""
    resource = DEPLOYMENTS
    found = (cluster.get(resource, *each.split("/")) for each in _list_running(deployments, image))
    return [each for each in found if each]


def _list_running(deployments: Iterable[LoadedObject], image: str) -> tuple[str, ...]:
    """Return the Deployments with replicas that run an image of this name, as ``NAMESPACE/NAME``, sorted."""
    found = (each.value["metadata"] for each in deployments if _runs(each.value, image))
    return tuple(sorted(f"{each.get('namespace') or 'default'}/{each['name']}" for each in found))


def _runs(deployment: Mapping[str, Any], image: str) -> bool:
    """Return whether a Deployment with replicas runs an image of this name, from any registry."""
    spec = to_mapping(deployment.get("spec"))
    template = to_mapping(to_mapping(spec.get("template")).get("spec"))
    images = [str(to_mapping(each).get("image", "")) for each in template.get("containers") or ()]
    names = [each.partition("@")[0].rpartition("/") for each in images]
    paths = [f"{folder}/{name.partition(':')[0]}" for folder, _, name in names]
    return spec.get("replicas", 1) != 0 and any(path.endswith(f"/{image}") for path in paths)


def read_pool(pool: Mapping[str, Any]) -> ObservedPool:
    """Return a NodePool of Karpenter or of EKS Auto Mode."""
    spec = to_mapping(pool.get("spec"))
    template = to_mapping(spec.get("template"))
    inner = to_mapping(template.get("spec"))
    requirements: Sequence[Mapping[str, Any]] = inner.get("requirements") or ()
    limits = to_mapping(spec.get("limits"))
    auto_mode = to_mapping(inner.get("nodeClassRef")).get("group") == _AUTO_MODE_GROUP
    return ObservedPool(
        name=str(to_mapping(pool.get("metadata")).get("name")),
        architectures=tuple(sorted(find_pool_architectures(pool))),
        capacity_types=_read_capacity_types(requirements),
        labels=dict(sorted(to_mapping(to_mapping(template.get("metadata")).get("labels")).items())),
        taints=read_taints(inner.get("taints") or ()),
        cpu_limit=int(parse_quantity(limits["cpu"])) or None if "cpu" in limits else None,
        auto_mode=auto_mode,
        others=tuple(sorted({str(each.get("key")) for each in requirements} - _READ)),
        weight=int(spec.get("weight") or 0),
        memory_limit=str(limits.get("memory", "")),
        settings=tuple(_list_settings(spec, inner, auto_mode=auto_mode)),
    )


def _read_capacity_types(requirements: Sequence[Mapping[str, Any]]) -> tuple[CapacityType, ...]:
    """Return what a NodePool may buy; without a requirement Karpenter buys on-demand."""
    written = [each for each in requirements if each.get("key") == keys.KARPENTER_CAPACITY_TYPE]
    # Reserved capacity is not taken over: its reservations are those of the node class.
    allowed = {CapacityType.ON_DEMAND, CapacityType.SPOT} if written else {CapacityType.ON_DEMAND}
    for each in written:
        values = set(each.get("values") or ())
        if each.get("operator") == Operator.IN:
            allowed &= values
        elif each.get("operator") == Operator.NOT_IN:
            allowed -= values
    return tuple(each for each in CapacityType if each in allowed) or (CapacityType.ON_DEMAND,)


def _list_settings(spec: Mapping[str, Any], inner: Mapping[str, Any], *, auto_mode: bool) -> Iterator[str]:
    """Yield fields that are not those which a stack writes by itself."""
    disruption = to_mapping(spec.get("disruption"))
    lifetime, grace = (("336h", "336h0m0s"), _AUTO_MODE_GRACE) if auto_mode else (("720h", "720h0m0s"), None)
    if disruption.get("budgets", _BUDGETS) != _BUDGETS:
        yield "disruption.budgets"
    if disruption.get("consolidationPolicy", _CONSOLIDATION) != _CONSOLIDATION:
        yield "disruption.consolidationPolicy"
    if inner.get("expireAfter", lifetime[0]) not in lifetime:
        yield "expireAfter"
    if inner.get("startupTaints"):
        yield "startupTaints"
    if inner.get("terminationGracePeriod", grace) != grace:
        yield "terminationGracePeriod"
    if not auto_mode:
        yield "image, disks and user data of its EC2NodeClass"


def _read_setting(vpc_cni: Mapping[str, Any] | None, variable: str) -> bool | None:
    if vpc_cni is None:
        return None
    containers = vpc_cni["spec"]["template"]["spec"]["containers"]
    values = [each.get("value") for one in containers for each in one.get("env") or () if each["name"] == variable]
    return "true" in values
