"""From a stack to its plan: the one place where a stack's settings become what is declared."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.autoscaling.plan import plan_autoscaling
from multiarch.errors import StackError
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.taints import Taint
from multiarch.nodes.kubelet import plan_mirrors
from multiarch.nodes.labels_taints import read_taint
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.nodes.plan import plan_node_group
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext, list_node_group_specs
from multiarch.rules import Severity
from multiarch.schema.cluster import Session
from multiarch.schema.stack import StackSpec
from multiarch.stack.acknowledged import mark_acknowledged
from multiarch.stack.addons import check_controllers_have_a_node, plan_addons
from multiarch.stack.checks import (
    access,
    autoscalers,
    cluster,
    daemons,
    names,
    nodes,
    reach,
)
from multiarch.stack.existing_cluster import plan_existing_cluster, report_aws_auth
from multiarch.stack.load import Stack
from multiarch.stack.model import (
    AddonPlan,
    AdmissionWebhookPlan,
    ClusterPlan,
    ExistingClusterPlan,
    ExistingNetwork,
    NewNetwork,
    Plan,
    PodRolePlan,
    SessionPlan,
)
from multiarch.stack.network import check_room, plan_network, plan_service_cidr
from multiarch.stack.roles import check_roles

if TYPE_CHECKING:  # only the stacks that have one load it
    from multiarch.schema.rebalance import RebalancePlan

__all__ = ["make_plan"]


def make_plan(stack: Stack, *, today: date, pinning: bool = False) -> Plan:
    """Derive the plan of a stack as of ``today`` (support dates depend on it).

    ``pinning``: the images that AWS chooses are about to be pinned; what would be rejected without a pin passes.

    Raises StackError with every problem of the stack at once; what only warns is in ``Plan.warnings``.
    """
    spec, report = stack.spec, ProblemReport(stack.origin.placed)
    known = cluster.check_kubernetes(spec.kubernetes_version, today, report, upgrade_policy=spec.upgrade_policy)
    taint = None if spec.arm64_taint == "none" else read_taint(spec.arm64_taint, ("arm64Taint",), report)
    control_plane, network = _plan_cluster(stack, report)
    existing = control_plane if isinstance(control_plane, ExistingClusterPlan) else None
    custom_networking, ipv6 = (bool(network.pod_subnets), network.ipv6) if network else (False, False)
    # With IPv6 the VPC CNI always gives nodes prefixes.
    prefixes = ipv6 or (existing.prefix_delegation if existing else spec.addons.prefix_delegation)
    context = ClusterContext(
        name=control_plane.name,
        version=spec.kubernetes_version,
        ami_family=AmiFamily(spec.ami_family),
        arm64_taint=taint,
        prefix_delegation=prefixes,
        ipv6=ipv6,
        custom_networking=existing.custom_networking if existing else custom_networking,
        zones=network.zones if network else (),
        region=stack.region,
        subnet_ids=network.private_subnet_ids if isinstance(network, ExistingNetwork) else (),
        tags=_tags(spec),
        existing=existing is not None,
        # An installed Karpenter may well have a class "default", and EKS Auto Mode has one of EKS's.
        node_class=stack.name if existing or spec.autoscaling.use == "auto-mode" else "default",
        registry_mirrors=plan_mirrors(spec.registry_mirrors, report),
        node_repair=spec.node_repair,
        isolated=spec.network.nat == "none",
    )
    # An unknown version has no images to check.
    specs = tuple(list_node_group_specs(spec.node_groups, spec.multi_architecture_groups, context.zones))
    planned = [plan_node_group(group, context, report) for group in specs] if known else []
    groups = tuple(sorted((p for p in planned if p is not None), key=lambda p: p.name))
    if not specs and spec.autoscaling.use != "auto-mode" and not spec.autoscaling.karpenter.installed:
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
        if existing is None:
            check_controllers_have_a_node(spec.addons, taint, groups, report)
        autoscaling = plan_autoscaling(spec.autoscaling, groups, context, report)
        nodes.check_drivers(groups, autoscaling.karpenter, report, pinning=pinning, efa=bool(spec.efa_device_plugin))
    _check_stack(stack, groups, network, report)
    if existing:
        report_aws_auth(existing, groups, autoscaling, report)
    else:
        _check_new_cluster(spec, groups, report)
    addons = () if existing else _plan_addons(stack, context, report, has_groups=bool(specs), pinning=pinning)
    reach.check_pod_identity(spec, addons, report)
    storage_class = existing is None and reach.choose_storage_class(spec, report)
    termination_handler = daemons.choose_termination_handler(spec, specs, report)
    plugins = daemons.choose_device_plugins(spec, groups, autoscaling, report)
    webhook = _webhook(stack, taint, groups, autoscaling, report)
    rebalance = _rebalance(stack, groups, autoscaling, report)
    made = None
    if network is not None and autoscaling is not None:
        made = Plan(
            stack=stack.name,
            team=spec.team,
            environment=spec.environment,
            region=stack.region,
            identity=stack.identity,
            tags=context.tags,
            cluster=control_plane,
            network=network,
            arm64_taint=taint,
            node_groups=groups,
            addons=addons,
            pod_roles=_plan_pod_roles(
                spec,
                addons,
                report,
                webhook=bool(webhook and webhook.ecr_repositories),
                rebalance=bool(rebalance and rebalance.ecr_repositories),
            ),
            fargate_profiles=spec.fargate_profiles,
            # A cluster may have several stacks.
            session=_plan_session(spec.session, stack.name if existing else context.name),
            autoscaling=autoscaling,
            storage_class=storage_class,
            termination_handler=termination_handler,
            device_plugins=plugins,
            admission_webhook=webhook,
            rebalance=rebalance,
            chart_registry=spec.charts.registry,
            image_registries=spec.charts.image_registries,
            iam=spec.iam,
            acknowledged=tuple(spec.acknowledge.items()),
            warnings=(),
        )
        check_roles(made, report)
    problems = mark_acknowledged(stack, (*stack.warnings, *report.sorted()))
    if made is None or any(problem.severity is Severity.ERROR for problem in problems):
        raise StackError(problems)
    return replace(made, warnings=problems)


def _plan_cluster(
    stack: Stack, report: ProblemReport
) -> tuple[ClusterPlan | ExistingClusterPlan, NewNetwork | ExistingNetwork | None]:
    spec = stack.spec
    if spec.cluster is not None:
        return plan_existing_cluster(spec, spec.cluster, stack.name, stack.region, report)
    network = plan_network(spec.network, stack.region, report, also_needed=reach.list_also_needed(spec))
    control_plane = ClusterPlan(
        name=spec.cluster_name or stack.name,
        version=spec.kubernetes_version,
        service_cidr=plan_service_cidr(spec.network, network, report),
        deletion_protection=cluster.choose_deletion_protection(spec, report),
        endpoint=spec.api_endpoint,
        encryption=spec.secrets_encryption,
        logging=spec.logging,
        access=spec.access,
        upgrade_policy=spec.upgrade_policy,
        zonal_shift=spec.zonal_shift,
        tier=spec.control_plane_tier,
    )
    return control_plane, network


def _plan_addons(
    stack: Stack, context: ClusterContext, report: ProblemReport, *, has_groups: bool, pinning: bool
) -> tuple[AddonPlan, ...]:
    """Plan the add-ons; nodes of EKS Auto Mode do without those that have a key of their own."""
    taint, custom = context.arm64_taint, context.custom_networking
    own = plan_addons(stack.spec.addons, taint, report, custom_networking=custom) if has_groups else ()
    if stack.spec.addons.extra:
        from multiarch.stack.extra_addons import plan_extra_addons  # noqa: PLC0415  (only these stacks load it)

        own = (*own, *plan_extra_addons(stack.spec.addons, stack.addon_schemas, taint, report, pinning=pinning))
    return own


def _plan_pod_roles(
    spec: StackSpec, addons: tuple[AddonPlan, ...], report: ProblemReport, *, webhook: bool, rebalance: bool
) -> tuple[PodRolePlan, ...]:
    if not (spec.iam.service_accounts or spec.fargate_profiles):
        return ()
    from multiarch.stack import service_accounts  # noqa: PLC0415  (as above)

    autoscalers = reach.list_own(spec.autoscaling)
    others = service_accounts.list_others(addons, autoscalers, webhook=webhook, rebalance=rebalance)
    planned = service_accounts.plan_service_accounts(spec, others, report)
    own = [(each.namespace, each.service_account) for each in planned if not each.irsa]
    service_accounts.check_fargate(spec, (*others, *own), report)
    return planned


def _plan_session(settings: Session, owner: str) -> SessionPlan:
    log_group = f"/multiarch-eks/{owner}/sessions" if settings.log_to_cloud_watch else None
    return SessionPlan(settings, document_name=f"{owner}-session", log_group_name=log_group)


def _webhook(
    stack: Stack,
    taint: Taint | None,
    groups: tuple[NodeGroupPlan, ...],
    autoscaling: AutoscalingPlan | None,
    report: ProblemReport,
) -> AdmissionWebhookPlan | None:
    spec, section = stack.spec, stack.spec.admission_webhook
    if section is None or not (section.enabled or stack.origin.has_section("admissionWebhook")):
        return None
    from multiarch.stack.webhook import plan_webhook  # noqa: PLC0415  (only the stacks that have one load it)

    return plan_webhook(spec, section, taint, groups, autoscaling, report)


def _rebalance(
    stack: Stack, groups: tuple[NodeGroupPlan, ...], autoscaling: AutoscalingPlan | None, report: ProblemReport
) -> RebalancePlan | None:
    section = stack.spec.rebalance
    if autoscaling is None or section is None or not (section.enabled or stack.origin.has_section("rebalance")):
        return None
    from multiarch.stack.rebalance import plan_rebalance  # noqa: PLC0415  (as above)

    found = {group.architecture for group in groups}
    found |= {capacity.architecture for pool in autoscaling.pools for capacity in pool.capacities}
    return plan_rebalance(stack, section, found, report)


def _check_stack(
    stack: Stack,
    groups: tuple[NodeGroupPlan, ...],
    network: NewNetwork | ExistingNetwork | None,
    report: ProblemReport,
) -> None:
    spec = stack.spec
    names.check_names(stack.name, spec, groups, report)
    names.check_tags(spec.tags, report)
    names.check_required_tags(spec.required_tags, _tags(spec), report)
    names.check_owner(spec, report)
    cluster.check_chart_registry(spec.charts, report)
    autoscalers.check_autoscaler_reachable(spec, report)
    autoscalers.check_autoscaler_has_internet(spec, stack.region, report)
    autoscalers.check_auto_mode(spec, report)
    autoscalers.check_session_has_nodes(spec, stack.origin, report)
    autoscalers.check_groups_can_grow(spec.autoscaling, groups, report)
    if network is not None and (network.zones or isinstance(network, NewNetwork)):
        autoscalers.check_one_group_per_zone(spec, network.zone_count, groups, report)


def _check_new_cluster(spec: StackSpec, groups: tuple[NodeGroupPlan, ...], report: ProblemReport) -> None:
    """Check the keys that an existing cluster does not take."""
    cluster.check_zones(spec, report)
    autoscalers.check_vpc_cni(spec, report)
    access.check_access(spec.access, report)
    access.check_api_endpoint(spec.api_endpoint, report)
    cluster.check_encryption(spec, report)
    nodes.check_room_for_pods(spec.addons, groups, report)


def _tags(spec: StackSpec) -> Tags:
    own = {
        "team": spec.team,
        "environment": spec.environment,
        "owner": spec.owner,
        "cost-center": spec.cost_center,
        "managed-by": "multiarch-eks",
    }
    return tuple(sorted((spec.tags | own).items()))
