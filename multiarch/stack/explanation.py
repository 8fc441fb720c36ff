"""Every derived value of a stack, and the file and line or the rule that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from multiarch.errors import Problem
from multiarch.nodes.model import Derived, NodeGroupKind
from multiarch.schema.cluster import AccessEntry
from multiarch.schema.fargate import FargateSelector
from multiarch.serialization import OMITTED
from multiarch.stack.load import Stack
from multiarch.stack.model import AddonPlan, ExistingClusterPlan, ExistingNetwork, NewNetwork, Plan, PodRolePlan
from multiarch.stack.roles import list_roles

Row = tuple[str, object] | tuple[str, object, str] | tuple[str, object, str, str]
_EKS_DEFAULT = "(EKS's default)"
_SUBNETS_RULE = "network.cidr divided by the number of zones"
_UNREACHABLE = "the API can't be reached: new VPC, private endpoint"
_TAGS_RULE = "team, environment, owner, costCenter and tags"


@dataclass(frozen=True, slots=True)
class ExplainedGroup:
    """A node group and its derived values."""

    name: str
    key: str
    derived: tuple[Derived, ...]


@dataclass(frozen=True, slots=True)
class StackExplanation:
    """The values of the whole stack, of its node groups, and of its autoscaler."""

    stack: str
    cluster: tuple[Derived, ...]
    node_groups: tuple[ExplainedGroup, ...]
    autoscaling: tuple[Derived, ...]
    autoscaler: str = field(metadata=OMITTED)
    warnings: tuple[Problem, ...]


def explain_stack(stack: Stack, plan: Plan) -> StackExplanation:
    """Explain a stack that was planned."""
    return StackExplanation(
        plan.stack,
        tuple(_derived(stack, *row) for row in _rows(plan)),
        tuple(ExplainedGroup(group.name, group.key, group.derived) for group in plan.node_groups),
        plan.autoscaling.derived,
        plan.autoscaling.use,
        plan.warnings,
    )


def _derived(stack: Stack, key: str, value: object, default: str = "the default", place: str = "") -> Derived:
    """Return a value with the file and line of its key, or of ``place``; ``default`` where the files don't have it."""
    found = stack.origin.places.get(tuple((place or key).split(".")))
    if isinstance(value, bool):
        value = "on" if value else "off"
    elif isinstance(value, list | tuple):
        value = ", ".join(value)
    return Derived(key, str(value), f"{found.file}:{found.line}" if found else default)


def _rows(plan: Plan) -> Iterator[Row]:
    yield from _existing(plan, plan.cluster) if isinstance(plan.cluster, ExistingClusterPlan) else _new(plan)
    yield "nodeTerminationHandler", plan.termination_handler, _explain_handler(plan)
    for key in ("gpuDevicePlugin", "efaDevicePlugin"):
        yield key, key in {each.key for each in plan.device_plugins}
    yield "autoscaling.use", plan.autoscaling.use
    yield from _webhook(plan)
    yield from _rebalance(plan)
    yield "charts.registry", plan.chart_registry or "the publishers' own"
    images = [f"{host} from {registry}" for host, registry in plan.image_registries.items()]
    yield "charts.imageRegistries", images or "the publishers' own"
    for name, profile in plan.fargate_profiles.items():
        yield f"fargateProfiles.{name}", [_describe_selector(each) for each in profile.selectors]
    yield "nodeRepair", _show_setting(next((each.node_repair for each in plan.node_groups), None), "off")
    yield from _iam(plan)
    karpenter = plan.autoscaling.karpenter
    if plan.node_groups or (karpenter and not karpenter.settings.installed):
        yield "session", f"closed after {plan.session.settings.idle_timeout_minutes} idle minutes"
    else:
        yield "session", "no effect: no node has a role of the stack's that allows sessions"
    yield "tags", [f"{key}={value}" for key, value in plan.tags], _TAGS_RULE, " "


def _explain_handler(plan: Plan) -> str:
    if plan.termination_handler:
        return "self-managed groups, and the API is reachable"
    if not any(group.kind is NodeGroupKind.SELF_MANAGED for group in plan.node_groups):
        return "no self-managed group"
    if isinstance(plan.cluster, ExistingClusterPlan):
        return "the existing cluster may have one"
    isolated = isinstance(plan.network, NewNetwork) and plan.network.nat == "none"
    return "no route to the registry of its image" if isolated else _UNREACHABLE


def _iam(plan: Plan) -> Iterator[Row]:
    """Yield what IAM roles get, and each role with the existing one that is taken for it."""
    iam = plan.iam
    yield "iam.permissionsBoundary", iam.permissions_boundary or "none"
    yield "iam.path", iam.path
    yield "iam.nodePolicies", iam.node_policies or "none"
    yield "iam.pullThroughRepositories", iam.pull_through_repositories or "none"
    for each in plan.pod_roles:
        yield f"iam.serviceAccounts.{each.name.removesuffix('-pods')}", _describe_role(each)
    for name in list_roles(plan):
        yield f"iam.roles.{name}", iam.roles.get(name, "made by the stack")


def _show_setting(value: object, default: str) -> object:
    return f"{default} {_EKS_DEFAULT}" if value is None else value


def _region(plan: Plan) -> Row:
    return "region", plan.region or "unknown", "the environment, when Pulumi runs", "aws:region"


def _existing(plan: Plan, cluster: ExistingClusterPlan) -> Iterator[Row]:
    yield "cluster.existing", cluster.name
    yield _region(plan)
    yield "kubernetesVersion", cluster.version
    network = plan.network
    for zone, subnets in network.subnets_by_zone if isinstance(network, ExistingNetwork) else ():
        yield f"cluster.subnets.{zone}", subnets
    yield "cluster.securityGroups", cluster.security_groups or "the one that EKS made for the cluster"
    entries = "access entries" if cluster.takes_access_entries else "lines in aws-auth"
    yield "cluster.authenticationMode", f"{cluster.authentication_mode}: nodes join by {entries}"
    yield "cluster.prefixDelegation", cluster.prefix_delegation
    yield "cluster.customNetworking", cluster.custom_networking
    yield "cluster.podIdentityAgent", cluster.pod_identity_agent
    yield "arm64Taint", plan.arm64_taint or "none"


def _new(plan: Plan) -> Iterator[Row]:
    cluster = plan.own_cluster
    yield "clusterName", cluster.name, "the stack's name"
    yield _region(plan)
    yield "kubernetesVersion", cluster.version
    yield from _network(plan)
    yield "network.ipFamily", "ipv6" if plan.network.ipv6 else "ipv4"
    yield "network.serviceCidr", cluster.service_cidr or "chosen by EKS"
    endpoint, encryption, logs = cluster.endpoint, cluster.encryption, cluster.logging
    reachable = [f"public from {', '.join(sorted(endpoint.public_cidrs))}"] if endpoint.public else []
    private = "private" if endpoint.public else "private: every preview, update and destroy must reach it"
    yield "apiEndpoint", " and ".join([*reachable, *([private] if endpoint.private else [])])
    yield "secretsEncryption", encryption.enabled and (encryption.kms_key_arn or "a key created for the stack")
    yield "logging", f"{', '.join(sorted(set(logs.types))) or 'none'} for {logs.retention_days} days"
    yield "arm64Taint", plan.arm64_taint or "none"
    for name, entry in cluster.access.entries.items():
        yield f"access.entries.{name}", _describe(entry)
    yield "addons", [f"{addon.name} {addon.version or _EKS_DEFAULT}" for addon in plan.addons] or "none"
    for addon in plan.addons:
        if addon.extra:
            yield f"addons.extra.{addon.name}", _describe_addon(addon)
    yield "upgradePolicy", _show_setting(cluster.upgrade_policy, "EXTENDED")
    yield "zonalShift", _show_setting(cluster.zonal_shift, "off")
    yield "controlPlaneTier", _show_setting(cluster.tier, "standard")
    yield "deletionProtection", cluster.deletion_protection, "follows from environment"
    driver = plan.autoscaling.auto_mode or any(addon.name == "aws-ebs-csi-driver" for addon in plan.addons)
    unreachable = _UNREACHABLE if driver else "addons.ebsCsi is off"
    why = "addons.ebsCsi is on and the API is reachable" if plan.storage_class else unreachable
    yield "storageClass", plan.storage_class, why


def _describe(entry: AccessEntry) -> list[str]:
    scopes = ((name, scope.namespaces) for name, scope in entry.policies.items())
    policies = [f"{name} in {' and '.join(namespaces) if namespaces else 'the cluster'}" for name, namespaces in scopes]
    return [entry.principal, *policies, *(f"group {group}" for group in entry.groups)]


def _describe_selector(selector: FargateSelector) -> str:
    labels = "".join(f", {key}={value}" for key, value in selector.labels.items())
    return f"pods of {selector.namespace}{labels}"


def _describe_role(of: AddonPlan | PodRolePlan) -> str:
    policies = [each.rpartition("/")[2] for each in of.policies] + (["own statements"] if of.policy else [])
    return f"role of {of.namespace}/{of.service_account}: {' and '.join(policies)}"


def _describe_addon(addon: AddonPlan) -> list[str]:
    return [
        f"{'before' if addon.before_nodes else 'after'} the nodes",
        _describe_role(addon) if addon.service_account else "no role",
        *([addon.configuration] if addon.configuration else []),
    ]


def _webhook(plan: Plan) -> Iterator[Row]:
    webhook = plan.admission_webhook
    if webhook is None:
        yield "admissionWebhook", False, "the default", "admissionWebhook.enabled"
        return
    values, section = webhook.values, "admissionWebhook.configuration"
    yield "admissionWebhook.image", values.image
    yield "admissionWebhook.certificates", values.certificates
    yield "admissionWebhook.mode", values.configuration.mode, "the default", f"{section}.mode"
    yield "admissionWebhook.taints", values.configuration.taints, "arm64Taint", f"{section}.taints"
    whose = "those of the groups and pools"
    yield "admissionWebhook.architectures", values.configuration.architectures, whose, f"{section}.architectures"
    yield "admissionWebhook.ecrRepositories", webhook.ecr_repositories or "no role"


def _rebalance(plan: Plan) -> Iterator[Row]:
    settings = plan.rebalance
    if settings is None:
        yield "rebalance", False, "the default", "rebalance.enabled"
        return
    quiet = settings.quiet_hours
    yield "rebalance.image", settings.image, "admissionWebhook.image"
    yield "rebalance.dryRun", settings.dry_run
    yield "rebalance.schedule", f"{settings.schedule} (UTC)"
    yield "rebalance.maxPods", settings.max_pods
    yield "rebalance.pace", settings.pace
    yield "rebalance.quietHours", f"{quiet.schedule} for {quiet.duration}" if quiet else "none"
    yield "rebalance.namespaces", settings.namespaces or "all"
    yield "rebalance.ecrRepositories", settings.ecr_repositories or "no role"
    yield "rebalance.memoryMib", settings.memory_mib


def _network(plan: Plan) -> Iterator[Row]:
    network = plan.network
    if isinstance(network, ExistingNetwork):
        yield "network.vpcId", network.vpc_id
        for zone, subnets in network.subnets_by_zone:
            yield f"network.privateSubnets.{zone}", subnets
        if not network.subnets_by_zone:
            yield "network.privateSubnetIds", network.private_subnet_ids
        if network.control_plane_subnet_ids:
            yield "network.controlPlaneSubnetIds", network.control_plane_subnet_ids
        for zone, subnet in network.pod_subnets:
            yield f"network.podSubnets.{zone}", subnet
        return
    yield "network.cidr", network.cidr
    if network.pod_cidr:
        yield "network.podCidr", network.pod_cidr
    yield "network.zones", network.zones or f"the region's first {network.zone_count}"
    yield (
        "subnets",
        [f"{each.name} {each.cidr}" for each in (*network.subnets, *network.pod_subnets)],
        _SUBNETS_RULE,
        " ",
    )
    yield "network.nat", network.nat
    yield "network.endpoints", network.endpoints or "none"
    logs = network.flow_logs
    yield "network.flowLogs", logs is not None and f"{logs.traffic} for {logs.retention_days} days"
