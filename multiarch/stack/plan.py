"""From a stack to its plan: the one place where a stack's settings become what is declared."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.autoscaling.plan import plan_autoscaling
from multiarch.autoscaling.spec import AutoscalingContext
from multiarch.errors import KeyPath, StackError
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from multiarch.nodes.model import CapacityType, NodeGroupKind, NodeGroupPlan, Tags
from multiarch.nodes.plan import plan_node_group
from multiarch.nodes.report import Report
from multiarch.nodes.spec import ClusterContext, NodeGroupSpec
from multiarch.rules import Severity
from multiarch.stack.addons import check_controllers_have_a_node, plan_addons
from multiarch.stack.autoscaling import autoscaling_spec
from multiarch.stack.checks import access, autoscalers, cluster, names, production, reach
from multiarch.stack.findings import Findings
from multiarch.stack.load import Stack
from multiarch.stack.model import ClusterPlan, ExistingNetwork, NewNetwork, Plan, SessionPlan
from multiarch.stack.network import check_room, plan_network, plan_service_cidr
from multiarch.stack.schema.cluster import Session
from multiarch.stack.schema.nodes import Ami, NodeGroupBase
from multiarch.stack.schema.stack import StackSpec

__all__ = ["make_plan"]


def make_plan(stack: Stack, *, today: date) -> Plan:
    """Derive the plan of a stack as of ``today`` (support dates depend on it).

    Raises StackError with every problem of the stack at once; what only warns is in ``Plan.warnings``.
    """
    spec, report = stack.spec, Findings(stack.origin)
    known = cluster.check_kubernetes(spec, today, report)
    taint = _arm64_taint(spec, report)
    network = plan_network(spec.network, stack.region, report, also_needed=_also_needed(spec))
    service_cidr = plan_service_cidr(spec.network, network, report)
    cluster_name = spec.cluster_name or stack.name
    context = ClusterContext(
        name=cluster_name,
        version=spec.kubernetes_version,
        ami_family=AmiFamily(spec.ami_family),
        arm64_taint=taint,
        prefix_delegation=spec.addons.prefix_delegation,
        zones=network.zones if isinstance(network, NewNetwork) else (),
    )
    # An unknown version has no images to check.
    specs = tuple(_specs(spec))
    planned = [plan_node_group(group, context, report) for group in specs] if known else []
    groups = tuple(sorted((p for p in planned if p is not None), key=lambda p: p.name))
    if not specs:
        # Karpenter adds nodes, but its own two controllers need some that are there.
        sizes = ", minSize: 2" if "karpenter" in {spec.autoscaling.use, spec.autoscaling.migrate_from} else ""
        report(
            "no-node-groups",
            ("nodeGroups",),
            "there is no node group.",
            hint=f"Add one: nodeGroups: {{NAME: {{instanceTypes: [...]{sizes}}}}}.",
        )
    if isinstance(network, NewNetwork):
        check_room(network, groups, report, prefix_delegation=context.prefix_delegation)
    autoscaling = None
    # With a group missing, the one that coredns or a controller could use may be the missing one.
    if known and len(groups) == len(specs):
        check_controllers_have_a_node(spec.addons, taint, groups, report)
        subnet_ids = network.private_subnet_ids if isinstance(network, ExistingNetwork) else ()
        autoscaling = _autoscaling(stack, groups, context, subnet_ids, report)
    _check_stack(stack, groups, report)
    addons = plan_addons(spec.addons, taint, report)
    protected, storage_class = production.deletion_protection(spec, report), reach.storage_class(spec, report)
    problems = (*stack.warnings, *report.sorted())
    if network is None or autoscaling is None or any(problem.severity is Severity.ERROR for problem in problems):
        raise StackError(problems)
    return Plan(
        stack=stack.name,
        team=spec.team,
        environment=spec.environment,
        region=stack.region,
        tags=_tags(spec),
        cluster=_cluster(context.name, service_cidr, spec, deletion_protection=protected),
        network=network,
        arm64_taint=taint,
        node_groups=groups,
        addons=addons,
        session=_session(context.name, spec.session),
        autoscaling=autoscaling,
        storage_class=storage_class,
        warnings=problems,
    )


def _autoscaling(
    stack: Stack,
    groups: tuple[NodeGroupPlan, ...],
    context: ClusterContext,
    subnet_ids: tuple[str, ...],
    report: Report,
) -> AutoscalingPlan:
    return plan_autoscaling(
        autoscaling_spec(stack.spec.autoscaling),
        groups,
        AutoscalingContext(
            cluster=context.name,
            version=context.version,
            ami_family=context.ami_family,
            arm64_taint=context.arm64_taint,
            prefix_delegation=context.prefix_delegation,
            region=stack.region,
            zones=context.zones,
            subnet_ids=subnet_ids,
            tags=_tags(stack.spec),
        ),
        report,
    )


def _check_stack(stack: Stack, groups: tuple[NodeGroupPlan, ...], report: Report) -> None:
    spec = stack.spec
    names.check_names(stack.name, spec, groups, report)
    production.check_zones(spec, report)
    names.check_tags(spec, report)
    access.check_access(spec.access, report)
    access.check_api_endpoint(spec.api_endpoint, report)
    cluster.check_encryption(spec, stack.region, report)
    cluster.check_addon_versions(spec.addons, report)
    cluster.check_session(spec, report)
    autoscalers.check_autoscaler_reachable(spec, report)
    autoscalers.check_autoscaler_has_a_way_out(spec, report)
    autoscalers.check_autoscaler_has_a_role(spec, report)


def _also_needed(spec: StackSpec) -> Iterator[str]:
    """Endpoints that a cluster without a way out needs for what else the team wants."""
    if spec.addons["eks-pod-identity-agent"].enabled:
        yield "eks-auth"
    if spec.session.log_to_cloud_watch:
        yield "logs"


def _arm64_taint(spec: StackSpec, report: Report) -> Taint | None:
    if spec.arm64_taint == "none":
        return None
    try:
        return parse_taint(spec.arm64_taint)
    except TaintSyntaxError as error:
        report("taint", ("arm64Taint",), error.message, hint=error.hint, value=spec.arm64_taint)
        return None


def _tags(spec: StackSpec) -> Tags:
    own = {
        "team": spec.team,
        "environment": spec.environment,
        "owner": spec.owner,
        "cost-center": spec.cost_center,
        "managed-by": "multiarch-eks",
    }
    return tuple(sorted((spec.tags | own).items()))


def _cluster(name: str, service_cidr: str, spec: StackSpec, *, deletion_protection: bool) -> ClusterPlan:
    return ClusterPlan(
        name=name,
        version=spec.kubernetes_version,
        service_cidr=service_cidr,
        endpoint_private=spec.api_endpoint.private,
        endpoint_public=spec.api_endpoint.public,
        public_cidrs=tuple(sorted(spec.api_endpoint.public_cidrs)),
        encrypt_secrets=spec.secrets_encryption.enabled,
        kms_key_arn=spec.secrets_encryption.kms_key_arn,
        log_types=tuple(sorted(set(spec.logging.types))),
        log_retention_days=spec.logging.retention_days,
        admins=tuple(sorted(spec.access.admins)),
        readers=tuple(sorted(spec.access.readers)),
        deletion_protection=deletion_protection,
    )


def _session(cluster: str, spec: Session) -> SessionPlan:
    return SessionPlan(
        document_name=f"{cluster}-session",
        idle_timeout_minutes=spec.idle_timeout_minutes,
        max_duration_minutes=spec.max_duration_minutes,
        log_group_name=f"/multiarch-eks/{cluster}/sessions" if spec.log_to_cloud_watch else None,
        log_retention_days=spec.log_retention_days,
        run_as_user=spec.run_as_user,
    )


def _specs(spec: StackSpec) -> Iterator[NodeGroupSpec]:
    """Yield one specification per node group; a multi-architecture group gives its two halves."""
    for name, group in sorted(spec.node_groups.items()):
        path = ("nodeGroups", name)
        yield _spec(
            group,
            path=path,
            types_path=(*path, "instanceTypes"),
            ami_path=(*path, "ami"),
            name=name,
            half=None,
            instance_types=tuple(group.instance_types),
            ami_type=group.ami_type,
            ami=group.ami,
        )
    for name, pair in sorted(spec.multi_architecture_groups.items()):
        path = ("multiArchitectureGroups", name)
        for half, types, ami in (
            (Architecture.AMD64, pair.instance_types.amd64, pair.ami.amd64),
            (Architecture.ARM64, pair.instance_types.arm64, pair.ami.arm64),
        ):
            yield _spec(
                pair,
                path=path,
                types_path=(*path, "instanceTypes", str(half)),
                ami_path=(*path, "ami", str(half)),
                name=f"{name}-{half}",
                half=half,
                instance_types=tuple(types),
                ami_type=None,
                ami=ami,
            )


def _spec(
    spec: NodeGroupBase,
    *,
    path: tuple[str, ...],
    types_path: KeyPath,
    ami_path: KeyPath,
    name: str,
    half: Architecture | None,
    instance_types: tuple[str, ...],
    ami_type: str | None,
    ami: Ami,
) -> NodeGroupSpec:
    return NodeGroupSpec(
        path=path,
        types_path=types_path,
        ami_path=ami_path,
        name=name,
        half=half,
        kind=NodeGroupKind(spec.kind),
        capacity_type=CapacityType(spec.capacity_type),
        instance_types=instance_types,
        minimum=spec.min_size,
        desired=spec.desired_size,
        maximum=spec.max_size,
        ami_family=AmiFamily(spec.ami_family) if spec.ami_family else None,
        ami_type=ami_type,
        ami_id=ami.id,
        ami_release=ami.release,
        disk_size=spec.disk_size,
        labels=tuple(sorted(spec.labels.items())),
        taints=tuple(spec.taints),
        arm64_taint=spec.arm64_taint,
        mode=spec.bootstrap.mode,
        pre_bootstrap=spec.bootstrap.pre_bootstrap or "",
        kubelet_extra_args=tuple(spec.bootstrap.kubelet_extra_args),
        max_pods=spec.max_pods,
        imds_hop_limit=spec.imds_hop_limit,
        max_unavailable=spec.update_strategy.max_unavailable,
        max_unavailable_percentage=spec.update_strategy.max_unavailable_percentage,
        force=spec.update_strategy.force,
        zones=None if spec.zones is None else tuple(spec.zones),
    )
