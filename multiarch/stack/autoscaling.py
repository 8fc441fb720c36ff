"""From the words under ``autoscaling`` to the specification that the plan is derived from."""

from __future__ import annotations

from multiarch.autoscaling.model import Autoscaler, ScaleDown
from multiarch.autoscaling.order import parse_capacity
from multiarch.autoscaling.spec import (
    ROOT,
    AutoscalingSpec,
    ClusterAutoscalerSpec,
    KarpenterSpec,
    PoolSpec,
)
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.stack.schema.autoscaling import Autoscaling, ClusterAutoscaler, Karpenter, NodePoolWords

DEFAULT_POOL = "general"


def autoscaling_spec(words: Autoscaling) -> AutoscalingSpec:
    """Return the specification; without any pool there is one, of defaults alone."""
    fields = type(words).model_fields
    return AutoscalingSpec(
        use=Autoscaler(words.use),
        migrate_from=Autoscaler(words.migrate_from) if words.migrate_from else None,
        prefer=Architecture(words.prefer),
        order=tuple(parse_capacity(kind) for kind in words.order) if words.order else None,
        written=frozenset(fields[name].alias or name for name in words.model_fields_set),
        cluster_autoscaler=_cluster_autoscaler(words.cluster_autoscaler),
        karpenter=_karpenter(words.karpenter),
    )


def _cluster_autoscaler(words: ClusterAutoscaler) -> ClusterAutoscalerSpec:
    return ClusterAutoscalerSpec(
        priorities=tuple(sorted(words.priorities.items())),
        scale_down=ScaleDown(
            unneeded_minutes=words.scale_down_unneeded_minutes,
            delay_after_add_minutes=words.scale_down_delay_after_add_minutes,
            utilization_percent=words.scale_down_utilization_percent,
        ),
        service_monitor=words.service_monitor,
    )


def _karpenter(words: Karpenter) -> KarpenterSpec:
    pools = words.node_pools or {DEFAULT_POOL: NodePoolWords()}
    return KarpenterSpec(
        version=words.version,
        controller_group=words.controller_group,
        ami_alias=words.ami_alias,
        disk_size=words.disk_size,
        imds_hop_limit=words.imds_hop_limit,
        service_monitor=words.service_monitor,
        pools=tuple(_pool(name, pool) for name, pool in sorted(pools.items())),
    )


def _pool(name: str, words: NodePoolWords) -> PoolSpec:
    fields = type(words).model_fields
    return PoolSpec(
        path=(*ROOT, "karpenter", "nodePools", name),
        name=name,
        architectures=tuple(dict.fromkeys(Architecture(each) for each in words.architectures)),
        capacity_types=tuple(dict.fromkeys(CapacityType(each) for each in words.capacity_types)),
        multi_architecture=words.multi_architecture,
        selected_by=frozenset(fields[key].alias or key for key in words.model_fields_set if getattr(words, key)),
        categories=tuple(words.categories),
        families=tuple(words.families),
        instance_types=tuple(words.instance_types),
        min_generation=words.min_generation,
        sizes=tuple(words.sizes),
        zones=tuple(words.zones),
        labels=tuple(sorted(words.labels.items())),
        taints=tuple(words.taints),
        arm64_taint=words.arm64_taint,
        weight=words.weight,
        replicas=words.replicas,
        cpu_limit=words.cpu_limit,
        memory_limit=words.memory_limit,
        budget=words.budget,
        quiet_hours=(words.quiet_hours.schedule, words.quiet_hours.duration) if words.quiet_hours else None,
        consolidation=words.consolidation,
        consolidate_after=words.consolidate_after,
        expire_after=words.expire_after,
        termination_grace_period=words.termination_grace_period,
    )
