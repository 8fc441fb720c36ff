"""From the settings under ``autoscaling`` to the specification that the plan is derived from."""

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
from multiarch.stack.schema.autoscaling import Autoscaling, ClusterAutoscaler, Karpenter, NodePool

DEFAULT_POOL = "general"


def autoscaling_spec(spec: Autoscaling) -> AutoscalingSpec:
    """Return the specification; without any pool there is one, of defaults alone."""
    fields = type(spec).model_fields
    return AutoscalingSpec(
        use=Autoscaler(spec.use),
        migrate_from=Autoscaler(spec.migrate_from) if spec.migrate_from else None,
        prefer=Architecture(spec.prefer),
        order=tuple(parse_capacity(kind) for kind in spec.order) if spec.order else None,
        written=frozenset(fields[name].alias or name for name in spec.model_fields_set),
        cluster_autoscaler=_cluster_autoscaler(spec.cluster_autoscaler),
        karpenter=_karpenter(spec.karpenter),
    )


def _cluster_autoscaler(spec: ClusterAutoscaler) -> ClusterAutoscalerSpec:
    return ClusterAutoscalerSpec(
        priorities=tuple(sorted(spec.priorities.items())),
        scale_down=ScaleDown(
            unneeded_minutes=spec.scale_down_unneeded_minutes,
            delay_after_add_minutes=spec.scale_down_delay_after_add_minutes,
            utilization_percent=spec.scale_down_utilization_percent,
        ),
        service_monitor=spec.service_monitor,
    )


def _karpenter(spec: Karpenter) -> KarpenterSpec:
    pools = spec.node_pools or {DEFAULT_POOL: NodePool()}
    return KarpenterSpec(
        version=spec.version,
        controller_group=spec.controller_group,
        ami_alias=spec.ami_alias,
        disk_size=spec.disk_size,
        imds_hop_limit=spec.imds_hop_limit,
        service_monitor=spec.service_monitor,
        pools=tuple(_pool(name, pool) for name, pool in sorted(pools.items())),
    )


def _pool(name: str, spec: NodePool) -> PoolSpec:
    fields = type(spec).model_fields
    return PoolSpec(
        path=(*ROOT, "karpenter", "nodePools", name),
        name=name,
        architectures=tuple(dict.fromkeys(Architecture(each) for each in spec.architectures)),
        capacity_types=tuple(dict.fromkeys(CapacityType(each) for each in spec.capacity_types)),
        multi_architecture=spec.multi_architecture,
        selected_by=frozenset(fields[key].alias or key for key in spec.model_fields_set if getattr(spec, key)),
        categories=tuple(spec.categories),
        families=tuple(spec.families),
        instance_types=tuple(spec.instance_types),
        min_generation=spec.min_generation,
        sizes=tuple(spec.sizes),
        zones=tuple(spec.zones),
        labels=tuple(sorted(spec.labels.items())),
        taints=tuple(spec.taints),
        arm64_taint=spec.arm64_taint,
        weight=spec.weight,
        replicas=spec.replicas,
        cpu_limit=spec.cpu_limit,
        memory_limit=spec.memory_limit,
        budget=spec.budget,
        quiet_hours=(spec.quiet_hours.schedule, spec.quiet_hours.duration) if spec.quiet_hours else None,
        consolidation=spec.consolidation,
        consolidate_after=spec.consolidate_after,
        expire_after=spec.expire_after,
        termination_grace_period=spec.termination_grace_period,
    )
