"""``multiarch stack explain``: every derived value, and the rule it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Block, Report, Table, problem_data
from multiarch.cli.options import stacks
from multiarch.cli.options.stacks import StackArgument
from multiarch.cli.terminal import show_problems

if TYPE_CHECKING:
    from multiarch.nodes.model import Derived
    from multiarch.stack.load import Stack
    from multiarch.stack.model import Plan

HELP = """Show every value derived from a stack file, and its source.

The source is the file and line, or the rule.

\b
Examples:
  multiarch stack explain checkout-dev
  multiarch stack explain checkout-dev --output json

Exit code: 0; 2 if the stack is invalid."""


def explain(stack: StackArgument, *, output: OutputOption = Format.TABLE) -> None:
    """Explain a stack, as :data:`HELP` says."""
    loaded, plan = stacks.planned(stacks.file(stack))
    show(Report("stack-explanation", data=partial(_data, loaded, plan), blocks=partial(_blocks, loaded, plan)), output)
    if output is not Format.JSON:
        show_problems(plan.warnings)


def _data(stack: Stack, plan: Plan) -> dict[str, object]:
    return {
        "stack": plan.stack,
        "cluster": [{"key": key, "value": value, "rule": rule} for key, value, rule in _cluster(stack, plan)],
        "nodeGroups": [
            {"name": group.name, "key": group.key, "derived": _rows_data(group.derived)} for group in plan.node_groups
        ],
        "autoscaling": _rows_data(plan.autoscaling.derived),
        "warnings": [problem_data(warning) for warning in plan.warnings],
    }


def _rows_data(rows: Iterable[Derived]) -> list[dict[str, object]]:
    return [{"key": row.key, "value": row.value, "rule": row.rule} for row in rows]


def _blocks(stack: Stack, plan: Plan) -> Iterator[Block]:
    from multiarch.stack.load import STACKS_FOLDER

    yield plan.stack
    # The folder is the same for all; without it a line of 80 columns has room for the values.
    rows = [(key, value, origin.removeprefix(f"{STACKS_FOLDER}/")) for key, value, origin in _cluster(stack, plan)]
    yield Table(("key", "value", "from"), rows)
    for group in plan.node_groups:
        yield _derived(f"{group.key}: {group.name}", group.derived)
    if plan.autoscaling.derived:
        yield _derived(f"autoscaling: {plan.autoscaling.use}", plan.autoscaling.derived)


def _derived(title: str, rows: Iterable[Derived]) -> Table:
    return Table(("key", "value", "rule"), [(row.key, row.value, row.rule) for row in rows], title)


def _cluster(stack: Stack, plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Key, value and origin of the values of the whole stack."""
    cluster, session = plan.cluster, plan.session
    yield "clusterName", cluster.name, _origin(stack, ("clusterName",), "the stack's name")
    yield "region", plan.region or "unknown", _origin(stack, ("aws:region",), "the environment, when Pulumi runs")
    yield "kubernetesVersion", cluster.version, _origin(stack, ("kubernetesVersion",))
    yield from _network(stack, plan)
    yield "network.serviceCidr", cluster.service_cidr, _origin(stack, ("network", "serviceCidr"))
    reachable = [f"public from {', '.join(cluster.public_cidrs)}"] if cluster.endpoint_public else []
    reachable += ["private"] if cluster.endpoint_private else []
    yield "apiEndpoint", " and ".join(reachable), _origin(stack, ("apiEndpoint",))
    key = cluster.kms_key_arn or "a key created for the stack"
    yield "secretsEncryption", key if cluster.encrypt_secrets else "off", _origin(stack, ("secretsEncryption",))
    logs = f"{', '.join(cluster.log_types) or 'none'} for {cluster.log_retention_days} days"
    yield "logging", logs, _origin(stack, ("logging",))
    taint = "none" if plan.arm64_taint is None else str(plan.arm64_taint)
    yield "arm64Taint", taint, _origin(stack, ("arm64Taint",))
    default = "(EKS's default)"
    addons = ", ".join(f"{addon.name} {addon.version or default}" for addon in plan.addons)
    yield "addons", addons or "none", _origin(stack, ("addons",))
    protected = "on" if cluster.deletion_protection else "off"
    yield "deletionProtection", protected, _origin(stack, ("deletionProtection",), "follows from environment")
    yield (
        "storageClass",
        "on" if plan.storage_class else "off",
        _origin(stack, ("storageClass",), "addons.ebsCsi is on and the API is reachable"),
    )
    yield (
        "nodeTerminationHandler",
        "on" if plan.termination_handler else "off",
        _origin(stack, ("nodeTerminationHandler",), "self-managed groups, and the API is reachable"),
    )
    yield "autoscaling.use", plan.autoscaling.use, _origin(stack, ("autoscaling", "use"))
    yield from _webhook(stack, plan)
    yield from _rebalance(stack, plan)
    yield "session", f"closed after {session.idle_timeout_minutes} idle minutes", _origin(stack, ("session",))
    yield (
        "tags",
        ", ".join(f"{key}={value}" for key, value in plan.tags),
        "from team, environment, owner, costCenter and tags",
    )


def _webhook(stack: Stack, plan: Plan) -> Iterator[tuple[str, str, str]]:
    section, webhook = "admissionWebhook", plan.admission_webhook
    if webhook is None:
        yield section, "off", _origin(stack, (section, "enabled"))
        return
    configuration, place = webhook.values.configuration, (section, "configuration")
    yield f"{section}.image", webhook.values.image, _origin(stack, (section, "image"))
    yield f"{section}.certificates", webhook.values.certificates, _origin(stack, (section, "certificates"))
    yield f"{section}.mode", configuration.mode, _origin(stack, (*place, "mode"))
    yield f"{section}.taints", ", ".join(configuration.taints), _origin(stack, (*place, "taints"), "arm64Taint")
    yield (
        f"{section}.architectures",
        ", ".join(configuration.architectures),
        _origin(stack, (*place, "architectures"), "those of the groups and pools"),
    )
    role = ", ".join(webhook.ecr_repositories) or "no role"
    yield f"{section}.ecrRepositories", role, _origin(stack, (section, "ecrRepositories"))


def _rebalance(stack: Stack, plan: Plan) -> Iterator[tuple[str, str, str]]:
    section, rebalance = "rebalance", plan.rebalance
    if rebalance is None:
        yield section, "off", _origin(stack, (section, "enabled"))
        return
    yield f"{section}.image", rebalance.image, _origin(stack, (section, "image"), "admissionWebhook.image")
    yield f"{section}.dryRun", "on" if rebalance.dry_run else "off", _origin(stack, (section, "dryRun"))
    yield f"{section}.schedule", f"{rebalance.schedule} (UTC)", _origin(stack, (section, "schedule"))
    yield f"{section}.maxPods", str(rebalance.max_pods), _origin(stack, (section, "maxPods"))
    yield f"{section}.pace", rebalance.pace, _origin(stack, (section, "pace"))
    quiet = " for ".join(rebalance.quiet_hours) if rebalance.quiet_hours else "none"
    yield f"{section}.quietHours", quiet, _origin(stack, (section, "quietHours"))
    yield f"{section}.namespaces", ", ".join(rebalance.namespaces) or "all", _origin(stack, (section, "namespaces"))
    role = ", ".join(rebalance.ecr_repositories) or "no role"
    yield f"{section}.ecrRepositories", role, _origin(stack, (section, "ecrRepositories"))
    yield f"{section}.memoryMib", str(rebalance.memory_mib), _origin(stack, (section, "memoryMib"))


def _network(stack: Stack, plan: Plan) -> Iterator[tuple[str, str, str]]:
    from multiarch.stack.model import ExistingNetwork

    network = plan.network
    if isinstance(network, ExistingNetwork):
        yield "network.vpcId", network.vpc_id, _origin(stack, ("network", "vpcId"))
        private = ", ".join(network.private_subnet_ids)
        yield "network.privateSubnetIds", private, _origin(stack, ("network", "privateSubnetIds"))
        return
    zones = ", ".join(network.zones) or f"the region's first {network.zone_count}"
    yield "network.cidr", network.cidr, _origin(stack, ("network", "cidr"))
    yield "network.zones", zones, _origin(stack, ("network", "zones"))
    subnets = ", ".join(f"{subnet.name} {subnet.cidr}" for subnet in network.subnets)
    yield "subnets", subnets, "network.cidr divided by the number of zones"
    yield "network.nat", network.nat, _origin(stack, ("network", "nat"))
    yield "network.endpoints", ", ".join(network.endpoints) or "none", _origin(stack, ("network", "endpoints"))
    logs = network.flow_logs
    flow_logs = f"{logs.traffic} for {logs.retention_days} days" if logs else "off"
    yield "network.flowLogs", flow_logs, _origin(stack, ("network", "flowLogs"))


def _origin(stack: Stack, path: tuple[str, ...], default: str = "the default") -> str:
    """File and line of a value, or what it is derived from."""
    place = stack.origin.places.get(path)
    return default if place is None else f"{place.file}:{place.line}"
