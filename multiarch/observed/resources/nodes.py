"""Node groups, Auto Scaling groups and NodePools as a program declares them: instance types, architectures, taints.

These functions raise UndecidedError for a value that is known only after the update.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from multiarch.autoscaling.model import Requirement
from multiarch.errors import UnknownFactError
from multiarch.facts.ami_families import get_ami_type
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.labels import CPU_MANUFACTURERS
from multiarch.facts.taints import Effect, Taint
from multiarch.manifests.selectors import Operator
from multiarch.manifests.values import ManifestError, to_mapping
from multiarch.nodes.model import CapacityType, Distribution
from multiarch.observed.resources.paths import MISSING, get_value_at
from multiarch.observed.resources.properties import (
    Properties,
    get_integer_at,
    get_string_at,
    is_unknown,
    list_entries,
    require_items,
    require_text,
    require_value,
)
from multiarch.scheduling.architectures import list_allowed_architectures

MANAGED_GROUP = "aws:eks/nodeGroup:NodeGroup"
AUTO_SCALING_GROUP = "aws:autoscaling/group:Group"
AUTO_SCALING_TAG = "aws:autoscaling/tag:Tag"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
LAUNCH_CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
INSTANCE = "aws:ec2/instance:Instance"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
AUTO_MODE_CLASS = "kubernetes:eks.amazonaws.com/v1:NodeClass"
"""The node class of EKS Auto Mode: image, metadata options and encryption of its nodes are AWS's."""
_POOL_REQUIREMENTS = "spec.template.spec.requirements"
POOL_TAINTS = "spec.template.spec.taints"
_POOL_LABELS = "spec.template.metadata.labels"
_CUSTOM_IMAGE = "CUSTOM"
_MANUFACTURERS = frozenset({"amd", "aws", "intel"})
"""The values of a label that every node of Karpenter's has."""
_EFFECTS = {each.name: each for each in Effect} | {str(each): each for each in Effect}


def list_instance_types(kind: str, properties: Properties) -> tuple[str, ...]:
    """Return the instance types that a node group (``MANAGED_GROUP``) or an Auto Scaling group itself names."""
    if kind == MANAGED_GROUP:
        return tuple(map(str, require_items(properties, "instanceTypes")))
    overrides = require_items(properties, "mixedInstancesPolicy.launchTemplate.overrides")
    return tuple(name for each in overrides if (name := require_text(each, "instanceType")))


def get_size_path(kind: str, name: str) -> str:
    """Return where a node group or an Auto Scaling group has its ``minSize``, ``maxSize`` or ``desiredSize``."""
    if kind == MANAGED_GROUP:
        return f"scalingConfig.{name}"
    return "desiredCapacity" if name == "desiredSize" else name


def read_distribution(kind: str, properties: Properties) -> Distribution | None:
    """Return which nodes of a group are on-demand, the others are spot; None if that is known only after the update."""
    if kind == MANAGED_GROUP:
        path, other = "capacityType", CapacityType.ON_DEMAND.eks
        value = other if get_value_at(properties, path) in (None, MISSING) else get_string_at(properties, path)
        return {other: Distribution(0, 100, ""), CapacityType.SPOT.eks: Distribution(0, 0, "")}.get(value or "")
    root = "mixedInstancesPolicy.instancesDistribution"
    if is_unknown(properties, root):
        return None
    share = get_integer_at(properties, f"{root}.onDemandPercentageAboveBaseCapacity")
    base = get_integer_at(properties, f"{root}.onDemandBaseCapacity")
    return Distribution(base or 0, 100 if share is None else share, "")


def find_architectures(instance_types: Iterable[str], image: str = "") -> frozenset[Architecture]:
    """Return the architectures of the instance types that are known, or else that of the amiType ``image``."""
    found = set()
    for name in instance_types:
        try:
            found.add(get_instance_type(name).architecture)
        except UnknownFactError:
            continue
    if found or image in {"", _CUSTOM_IMAGE}:
        return frozenset(found)
    try:
        architecture = get_ami_type(image).architecture
    except UnknownFactError:
        return frozenset()
    return frozenset({architecture}) if architecture else frozenset()


def list_pool_requirements(properties: Properties) -> tuple[Requirement, ...]:
    """Return the requirements of a NodePool, in their order; a value that is not a list counts as its only element."""
    return tuple(
        Requirement(
            require_text(each, "key"), require_text(each, "operator"), tuple(map(str, require_items(each, "values")))
        )
        for each in require_items(properties, _POOL_REQUIREMENTS)
    )


def find_pool_architectures(properties: Properties) -> frozenset[Architecture]:
    """Return the architectures that a NodePool's requirements and labels leave open.

    They are rules on labels of nodes, as in a pod's node affinity: an instance type or a family decides too.
    Source: https://karpenter.sh/docs/concepts/nodepools/
    """
    expressions = []
    for each in list_pool_requirements(properties):
        operator, values = each.operator, list(each.values)
        if each.key in CPU_MANUFACTURERS and operator == Operator.NOT_IN:
            operator, values = Operator.IN, sorted(_MANUFACTURERS.difference(values))
        if operator in set(Operator):
            expressions.append({"key": each.key, "operator": operator, "values": values})
    labels = {str(key): str(value) for key, value in to_mapping(require_value(properties, _POOL_LABELS)).items()}
    term = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    try:
        return list_allowed_architectures({"nodeSelector": labels, **({"affinity": affinity} if expressions else {})})
    except ManifestError:
        return frozenset(Architecture)  # the API server rejects the NodePool


def get_pool_owner(properties: Properties) -> str:
    """Return who adds the nodes of a NodePool: ``Karpenter``, or ``EKS Auto Mode`` for a node class of its own."""
    kind = get_string_at(properties, "spec.template.spec.nodeClassRef.kind")
    return "EKS Auto Mode" if kind == "NodeClass" else "Karpenter"


def get_ami_alias(properties: Properties) -> str | None:
    """Return the alias that an EC2NodeClass takes its image by, such as ``al2023@v20260715``."""
    aliases = (get_string_at(each, "alias") for each in list_entries(properties, "spec.amiSelectorTerms"))
    return next(filter(None, aliases), None)


def read_taints(rows: Iterable[object]) -> tuple[Taint, ...]:
    """Return taints of the EKS API (``NO_SCHEDULE``) or of Kubernetes (``NoSchedule``), sorted."""
    return tuple(
        sorted(
            Taint(str(each.get("key")), str(each.get("value") or ""), _EFFECTS[effect])
            for each in rows
            if isinstance(each, Mapping) and (effect := str(each.get("effect"))) in _EFFECTS
        )
    )
