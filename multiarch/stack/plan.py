"""From a stack to its plan: the one place where the team's words become what is declared."""

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
from multiarch.stack.schema.nodes import Ami, NodeGroupWords
from multiarch.stack.schema.stack import StackWords

__all__ = ["make_plan"]


def make_plan(stack: Stack, *, today: date) -> Plan:
    """Derive the plan of a stack as of ``today`` (support dates depend on it).

    Raises StackError with every problem of the stack at once; what only warns is in ``Plan.warnings``.
    """
    words, report = stack.words, Findings(stack.origin)
    known = cluster.check_kubernetes(words, today, report)
    taint = _arm64_taint(words, report)
    network = plan_network(words.network, stack.region, report, also_needed=_also_needed(words))
    service_cidr = plan_service_cidr(words.network, network, report)
    cluster_name = words.cluster_name or stack.name
    context = ClusterContext(
        name=cluster_name,
        version=words.kubernetes_version,
        ami_family=AmiFamily(words.ami_family),
        arm64_taint=taint,
        prefix_delegation=words.addons.prefix_delegation,
        zones=network.zones if isinstance(network, NewNetwork) else (),
    )
    # An unknown version has no images to check.
    specs = tuple(_specs(words))
    planned = [plan_node_group(spec, context, report) for spec in specs] if known else []
    groups = tuple(sorted((p for p in planned if p is not None), key=lambda p: p.name))
    if not specs:
        # Karpenter adds nodes, but its own two controllers need some that are there.
        sizes = ", minSize: 2" if "karpenter" in {words.autoscaling.use, words.autoscaling.migrate_from} else ""
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
        check_controllers_have_a_node(words.addons, taint, groups, report)
        subnet_ids = network.private_subnet_ids if isinstance(network, ExistingNetwork) else ()
        autoscaling = _autoscaling(stack, groups, context, subnet_ids, report)
    _check_words(stack, groups, report)
    addons = plan_addons(words.addons, taint, report)
    protected, storage_class = production.deletion_protection(words, report), reach.storage_class(words, report)
    problems = (*stack.warnings, *report.sorted())
    if network is None or autoscaling is None or any(problem.severity is Severity.ERROR for problem in problems):
        raise StackError(problems)
    return Plan(
        stack=stack.name,
        team=words.team,
        environment=words.environment,
        region=stack.region,
        tags=_tags(words),
        cluster=_cluster(context.name, service_cidr, words, deletion_protection=protected),
        network=network,
        arm64_taint=taint,
        node_groups=groups,
        addons=addons,
        session=_session(context.name, words.session),
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
        autoscaling_spec(stack.words.autoscaling),
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
            tags=_tags(stack.words),
        ),
        report,
    )


def _check_words(stack: Stack, groups: tuple[NodeGroupPlan, ...], report: Report) -> None:
    words = stack.words
    names.check_names(stack.name, words, groups, report)
    production.check_zones(words, report)
    names.check_tags(words, report)
    access.check_access(words.access, report)
    access.check_api_endpoint(words.api_endpoint, report)
    cluster.check_encryption(words, stack.region, report)
    cluster.check_addon_versions(words.addons, report)
    cluster.check_session(words, report)
    autoscalers.check_autoscaler_reachable(words, report)
    autoscalers.check_autoscaler_has_a_way_out(words, report)
    autoscalers.check_autoscaler_has_a_role(words, report)


def _also_needed(words: StackWords) -> Iterator[str]:
    """Endpoints that a cluster without a way out needs for what else the team wants."""
    if words.addons["eks-pod-identity-agent"].enabled:
        yield "eks-auth"
    if words.session.log_to_cloud_watch:
        yield "logs"


def _arm64_taint(words: StackWords, report: Report) -> Taint | None:
    if words.arm64_taint == "none":
        return None
    try:
        return parse_taint(words.arm64_taint)
    except TaintSyntaxError as error:
        report("taint", ("arm64Taint",), error.message, hint=error.hint, value=words.arm64_taint)
        return None


def _tags(words: StackWords) -> Tags:
    own = {
        "team": words.team,
        "environment": words.environment,
        "owner": words.owner,
        "cost-center": words.cost_center,
        "managed-by": "multiarch-eks",
    }
    return tuple(sorted((words.tags | own).items()))


def _cluster(name: str, service_cidr: str, words: StackWords, *, deletion_protection: bool) -> ClusterPlan:
    return ClusterPlan(
        name=name,
        version=words.kubernetes_version,
        service_cidr=service_cidr,
        endpoint_private=words.api_endpoint.private,
        endpoint_public=words.api_endpoint.public,
        public_cidrs=tuple(sorted(words.api_endpoint.public_cidrs)),
        encrypt_secrets=words.secrets_encryption.enabled,
        kms_key_arn=words.secrets_encryption.kms_key_arn,
        log_types=tuple(sorted(set(words.logging.types))),
        log_retention_days=words.logging.retention_days,
        admins=tuple(sorted(words.access.admins)),
        readers=tuple(sorted(words.access.readers)),
        deletion_protection=deletion_protection,
    )


def _session(cluster: str, words: Session) -> SessionPlan:
    return SessionPlan(
        document_name=f"{cluster}-session",
        idle_timeout_minutes=words.idle_timeout_minutes,
        max_duration_minutes=words.max_duration_minutes,
        log_group_name=f"/multiarch-eks/{cluster}/sessions" if words.log_to_cloud_watch else None,
        log_retention_days=words.log_retention_days,
        run_as_user=words.run_as_user,
    )


def _specs(words: StackWords) -> Iterator[NodeGroupSpec]:
    """Yield one specification per node group; a multi-architecture group gives its two halves."""
    for name, group in sorted(words.node_groups.items()):
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
    for name, pair in sorted(words.multi_architecture_groups.items()):
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
    words: NodeGroupWords,
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
        kind=NodeGroupKind(words.kind),
        capacity_type=CapacityType(words.capacity_type),
        instance_types=instance_types,
        minimum=words.min_size,
        desired=words.desired_size,
        maximum=words.max_size,
        ami_family=AmiFamily(words.ami_family) if words.ami_family else None,
        ami_type=ami_type,
        ami_id=ami.id,
        ami_release=ami.release,
        disk_size=words.disk_size,
        labels=tuple(sorted(words.labels.items())),
        taints=tuple(words.taints),
        arm64_taint=words.arm64_taint,
        mode=words.bootstrap.mode,
        pre_bootstrap=words.bootstrap.pre_bootstrap or "",
        kubelet_extra_args=tuple(words.bootstrap.kubelet_extra_args),
        max_pods=words.max_pods,
        imds_hop_limit=words.imds_hop_limit,
        max_unavailable=words.update_strategy.max_unavailable,
        max_unavailable_percentage=words.update_strategy.max_unavailable_percentage,
        force=words.update_strategy.force,
        zones=None if words.zones is None else tuple(words.zones),
    )
