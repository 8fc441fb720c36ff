"""``multiarch stack explain``: every derived value, and the rule it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli import stack_files
from multiarch.cli.output import Output, OutputOption, as_json, print_json, print_table, show_problems

if TYPE_CHECKING:
    from multiarch.stack.load import Stack
    from multiarch.stack.model import Plan


def explain(
    stack: Annotated[str, typer.Argument(metavar="STACK|FILE", help="A stack's name or file.")],
    *,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what follows from a stack file: per node group each derived value, and which rule it came from."""
    from multiarch.stack.load import STACKS_FOLDER

    loaded, plan = stack_files.planned(stack_files.file(stack))
    cluster = list(_cluster(loaded, plan))
    if output is Output.JSON:
        groups = [
            {
                "name": group.name,
                "key": group.key,
                "derived": [{"key": row.key, "value": row.value, "rule": row.rule} for row in group.derived],
            }
            for group in plan.node_groups
        ]
        warnings = [as_json(warning) for warning in plan.warnings]
        values = [{"key": key, "value": value, "rule": rule} for key, value, rule in cluster]
        content = {
            "stack": plan.stack,
            "cluster": values,
            "nodeGroups": groups,
            "autoscaling": [{"key": row.key, "value": row.value, "rule": row.rule} for row in plan.autoscaling.derived],
            "warnings": warnings,
        }
        print_json("stack-explanation", content)
        return
    typer.echo(plan.stack)
    # The folder is the same for all; without it a line of 80 columns has room for the values.
    rows = [(key, value, origin.removeprefix(f"{STACKS_FOLDER}/")) for key, value, origin in cluster]
    print_table(("KEY", "VALUE", "WHERE FROM"), rows)
    for group in plan.node_groups:
        typer.echo(f"\n{group.key}: {group.name}")
        print_table(("KEY", "VALUE", "RULE"), [(row.key, row.value, row.rule) for row in group.derived])
    if plan.autoscaling.derived:
        typer.echo(f"\nautoscaling: {plan.autoscaling.use}")
        rows = [(row.key, row.value, row.rule) for row in plan.autoscaling.derived]
        print_table(("KEY", "VALUE", "RULE"), rows)
    show_problems(plan.warnings)


def _cluster(stack: Stack, plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Key, value and origin of what holds for the whole stack."""
    cluster, session = plan.cluster, plan.session
    yield "clusterName", cluster.name, _origin(stack, ("clusterName",), "the stack's name")
    yield "region", plan.region or "unknown", _origin(stack, ("aws:region",), "the environment's, when Pulumi runs")
    yield "kubernetesVersion", cluster.version, _origin(stack, ("kubernetesVersion",))
    yield from _network(stack, plan)
    yield "network.serviceCidr", cluster.service_cidr, _origin(stack, ("network", "serviceCidr"))
    reachable = [f"public from {', '.join(cluster.public_cidrs)}"] if cluster.endpoint_public else []
    reachable += ["private"] if cluster.endpoint_private else []
    yield "apiEndpoint", " and ".join(reachable), _origin(stack, ("apiEndpoint",))
    key = cluster.kms_key_arn or "a key of the stack's own"
    yield "secretsEncryption", key if cluster.encrypt_secrets else "off", _origin(stack, ("secretsEncryption",))
    logs = f"{', '.join(cluster.log_types) or 'none'} for {cluster.log_retention_days} days"
    yield "logging", logs, _origin(stack, ("logging",))
    taint = "none" if plan.arm64_taint is None else str(plan.arm64_taint)
    yield "arm64Taint", taint, _origin(stack, ("arm64Taint",))
    addons = ", ".join(f"{addon.name} {addon.version or '(EKS’s default)'}" for addon in plan.addons)
    yield "addons", addons or "none", _origin(stack, ("addons",))
    protected = "on" if cluster.deletion_protection else "off"
    yield "deletionProtection", protected, _origin(stack, ("deletionProtection",), "follows from environment")
    yield (
        "storageClass",
        "on" if plan.storage_class else "off",
        _origin(stack, ("storageClass",), "addons.ebsCsi is on, and the API reachable"),
    )
    yield "autoscaling.use", plan.autoscaling.use, _origin(stack, ("autoscaling", "use"))
    yield "session", f"idle for {session.idle_timeout_minutes} minutes at most", _origin(stack, ("session",))
    yield "tags", ", ".join(f"{key}={value}" for key, value in plan.tags), "the stack's words and tags"


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
    yield "subnets", subnets, "cut from network.cidr by the number of zones"
    yield "network.nat", network.nat, _origin(stack, ("network", "nat"))
    yield "network.endpoints", ", ".join(network.endpoints) or "none", _origin(stack, ("network", "endpoints"))


def _origin(stack: Stack, path: tuple[str, ...], default: str = "the default") -> str:
    """Where a value was written, or what it follows from."""
    place = stack.origin.places.get(path)
    return default if place is None else f"{place.file}:{place.line}"
