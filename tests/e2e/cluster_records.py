"""What the sandbox keeps in place of a cluster: the objects and Helm releases of a stack, one file each."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML

from tests.e2e.world import World

Record = dict[str, Any]
RELEASE = "HelmRelease"


def records(world: World, stack: str) -> dict[tuple[str, str], Record]:
    """Everything by kind and name."""
    read = YAML(typ="safe", pure=True)
    found = [read.load(file) for file in sorted(world.layout.manifests(stack).glob("*.yaml"))]
    return {(row["kind"], row["metadata"]["name"]): row for row in found}


def releases(world: World, stack: str) -> dict[str, Record]:
    """The releases by name: chart, version and values are under ``spec`` there, and alone here."""
    return {name: row["spec"] for (kind, name), row in records(world, stack).items() if kind == RELEASE}


def node_pools(world: World, stack: str) -> dict[str, Record]:
    """The NodePools' ``spec`` by name."""
    return {name: row["spec"] for (kind, name), row in records(world, stack).items() if kind == "NodePool"}


def identities(world: World, stack: str) -> dict[str, str]:
    """Role ARN by service account, of the cluster's pod identity associations."""
    eks, cluster = world.aws(stack).client("eks"), world.plan(stack).cluster.name
    listed = eks.list_pod_identity_associations(clusterName=cluster)["associations"]
    told = [
        eks.describe_pod_identity_association(clusterName=cluster, associationId=row["associationId"])["association"]
        for row in listed
    ]
    return {row["serviceAccount"]: row["roleArn"] for row in told}
