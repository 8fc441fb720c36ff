"""Every derived value of a stack, and the file and line or the rule that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from multiarch.errors import Problem
from multiarch.nodes.model import Derived
from multiarch.serialization import OMITTED
from multiarch.stack.load import Stack
from multiarch.stack.model import ExistingNetwork, Plan


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
        tuple(explain_cluster(stack, plan)),
        tuple(ExplainedGroup(group.name, group.key, group.derived) for group in plan.node_groups),
        plan.autoscaling.derived,
        plan.autoscaling.use,
        plan.warnings,
    )


def explain_cluster(stack: Stack, plan: Plan) -> Iterator[Derived]:
    """Yield the values of the whole stack, each with its key and origin."""
    cluster, session = plan.cluster, plan.session
    yield Derived("clusterName", cluster.name, _origin(stack, ("clusterName",), "the stack's name"))
    yield Derived(
        "region", plan.region or "unknown", _origin(stack, ("aws:region",), "the environment, when Pulumi runs")
    )
    yield Derived("kubernetesVersion", cluster.version, _origin(stack, ("kubernetesVersion",)))
    yield from _network(stack, plan)
    yield Derived("network.serviceCidr", cluster.service_cidr, _origin(stack, ("network", "serviceCidr")))
    reachable = [f"public from {', '.join(cluster.public_cidrs)}"] if cluster.endpoint_public else []
    reachable += ["private"] if cluster.endpoint_private else []
    yield Derived("apiEndpoint", " and ".join(reachable), _origin(stack, ("apiEndpoint",)))
    key = cluster.kms_key_arn or "a key created for the stack"
    yield Derived(
        "secretsEncryption", key if cluster.encrypt_secrets else "off", _origin(stack, ("secretsEncryption",))
    )
    logs = f"{', '.join(cluster.log_types) or 'none'} for {cluster.log_retention_days} days"
    yield Derived("logging", logs, _origin(stack, ("logging",)))
    taint = "none" if plan.arm64_taint is None else str(plan.arm64_taint)
    yield Derived("arm64Taint", taint, _origin(stack, ("arm64Taint",)))
    default = "(EKS's default)"
    addons = ", ".join(f"{addon.name} {addon.version or default}" for addon in plan.addons)
    yield Derived("addons", addons or "none", _origin(stack, ("addons",)))
    protected = "on" if cluster.deletion_protection else "off"
    yield Derived("deletionProtection", protected, _origin(stack, ("deletionProtection",), "follows from environment"))
    yield Derived(
        "storageClass",
        "on" if plan.storage_class else "off",
        _origin(stack, ("storageClass",), "addons.ebsCsi is on and the API is reachable"),
    )
    yield Derived(
        "nodeTerminationHandler",
        "on" if plan.termination_handler else "off",
        _origin(stack, ("nodeTerminationHandler",), "self-managed groups, and the API is reachable"),
    )
    yield Derived("autoscaling.use", plan.autoscaling.use, _origin(stack, ("autoscaling", "use")))
    yield from _webhook(stack, plan)
    yield from _rebalance(stack, plan)
    yield Derived("session", f"closed after {session.idle_timeout_minutes} idle minutes", _origin(stack, ("session",)))
    yield Derived(
        "tags",
        ", ".join(f"{key}={value}" for key, value in plan.tags),
        "from team, environment, owner, costCenter and tags",
    )


def _webhook(stack: Stack, plan: Plan) -> Iterator[Derived]:
    section, webhook = "admissionWebhook", plan.admission_webhook
    if webhook is None:
        yield Derived(section, "off", _origin(stack, (section, "enabled")))
        return
    configuration, place = webhook.values.configuration, (section, "configuration")
    yield Derived(f"{section}.image", webhook.values.image, _origin(stack, (section, "image")))
    yield Derived(f"{section}.certificates", webhook.values.certificates, _origin(stack, (section, "certificates")))
    yield Derived(f"{section}.mode", configuration.mode, _origin(stack, (*place, "mode")))
    yield Derived(
        f"{section}.taints", ", ".join(configuration.taints), _origin(stack, (*place, "taints"), "arm64Taint")
    )
    yield Derived(
        f"{section}.architectures",
        ", ".join(configuration.architectures),
        _origin(stack, (*place, "architectures"), "those of the groups and pools"),
    )
    role = ", ".join(webhook.ecr_repositories) or "no role"
    yield Derived(f"{section}.ecrRepositories", role, _origin(stack, (section, "ecrRepositories")))


def _rebalance(stack: Stack, plan: Plan) -> Iterator[Derived]:
    section, rebalance = "rebalance", plan.rebalance
    if rebalance is None:
        yield Derived(section, "off", _origin(stack, (section, "enabled")))
        return
    yield Derived(f"{section}.image", rebalance.image, _origin(stack, (section, "image"), "admissionWebhook.image"))
    yield Derived(f"{section}.dryRun", "on" if rebalance.dry_run else "off", _origin(stack, (section, "dryRun")))
    yield Derived(f"{section}.schedule", f"{rebalance.schedule} (UTC)", _origin(stack, (section, "schedule")))
    yield Derived(f"{section}.maxPods", str(rebalance.max_pods), _origin(stack, (section, "maxPods")))
    yield Derived(f"{section}.pace", rebalance.pace, _origin(stack, (section, "pace")))
    quiet = " for ".join(rebalance.quiet_hours) if rebalance.quiet_hours else "none"
    yield Derived(f"{section}.quietHours", quiet, _origin(stack, (section, "quietHours")))
    yield Derived(
        f"{section}.namespaces", ", ".join(rebalance.namespaces) or "all", _origin(stack, (section, "namespaces"))
    )
    role = ", ".join(rebalance.ecr_repositories) or "no role"
    yield Derived(f"{section}.ecrRepositories", role, _origin(stack, (section, "ecrRepositories")))
    yield Derived(f"{section}.memoryMib", str(rebalance.memory_mib), _origin(stack, (section, "memoryMib")))


def _network(stack: Stack, plan: Plan) -> Iterator[Derived]:
    network = plan.network
    if isinstance(network, ExistingNetwork):
        yield Derived("network.vpcId", network.vpc_id, _origin(stack, ("network", "vpcId")))
        private = ", ".join(network.private_subnet_ids)
        yield Derived("network.privateSubnetIds", private, _origin(stack, ("network", "privateSubnetIds")))
        return
    zones = ", ".join(network.zones) or f"the region's first {network.zone_count}"
    yield Derived("network.cidr", network.cidr, _origin(stack, ("network", "cidr")))
    yield Derived("network.zones", zones, _origin(stack, ("network", "zones")))
    subnets = ", ".join(f"{subnet.name} {subnet.cidr}" for subnet in network.subnets)
    yield Derived("subnets", subnets, "network.cidr divided by the number of zones")
    yield Derived("network.nat", network.nat, _origin(stack, ("network", "nat")))
    yield Derived("network.endpoints", ", ".join(network.endpoints) or "none", _origin(stack, ("network", "endpoints")))
    logs = network.flow_logs
    flow_logs = f"{logs.traffic} for {logs.retention_days} days" if logs else "off"
    yield Derived("network.flowLogs", flow_logs, _origin(stack, ("network", "flowLogs")))


def _origin(stack: Stack, path: tuple[str, ...], default: str = "the default") -> str:
    """File and line of a value, or what it is derived from."""
    place = stack.origin.places.get(path)
    return default if place is None else f"{place.file}:{place.line}"
