"""What the official aws provider does and the engine makes of it, in a small program of its own.

The tests of this file go on with what the one before has left: the cluster is created once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.aws.faults import Failure
from sandbox.aws.remote import Remote
from tests.e2e.conftest import watched
from tests.e2e.world import Said, World, done

pytestmark = pytest.mark.e2e
STACK = "dev"
PROGRAM = """\
import pulumi
from pulumi_aws import cloudwatch, ec2, eks, iam

config = pulumi.Config()


def declare(key: str | None, values: str | None) -> None:
    vpc = ec2.Vpc("net", cidr_block="10.0.0.0/16")
    subnets = [
        ec2.Subnet(zone, vpc_id=vpc.id, cidr_block=f"10.0.{index}.0/24", availability_zone=f"eu-central-1{zone}").id
        for index, zone in enumerate("ab")
    ]
    role = iam.Role("role", assume_role_policy='{"Version": "2012-10-17", "Statement": []}')
    logs = cloudwatch.LogGroup("logs", name="/aws/eks/shop/cluster")
    cluster = eks.Cluster(
        "shop",
        name="shop",
        role_arn=role.arn,
        vpc_config={"subnet_ids": subnets},
        encryption_config={"provider": {"key_arn": key}, "resources": ["secrets"]} if key else None,
        opts=pulumi.ResourceOptions(depends_on=[logs]),
    )
    eks.Addon("coredns", cluster_name=cluster.name, addon_name="coredns", configuration_values=values)
    sizes = {"min_size": 1, "desired_size": 1, "max_size": 2}
    nodes = {"cluster_name": cluster.name, "node_role_arn": role.arn, "subnet_ids": subnets}
    eks.NodeGroup("nodes", **nodes, scaling_config=sizes)


if config.get_bool("cluster"):
    declare(config.get("key"), config.get("values"))
"""
SETTINGS = """\
name: rules
runtime: python
stackConfigDir: config/stacks
options: {refresh: always}
config: {"aws:region": eu-central-1}
"""
KEY = "arn:aws:kms:eu-central-1:123456789012:key/"
CONFIGURED = {"cluster": "true", "values": "'{\"replicaCount\": 3}'", "key": f"{KEY}a"}


def configure(world: World, **values: str) -> None:
    lines = "".join(f"  rules:{key}: {value}\n" for key, value in values.items())
    world.stack_file(STACK).write_text(f"config:\n{lines}" if lines else "config: {}\n")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world with this program, up without resources."""
    root: Path = tmp_path_factory.mktemp("rules") / "project"
    (root / "config" / "stacks").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text(SETTINGS)
    (root / "__main__.py").write_text(PROGRAM)
    with watched(root, World) as world:
        configure(world)
        world.sandbox("up", STACK)
        yield world


def faults(world: World) -> Remote:
    return Remote(world.server.url)


def up(world: World, expect: int = 0) -> Said:
    return world.pulumi(STACK, "up", "--yes", "--skip-preview", "--json", expect=expect)


def test_a_node_group_that_failed_is_kept_and_the_next_up_goes_on_with_it(small: World) -> None:
    faults(small).set_faults(Failure("nodegroup", "nodes"))
    configure(small, **CONFIGURED)
    said = up(small, expect=1).errors()
    assert "unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: " in said
    assert "NodeCreationFailure: Instances failed to join the kubernetes cluster" in said
    (group,) = [each for each in small.resources(STACK) if each["type"] == "aws:eks/nodeGroup:NodeGroup"]
    assert group["id"].startswith("shop:nodes-")
    assert (group["outputs"]["status"], len(group["initErrors"])) == ("CREATE_FAILED", 1)
    assert done(up(small)) == []
    (group,) = [each for each in small.resources(STACK) if each["type"] == "aws:eks/nodeGroup:NodeGroup"]
    assert (group["outputs"]["status"], group.get("initErrors")) == ("CREATE_FAILED", None)


def test_an_add_ons_configuration_stays_until_an_empty_one_is_sent(small: World) -> None:
    configure(small, cluster="true", key=CONFIGURED["key"])
    assert small.preview(STACK) == []
    configure(small, **{**CONFIGURED, "values": "'{}'"})
    assert [(step.op, step.what) for step in small.up(STACK)] == [("update", "aws:eks/addon:Addon coredns")]
    eks = small.aws(STACK).client("eks")
    assert eks.describe_addon(clusterName="shop", addonName="coredns")["addon"]["configurationValues"] == "{}"


def test_a_log_group_that_eks_writes_once_more_stops_the_next_up(small: World) -> None:
    configure(small, **CONFIGURED)
    faults(small).set_faults(switches=["log-group"])
    small.pulumi(STACK, "destroy", "--yes", "--skip-preview", "--json")
    said = up(small, expect=1).errors()
    assert "ResourceAlreadyExistsException" in said
    small.aws(STACK).client("logs").delete_log_group(logGroupName="/aws/eks/shop/cluster")
    assert done(up(small))
