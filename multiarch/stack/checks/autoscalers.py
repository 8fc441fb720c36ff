"""What an autoscaler needs of the rest of its stack: a way in for Pulumi, and a route for its pods."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.facts.autoscalers import get_publisher
from multiarch.facts.ecr import parse_ecr_host
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.autoscaling import Autoscaling
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import can_pull, check_reachable, is_isolated, list_own
from multiarch.stack.origin import Origin


def check_autoscaler_reachable(spec: StackSpec, report: ProblemReport) -> None:
    """Report an autoscaler without a Kubernetes API to install it through."""
    use = spec.autoscaling.use
    if use != "none":
        what = "declare the NodePools of EKS Auto Mode" if use == "auto-mode" else f"install {use}"
        check_reachable("autoscaler-unreachable", ("autoscaling", "use"), what, spec, report)


def check_autoscaler_has_internet(spec: StackSpec, region: str | None, report: ProblemReport) -> None:
    """Report an autoscaler whose image or AWS services can't be reached from a network with VPC endpoints only.

    IAM has an endpoint in us-east-1 alone, the price list in few regions. ECR's endpoints reach ECR of their region.
    Sources: https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/#private-clusters; Amazon ECR user
    guide, "Amazon ECR interface VPC endpoints (AWS PrivateLink)".
    """
    if not is_isolated(spec):
        return
    own, path = list_own(spec.autoscaling), ("charts", "imageRegistries")
    for autoscaler in own:
        publisher = get_publisher(autoscaler)
        registry = spec.charts.image_registries.get(publisher, "")
        found = parse_ecr_host(registry.partition("/")[0])
        if found and region not in {None, found.region}:
            message = f"{registry} is in {found.region}, and VPC endpoints reach Amazon ECR of {region} only."
            report("autoscaler-no-way-out", (*path, publisher), message, hint="Replicate its images to this region.")
        elif not can_pull(autoscaler, spec):
            message = f"{autoscaler}'s image comes from {publisher}, which a VPC without internet access can't reach."
            hint = f"Name your registry that has it: charts.imageRegistries: {{{publisher}: HOST/PATH}}."
            report("autoscaler-no-way-out", path, message, hint=hint)
    if "karpenter" in own and spec.autoscaling.karpenter.isolated_vpc is False:
        message = "Karpenter can't reach IAM and the price list without internet access."
        key = ("autoscaling", "karpenter", "isolatedVPC")
        report("autoscaler-no-way-out", key, message, hint="Remove isolatedVPC: with nat: none it is true.")


def check_auto_mode(spec: StackSpec, report: ProblemReport) -> None:
    """Report settings that nodes of EKS Auto Mode do without, in a stack without other nodes.

    Its nodes bring pod and service networking, DNS, the EBS CSI driver and Pod Identity. Source: EKS user guide,
    "Automate cluster infrastructure with EKS Auto Mode", "Automated Components".
    """
    settings = spec.autoscaling
    if settings.use != "auto-mode":
        return
    if spec.cluster is not None and spec.cluster.authentication_mode == "CONFIG_MAP":
        message = f"nodes of EKS Auto Mode join by an access entry, which {spec.cluster.existing} does not take."
        report("auto-mode-access", ("cluster", "authenticationMode"), message)
    if spec.has_node_groups:
        return
    for key in sorted(spec.addons.written - {"extra"}) if spec.cluster is None else ():
        report("auto-mode-addon", ("addons", key), f"{key} is not installed: nodes of EKS Auto Mode do without it.")


def check_vpc_cni(spec: StackSpec, report: ProblemReport) -> None:
    """Report settings that the VPC CNI does not use.

    Subnets for pods: nodes of EKS Auto Mode have their own, with other settings. Prefixes turned off, with IPv6.
    """
    cni = spec.addons["vpc-cni"]
    if spec.network.ip_family == "ipv6" and "prefixDelegation" in cni.written and not spec.addons.prefix_delegation:
        message = "with IPv6 the VPC CNI always gives nodes prefixes."
        report("ipv6", ("addons", "vpcCni", "prefixDelegation"), message, hint="Omit prefixDelegation.")
    key = "podCidr" if spec.network.pod_cidr else "podSubnets" if spec.network.pod_subnets else ""
    if key and (spec.autoscaling.use == "auto-mode" or not cni.enabled):
        cause, remedy = "addons.vpcCni is off", "leave addons.vpcCni on"
        if spec.autoscaling.use == "auto-mode":
            cause, remedy = "EKS Auto Mode is used", "use another autoscaler"
        message = f"the VPC CNI gives pods addresses of {key}, and {cause}."
        report("custom-networking", ("network", key), message, hint=f"Omit {key}, or {remedy}.")


def check_session_has_nodes(spec: StackSpec, origin: Origin, report: ProblemReport) -> None:
    """Report settings of sessions in a stack whose nodes all do without: EKS Auto Mode's, or those of a role of others.

    Nodes of EKS Auto Mode "prevent direct access to the nodes by disallowing SSH or SSM access". Source: as of
    :func:`check_auto_mode`.
    """
    use, karpenter = spec.autoscaling.use, spec.autoscaling.karpenter
    written = spec.session.written and origin.has_section("session")
    if spec.has_node_groups or not written:
        return
    if use == "auto-mode":
        report("auto-mode-session", ("session",), "no effect: nodes of EKS Auto Mode allow neither SSM nor SSH.")
    elif use == "karpenter" and karpenter.installed:
        message = f"no effect: all nodes of the stack have the role {karpenter.node_role}, which it does not manage."
        report("session-without-nodes", ("session",), message)


def check_groups_can_grow(spec: Autoscaling, groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    """Report groups without nodes that nothing scales up: only the cluster autoscaler does; Karpenter adds its own."""
    if "cluster-autoscaler" in {spec.use, spec.migrate_from}:
        return
    for group in groups:
        if group.sizes.desired == 0:
            report(
                "group-stays-empty",
                (*group.path, "minSize"),
                f"{group.name} starts without nodes, and autoscaling.use {spec.use} never adds one to it.",
            )


def check_one_group_per_zone(
    spec: StackSpec, zone_count: int, groups: Sequence[NodeGroupPlan], report: ProblemReport
) -> None:
    """Report groups in several zones: the cluster autoscaler judges all nodes of a group by one of them.

    ``onePerZone``, true or false, says that the team has decided. Source: the autoscaler's README for AWS, "Common
    Notes and Gotchas"; ``cluster-autoscaler/cloudprovider/aws/aws_manager.go``.
    """
    if spec.autoscaling.use != "cluster-autoscaler":
        return
    undecided = {
        (section, name)
        for section, written in (
            ("nodeGroups", spec.node_groups),
            ("multiArchitectureGroups", spec.multi_architecture_groups),
        )
        for name, group in written.items()
        if group.one_per_zone is None
    }
    several = [
        group
        for group in groups
        if group.path in undecided
        and group.sizes.maximum > group.sizes.minimum
        and len(group.zones or range(zone_count)) > 1
    ]
    names = ", ".join(each.name for each in several)
    if several:
        report(
            "group-of-several-zones",
            several[0].path,
            "the cluster autoscaler judges all nodes of a group by one zone; a pod that needs another zone, for a "
            f"volume or by affinity, may stay pending. Groups over several zones: {names}.",
        )
