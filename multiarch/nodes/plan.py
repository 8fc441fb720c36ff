"""A node group's plan: everything is derived here, once, each value with its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import get_family
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import Accelerator, InstanceType, compute_max_pods, recommend_max_pods
from multiarch.facts.labels import EKS_ACCELERATOR
from multiarch.manifests.values import Labels
from multiarch.nodes import checks, image
from multiarch.nodes.kubelet import check_room, plan_kubelet
from multiarch.nodes.labels_taints import check_labels
from multiarch.nodes.model import (
    BootstrapCase,
    ClusterFacts,
    Derived,
    Distribution,
    KubeletValue,
    NodeGroupKind,
    NodeGroupPlan,
    Update,
)
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.resources import get_node_resources
from multiarch.nodes.spec import ClusterContext, NodeGroupSpec
from multiarch.nodes.user_data import render_user_data

_CERTIFICATE_CHARACTERS = 1500
"""The approximate length of a cluster's certificate authority in base64."""
_CASE_RULES = {
    BootstrapCase.EKS: "managed without ami.id: EKS runs the bootstrap; labels and taints go through its API",
    BootstrapCase.CUSTOM_AMI: "managed with ami.id: user data runs the bootstrap; EKS gets no amiType or version",
    BootstrapCase.SELF_MANAGED: "self-managed: user data runs the bootstrap; labels and taints are kubelet flags",
}


def plan_node_group(spec: NodeGroupSpec, context: ClusterContext, report: ProblemReport) -> NodeGroupPlan | None:
    """Derive the plan of one group, reporting every problem; None when architecture or image are unknown.

    After a reported error the returned plan is only for further checks: the stack is rejected.
    """
    settings, bootstrap = spec.settings, spec.settings.bootstrap
    types = checks.check_instance_types(spec, report)
    checks.check_ipv6(types, context, spec.types_path, report)
    sizes = checks.check_sizes(spec, report)
    check_labels(spec.labels, spec.path, report, managed=spec.kind is NodeGroupKind.MANAGED)
    zones = checks.check_zones(spec, context, report)
    checks.check_hop_limit(settings.imds_hop_limit, spec.path, report)
    update = _update(spec, report)
    case = image.get_bootstrap_case(spec)
    if not types:
        return None
    architecture = types[0].architecture
    # Both halves of a multi-architecture group have the taint: pods that tolerate it can use either.
    carries = settings.arm64_taint and (architecture is Architecture.ARM64 or spec.half is not None)
    taints = checks.check_taints(spec, context, carries_arm64=carries, report=report)
    ami_type = image.plan_ami_type(spec, context, types, architecture, report)
    if ami_type is None:
        return None
    image.check_amazon_linux_2(spec, context, ami_type.family, report)
    ami = image.plan_ami(spec, context, ami_type, report)
    checks.check_bootstrap(spec, case, ami_type.family, report)
    checks.check_instance_store(spec, types, ami_type.family, report)
    checks.check_capacity_reservation(spec, report)
    checks.check_distribution(spec, report)
    checks.check_efa(spec, context, types, ami_type.family, zones, report)
    kubelet = plan_kubelet(settings.kubelet, (*spec.path, "kubelet"), ami_type.family, report)
    pods, written = _max_pods(spec, context, types, case, report)
    # On AL2 EKS passes its number, with prefix delegation considered, to bootstrap.sh; user data can't override it.
    written = written and (case is not BootstrapCase.EKS or get_family(ami_type.family).takes_kubelet)
    plan = NodeGroupPlan(
        path=spec.path,
        name=spec.name,
        name_prefix=f"{spec.name}-" if spec.kind is NodeGroupKind.MANAGED else f"{context.name}-{spec.name}-",
        launch_template_prefix=f"{context.name}-{spec.name}-",
        kind=spec.kind,
        case=case,
        architecture=architecture,
        instance_types=types,
        ami_type=ami_type,
        ami=ami,
        capacity_type=spec.capacity_type,
        sizes=sizes,
        labels=_labels(spec, types),
        taints=taints,
        max_pods=pods,
        max_pods_written=written,
        disk_size=settings.disk_size,
        imds_hop_limit=settings.imds_hop_limit,
        update=update,
        zones=zones,
        pre_bootstrap=bootstrap.pre_bootstrap or "",
        kubelet_extra_args=tuple(bootstrap.kubelet_extra_args),
        derived=(),
        kubelet=kubelet,
        registry_mirrors=context.registry_mirrors,
        instance_store=settings.instance_store_policy is not None,
        node_repair=context.node_repair if spec.kind is NodeGroupKind.MANAGED else None,
        capacity_reservation=settings.capacity_reservation or "",
        placement_group=settings.placement_group or "",
        efa=settings.efa,
        distribution=Distribution(*(value for _, value in settings.instances_distribution)),
    )
    if kubelet.config:
        check_room(get_node_resources(plan), (*spec.path, "kubelet"), report)
    _check_user_data(plan, spec, report)
    return _explained(plan, spec, context)


def _labels(spec: NodeGroupSpec, types: Sequence[InstanceType]) -> Labels:
    """Return the team's labels, and that of NVIDIA GPUs; a value that the team sets stays."""
    own = {EKS_ACCELERATOR: "nvidia"} if types[0].accelerator is Accelerator.NVIDIA else {}
    return tuple(sorted({**own, **dict(spec.labels)}.items()))


def _check_user_data(plan: NodeGroupPlan, spec: NodeGroupSpec, report: ProblemReport) -> None:
    """Render the user data for a placeholder cluster, and check that EC2 would accept it."""
    cluster = ClusterFacts(
        name=plan.launch_template_prefix,
        endpoint=f"https://{'0' * 32}.gr7.ap-southeast-1.eks.amazonaws.com",
        certificate_authority="A" * _CERTIFICATE_CHARACTERS,
        service_cidr="172.20.0.0/16",
    )
    try:
        render_user_data(plan, cluster)
    except MultiarchError as error:
        report("user-data", (*spec.path, "bootstrap"), error.message, hint=error.hint)


def _update(spec: NodeGroupSpec, report: ProblemReport) -> Update:
    path, strategy = (*spec.path, "updateStrategy"), spec.settings.update_strategy
    if strategy.max_unavailable is not None and strategy.max_unavailable_percentage is not None:
        report("update-limits", path, "maxUnavailable and maxUnavailablePercentage are both given.")
    if strategy.force and spec.kind is NodeGroupKind.SELF_MANAGED:
        report("update-force", (*path, "force"), "force is for managed groups.")
    if strategy.max_unavailable_percentage is not None:
        return Update(None, strategy.max_unavailable_percentage, strategy.force)
    return Update(strategy.max_unavailable or 1, None, strategy.force)


def _max_pods(
    spec: NodeGroupSpec,
    context: ClusterContext,
    types: Sequence[InstanceType],
    case: BootstrapCase,
    report: ProblemReport,
) -> tuple[int, bool]:
    """Return max pods, by the instance type with the fewest addresses, and whether the user data has to set it."""
    prefixes, wanted = context.prefix_delegation, spec.settings.max_pods
    custom = context.custom_networking
    if wanted is None and case is not BootstrapCase.SELF_MANAGED:
        # EKS caps nodes that it bootstraps at 110 or 250 pods; with ami.id the user data sets the same number.
        pods = min(recommend_max_pods(each, prefix_delegation=prefixes, custom_networking=custom) for each in types)
        return pods, prefixes or custom or case is BootstrapCase.CUSTOM_AMI
    count = recommend_max_pods if case is BootstrapCase.EKS else compute_max_pods
    possible, name = min((count(t, prefix_delegation=prefixes, custom_networking=custom), t.name) for t in types)
    if wanted is None:
        # Without prefix delegation and custom networking every image computes the same number.
        return possible, prefixes or custom
    if wanted > possible:
        report(
            "max-pods",
            (*spec.path, "maxPods"),
            f"the VPC CNI can address {possible} pods on {name}; more than that would wait for an address.",
            hint=f"Write {possible} or less, or turn on addons.vpcCni.prefixDelegation.",
        )
    return wanted, True


def _explained(plan: NodeGroupPlan, spec: NodeGroupSpec, context: ClusterContext) -> NodeGroupPlan:
    """Add each derived value with its rule, for ``stack explain``."""
    first = plan.instance_types[0]
    names = ", ".join(t.name for t in plan.instance_types)
    family = f"amiFamily {plan.family}" + ("" if spec.ami_family else " (the stack's)")
    desired = "minSize" if spec.settings.desired_size is None else "set in the stack"
    rows = [
        Derived("architecture", plan.architecture, f"EC2 DescribeInstanceTypes, for {names}"),
        Derived(
            "amiType",
            plan.ami_type.name,
            "set as amiType" if spec.ami_type else f"{family}, {plan.architecture}, accelerator {first.accelerator}",
        ),
        Derived("ami", plan.ami.id or plan.ami.release or "recommended", _image_rule(plan, context)),
        Derived("bootstrap", plan.case, _CASE_RULES[plan.case]),
        Derived("taints", ", ".join(map(str, plan.taints)) or "none", _taint_rule(plan, spec, context)),
        Derived("maxPods", str(plan.max_pods), _pods_rule(spec, context)),
        Derived("desiredSize", str(plan.sizes.desired), desired),
        Derived(
            "name",
            f"{plan.name_prefix}…",
            "AWS adds a suffix, so that a replacement can be created before the old group is deleted",
        ),
        Derived(
            "device",
            get_family(plan.family).devices.node_storage,
            f"{plan.family} stores images and pod files on it",
        ),
    ]
    if plan.kubelet.config:
        told = ", ".join(f"{key} {_format_setting(value)}" for key, value in plan.kubelet.config)
        rows.append(Derived("kubelet", told, "set in the stack; thresholds that it omits are EKS's"))
    if plan.instance_store:
        rows.append(Derived("instanceStorePolicy", "RAID0", "set in the stack"))
    written = [("capacityReservation", plan.capacity_reservation), ("placementGroup", plan.placement_group)]
    if plan.efa:
        count = len(first.efa_cards or ())
        written.append(("efa", f"{count} interface{'s' if count > 1 else ''} on each node"))
    if plan.mixed:
        written.append(("instancesDistribution", plan.bought))
    rows += [Derived(key, value, "set in the stack") for key, value in written if value]
    if plan.registry_mirrors:
        mirrors = "; ".join(f"{host}: {', '.join(urls)}" for host, urls in plan.registry_mirrors)
        rows.append(Derived("registryMirrors", mirrors, "the stack's"))
    if plan.labels != spec.labels:
        label = f"{EKS_ACCELERATOR}={dict(plan.labels)[EKS_ACCELERATOR]}"
        rows.append(Derived("label", label, "the cluster autoscaler waits for the GPUs of nodes with this label"))
    return replace(plan, derived=tuple(rows))


def _format_setting(value: KubeletValue) -> str:
    return " ".join("=".join(pair) for pair in value) if isinstance(value, tuple) else str(value)


def _image_rule(plan: NodeGroupPlan, context: ClusterContext) -> str:
    if plan.ami.id:
        return f"set as ami.id, release {plan.ami.release}" if plan.ami.release else "set as ami.id"
    if plan.ami.release:
        return "set as ami.release; EKS takes the newest release when the launch template changes"
    if plan.case is BootstrapCase.SELF_MANAGED:
        return f"not pinned: looked up in {plan.ami.ssm_parameter} at every run"
    return (
        f"not pinned: EKS takes the newest {plan.ami_type.name} release for {context.version} when it creates the group"
    )


def _taint_rule(plan: NodeGroupPlan, spec: NodeGroupSpec, context: ClusterContext) -> str:
    if context.arm64_taint in plan.taints and context.arm64_taint is not None:
        whose = "a half of a multi-architecture group" if spec.half is not None else "an arm64 group"
        others = "; others as set in the stack" if spec.settings.taints else ""
        return f"the stack's arm64Taint, because this is {whose}{others}"
    return "set in the stack" if spec.settings.taints else f"{plan.architecture} groups have no taints by default"


def _pods_rule(spec: NodeGroupSpec, context: ClusterContext) -> str:
    if spec.settings.max_pods is not None:
        return "set in the stack"
    enis = "(enis - 1)" if context.custom_networking else "enis"
    formula = (
        f"{enis} * (ipv4 per eni - 1) * 16 + 2, capped at 110 or 250"
        if context.prefix_delegation
        else f"{enis} * (ipv4 per eni - 1) + 2"
    )
    return f"{formula}, for the type with the fewest"
