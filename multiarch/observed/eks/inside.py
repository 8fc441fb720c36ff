"""What the API server says of a cluster's autoscalers, NodePools and taints. Nothing is queried here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.values import to_mapping
from multiarch.nodes.model import CapacityType
from multiarch.observed.eks.model import InCluster, ObservedPool
from multiarch.observed.nodes import read_nodes
from multiarch.observed.resources.nodes import find_pool_architectures, read_taints

_CLUSTER_AUTOSCALER, _KARPENTER = "cluster-autoscaler", "karpenter/controller"
_PREFIXES = "ENABLE_PREFIX_DELEGATION"
_READ = frozenset((keys.ARCHITECTURE, keys.KARPENTER_CAPACITY_TYPE, keys.OPERATING_SYSTEM))
_AUTO_MODE_GROUP = "eks.amazonaws.com"


def read_inside(
    context: str,
    *,
    deployments: Iterable[LoadedObject],
    nodes: Iterable[LoadedObject],
    pools: Iterable[Mapping[str, Any]],
    classes: Iterable[Mapping[str, Any]],
    vpc_cni: Mapping[str, Any] | None,
) -> InCluster:
    """Return what objects say; ``vpc_cni`` is the DaemonSet ``aws-node``. Raises MultiarchError for a broken Node."""
    found: dict[str, list[str]] = {_CLUSTER_AUTOSCALER: [], _KARPENTER: []}
    for each in deployments:
        for name, of_kind in found.items():
            if _runs(each.value, name):
                meta = each.value["metadata"]
                of_kind.append(f"{meta.get('namespace') or 'default'}/{meta['name']}")
    roles = {str(role) for each in classes if (role := to_mapping(each.get("spec")).get("role"))}
    taints: dict[Architecture, dict[Taint, str]] = {}
    for node in read_nodes(nodes)[0]:
        for taint in node.taints:
            taints.setdefault(Architecture(node.architecture), {}).setdefault(taint, node.name)
    return InCluster(
        context=context,
        cluster_autoscalers=tuple(sorted(found[_CLUSTER_AUTOSCALER])),
        karpenters=tuple(sorted(found[_KARPENTER])),
        karpenter_roles=tuple(sorted(roles)),
        pools=tuple(sorted((read_pool(each) for each in pools), key=lambda pool: pool.name)),
        taints=taints,
        prefix_delegation=_read_prefixes(vpc_cni),
    )


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
    bought = next((each for each in requirements if each.get("key") == keys.KARPENTER_CAPACITY_TYPE), {})
    allowed = [each for each in bought.get("values") or ("on-demand",) if each in set(CapacityType)]
    cpu = str(to_mapping(spec.get("limits")).get("cpu", ""))
    return ObservedPool(
        name=str(to_mapping(pool.get("metadata")).get("name")),
        architectures=tuple(sorted(find_pool_architectures(pool))),
        capacity_types=tuple(CapacityType(each) for each in allowed) or (CapacityType.ON_DEMAND,),
        labels=dict(sorted(to_mapping(to_mapping(template.get("metadata")).get("labels")).items())),
        taints=read_taints(inner.get("taints") or ()),
        cpu_limit=int(cpu) if cpu.isdigit() and int(cpu) else None,
        auto_mode=to_mapping(inner.get("nodeClassRef")).get("group") == _AUTO_MODE_GROUP,
        others=tuple(sorted({str(each.get("key")) for each in requirements} - _READ)),
        weight=int(spec.get("weight") or 0),
    )


def _read_prefixes(vpc_cni: Mapping[str, Any] | None) -> bool | None:
    if vpc_cni is None:
        return None
    containers = vpc_cni["spec"]["template"]["spec"]["containers"]
    values = [each.get("value") for one in containers for each in one.get("env") or () if each["name"] == _PREFIXES]
    return "true" in values
