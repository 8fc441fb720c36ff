"""A stack on a cluster that its own program did not make: pinned, up, unchanged, down, and the cluster as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from multiarch.stack.model import ExistingNetwork
from sandbox.aws.remote import Remote
from sandbox.inventory import Aws
from tests.e2e.world import World
from tests.kubernetes.api_server import Answer, Request, serving

pytestmark = pytest.mark.e2e
STACK, CLUSTER, REGION = "shop-dev", "shop", "eu-central-1"
WORDS = f"""\
config:
  aws:region: {REGION}
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:cluster:
    existing: {CLUSTER}
  multiarch-eks:nodeGroups:
    arm: {{instanceTypes: [m7g.large], minSize: 1, maxSize: 3, onePerZone: true}}
    own: {{instanceTypes: [m7g.large], minSize: 1, maxSize: 3, kind: self-managed, onePerZone: false}}
  multiarch-eks:autoscaling:
    use: cluster-autoscaler
    clusterAutoscaler: {{installed: true}}
"""


def make_network(aws: Aws, vpc: str, private: list[str]) -> None:
    """Give the private subnets a way out through a NAT gateway in a public one, which the cluster has too."""
    ec2 = aws.client("ec2")
    zone = ec2.describe_subnets(SubnetIds=private[:1])["Subnets"][0]["AvailabilityZone"]
    public = ec2.create_subnet(VpcId=vpc, CidrBlock="10.64.192.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address)["NatGateway"]["NatGatewayId"]
    for subnets, way in (([public], {"GatewayId": gateway}), (private, {"NatGatewayId": nat})):
        table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **way)
        for subnet in subnets:
            ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    role = aws.client("iam").create_role(RoleName="theirs", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    eks = aws.client("eks")
    eks.create_cluster(
        name=CLUSTER,
        version="1.34",
        roleArn=role,
        resourcesVpcConfig={"subnetIds": [*private, public]},
        accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
        tags={"owner": "platform"},
    )
    eks.create_addon(clusterName=CLUSTER, addonName="eks-pod-identity-agent")
    eks.create_addon(clusterName=CLUSTER, addonName="vpc-cni", configurationValues="{}")


def describe(aws: Aws) -> dict[str, Any]:
    """Everything about the cluster, its subnets and security groups that EKS and EC2 describe."""
    eks, ec2 = aws.client("eks"), aws.client("ec2")
    cluster = eks.describe_cluster(name=CLUSTER)["cluster"]
    by = [{"Name": "vpc-id", "Values": [cluster["resourcesVpcConfig"]["vpcId"]]}]
    return {
        "cluster": cluster,
        "subnets": [
            # Nodes take addresses, and give them back.
            {key: value for key, value in row.items() if key != "AvailableIpAddressCount"}
            for row in ec2.describe_subnets(Filters=by)["Subnets"]
        ],
        "security groups": ec2.describe_security_groups(Filters=by)["SecurityGroups"],
    }


@pytest.fixture
def serving_objects() -> Iterator[tuple[str, set[str]]]:
    """An API server's URL, and the names of the objects that it has."""
    there = set[str]()

    def answer(request: Request) -> Answer:
        if request.path == "/version":
            return 200, {"major": "1", "minor": "34"}, {}
        if request.method == "POST":
            return 201, {"status": {"allowed": True}}, {}
        return (200 if {"readyz", *there} & {*request.path.split("/")} else 404), {}, {}

    with serving(answer) as server:
        yield server.url, there


def test_a_stack_adds_nodes_to_a_cluster_of_another_tool_and_leaves_it_as_it_was(
    world: World, serving_objects: tuple[str, set[str]]
) -> None:
    file = world.stack_file(STACK)
    file.write_text(WORDS)
    made = world.sandbox("vpc", STACK).stdout
    api, there = serving_objects
    Remote(world.server.url).lead_clusters_to(api, "")
    vpc, private = re.findall(r"vpc-\w+", made)[0], re.findall(r"subnet-\w+", made)
    aws = world.aws(STACK)
    missing = world.pulumi(STACK, "preview", expect=1).stdout
    assert "Run `multiarch stack pin shop-dev`, which reads them from AWS. [cluster-not-pinned]" in missing
    make_network(aws, vpc, private)
    before, held = describe(aws), world.held(STACK)

    world.multiarch(STACK, "stack", "pin", STACK)
    plan = world.plan(STACK)
    assert isinstance(plan.network, ExistingNetwork)
    assert (plan.cluster.version, sorted(plan.network.private_subnet_ids)) == ("1.34", sorted(private))
    # Version and mode, subnets, images: the second time nothing is left to write.
    written = file.read_bytes()
    world.multiarch(STACK, "stack", "pin", STACK)
    assert file.read_bytes() == written

    # An object of somebody else's ends the preview, not the run in its middle.
    there.add("cluster-autoscaler-priority-expander")
    rejected = world.pulumi(STACK, "preview", expect=1).stdout
    assert "ConfigMap kube-system/cluster-autoscaler-priority-expander is in the cluster shop already" in rejected
    there.clear()

    world.up(STACK)
    there.add("cluster-autoscaler-priority-expander")  # as the provider's stand-in has it now
    assert world.preview(STACK) == []
    # In Pulumi's state: it is the stack's own now.
    rows = json.loads(world.multiarch(STACK, "doctor", STACK, "--output", "json"))["rows"]
    of_cluster = [each for each in rows if each["check"] in ("kubernetes access", "object")]
    assert [each["state"] for each in of_cluster] == ["ok", "ok"], of_cluster
    nodes = {name: len(ids) for name, ids in world.instance_ids(STACK).items()}
    assert nodes == {group.name: 1 for group in plan.node_groups}
    (entry,) = world.held(STACK)["access entries"]  # EKS makes that of managed groups, the sandbox's does not
    assert "/shop-self-managed-nodes-" in entry
    (ours,) = [each for each in world.resources(STACK) if each["type"] == "kubernetes:core/v1:ConfigMap"]
    priorities = ours["inputs"]["data"]["priorities"]
    assert priorities.startswith("70:\n  - '^eks-arm-")
    assert priorities.endswith("10:\n  - '.*'\n")
    assert describe(aws) == before

    # What another tool or stack made is not overwritten.
    file.write_bytes(written.replace(b"1.34", b"1.33"))
    told = world.pulumi(STACK, "preview", expect=1).stdout
    assert "kubernetesVersion: the cluster shop has 1.34, and the file says 1.33." in told
    assert "[cluster-differs]" in told
    file.write_bytes(written)

    world.pulumi(STACK, "destroy", "--yes", "--skip-preview")
    assert describe(aws) == before
    assert world.held(STACK) == held
