"""From nothing to a running stack with the commands of the README, on the file as it is written."""

from __future__ import annotations

import json
import re

import pytest

from sandbox.layout import CLONE
from tests.e2e import aws as held
from tests.e2e.cluster_records import node_pools, records
from tests.e2e.world import NO_REFRESH, World

pytestmark = pytest.mark.e2e
STACK = "search-dev"
IN_A_VPC = "ledger-staging"
BESIDE = "batch-dev"
IN_ITS_CLUSTER = """\
config:
  aws:region: us-east-1
  multiarch-eks:team: batch
  multiarch-eks:environment: dev
  multiarch-eks:owner: batch@example.com
  multiarch-eks:costCenter: "4711"
  multiarch-eks:kubernetesVersion: "1.35"
  multiarch-eks:cluster: {{existing: {cluster}, authenticationMode: API, ipFamily: ipv4, subnets: {subnets}}}
  multiarch-eks:autoscaling: {{use: auto-mode, autoMode: {{nodePools: {{batch: {{cpuLimit: 64}}}}}}}}
"""
IPV6 = "edge-dev"
WITH_IPV6 = """\
config:
  aws:region: us-east-1
  multiarch-eks:team: edge
  multiarch-eks:environment: dev
  multiarch-eks:owner: edge@example.com
  multiarch-eks:costCenter: "4711"
  multiarch-eks:network: {ipFamily: ipv6}
  multiarch-eks:nodeGroups:
    system: {instanceTypes: [m7i.large], kind: self-managed, amiFamily: Bottlerocket}
"""
ADDED = {
    "amazon-cloudwatch-observability": "amazon-cloudwatch/cloudwatch-agent",
    "aws-efs-csi-driver": "kube-system/efs-csi-controller-sa",
    "aws-mountpoint-s3-csi-driver": "kube-system/s3-csi-driver-sa",
    "external-dns": "external-dns/external-dns",
    "metrics-server": "",
}
"""What the example adds, and whose role it is."""
PLATFORM_ROLE = "platform-eks"
"""The control plane's role, which exists before the stack."""
AUTO_MODE = "  multiarch-eks:autoscaling: {use: auto-mode, autoMode: {nodePools: {general: {cpuLimit: 64}}}}\n"


def test_a_new_stack_is_valid_renders_comes_up_can_be_pinned_and_goes_down(world: World) -> None:
    world.multiarch(STACK, "stack", "new", "--team", "search", "--env", "dev")
    written = world.stack_file(STACK).read_bytes()
    world.multiarch(STACK, "stack", "check", STACK)
    world.multiarch(STACK, "stack", "render", STACK)
    rendered = [file for file in (world.root / "build" / STACK).rglob("*") if file.is_file()]
    assert rendered != []

    world.sandbox("up", STACK)
    plan = world.plan(STACK)
    assert {name: len(ids) for name, ids in world.instance_ids(STACK).items()} == {
        group.name: group.sizes.desired for group in plan.node_groups
    }
    assert sorted(str(group.architecture) for group in plan.node_groups) == ["amd64", "arm64"]
    assert world.stack_file(STACK).read_bytes() == written

    # Managed groups that run already get successors: EKS does not move a group to an image of the launch template.
    world.multiarch(STACK, "stack", "pin", STACK)
    assert all(group.ami.id and group.ami.release for group in world.plan(STACK).node_groups)
    with world.stack_file(STACK).open("a", encoding="utf-8") as file:
        file.write("  multiarch-eks:nodeRepair: true\n  multiarch-eks:zonalShift: true\n")
        file.write("  multiarch-eks:controlPlaneTier: tier-xl\n")
    # Pods get a CIDR block of their own; the groups' successors know how many fit.
    text = world.stack_file(STACK).read_text(encoding="utf-8")
    text = text.replace("  multiarch-eks:network:\n", "  multiarch-eks:network:\n    podCidr: 100.64.0.0/16\n")
    world.stack_file(STACK).write_text(text, encoding="utf-8")
    steps = [step.op for step in world.up(STACK, NO_REFRESH) if step.what.startswith("aws:eks/nodeGroup:")]
    assert sorted(steps) == ["create-replacement"] * 2 + ["delete-replaced"] * 2 + ["replace"] * 2
    assert world.preview(STACK) == []
    eks = world.aws(STACK).client("eks")
    cluster = eks.describe_cluster(name=STACK)["cluster"]
    settings = [cluster[key] for key in ("upgradePolicy", "zonalShiftConfig", "controlPlaneScalingConfig")]
    assert settings == [{"supportType": "STANDARD"}, {"enabled": True}, {"tier": "tier-xl"}]
    groups = [
        {"clusterName": STACK, "nodegroupName": each} for each in eks.list_nodegroups(clusterName=STACK)["nodegroups"]
    ]
    assert all(eks.describe_nodegroup(**each)["nodegroup"]["nodeRepairConfig"] == {"enabled": True} for each in groups)

    check_custom_networking(world)
    check_ipv6(world)

    # Another one goes into a VPC that is there before it.
    text = (CLONE / "examples" / "04-existing-vpc" / f"Pulumi.{IN_A_VPC}.yaml").read_text(encoding="utf-8")
    world.stack_file(IN_A_VPC).write_text(text, encoding="utf-8")
    made = world.sandbox("vpc", IN_A_VPC).stdout
    text, changes = re.subn(r"  multiarch-eks:network:\n(?:    .*\n)+", made, text)
    assert changes == 1
    world.stack_file(IN_A_VPC).write_text(text, encoding="utf-8")
    check_auto_mode(world, text)
    assert not {row["type"] for row in world.resources(IN_A_VPC)} & {"aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"}
    check_pools_beside_it(world)

    # The stack leaves alone what was there before it.
    world.aws(IN_A_VPC).client("iam").delete_role(RoleName=PLATFORM_ROLE)
    assert "nothing is left" in world.sandbox("down").stderr
    assert world.processes() == {}


def check_custom_networking(world: World) -> None:
    """Compare the VPC CNI's configuration with the subnets that are there; nodes are in none of them."""
    eks, ec2 = world.aws(STACK).client("eks"), world.aws(STACK).client("ec2")
    addon = eks.describe_addon(clusterName=STACK, addonName="vpc-cni")["addon"]
    found = {zone: row["id"] for zone, row in json.loads(addon["configurationValues"])["eniConfig"]["subnets"].items()}
    rows = ec2.describe_subnets(SubnetIds=[*found.values()])["Subnets"]
    assert {row["AvailabilityZone"]: row["SubnetId"] for row in rows} == found
    assert all(row["CidrBlock"].startswith("100.64.") for row in rows)
    nodes = eks.describe_cluster(name=STACK)["cluster"]["resourcesVpcConfig"]["subnetIds"]
    assert not {*found.values()} & {*nodes}


def check_ipv6(world: World) -> None:
    """Bring a cluster with IPv6 up: its subnets have IPv6 addresses, and nodes learn the Services' CIDR block."""
    world.stack_file(IPV6).write_text(WITH_IPV6, encoding="utf-8")
    world.sandbox("up", IPV6)
    assert world.preview(IPV6) == []
    eks, ec2 = world.aws(IPV6).client("eks"), world.aws(IPV6).client("ec2")
    cluster = eks.describe_cluster(name=IPV6)["cluster"]
    services = cluster["kubernetesNetworkConfig"]["serviceIpv6Cidr"]
    rows = ec2.describe_subnets(SubnetIds=cluster["resourcesVpcConfig"]["subnetIds"])["Subnets"]
    assert all(row["AssignIpv6AddressOnCreation"] and row["Ipv6CidrBlockAssociationSet"] for row in rows)
    tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [cluster["resourcesVpcConfig"]["vpcId"]]}])
    outward = [
        route for each in tables["RouteTables"] for route in each["Routes"] if "EgressOnlyInternetGatewayId" in route
    ]
    assert {route["DestinationIpv6CidrBlock"] for route in outward} == {"::/0"}
    (system,) = world.plan(IPV6).node_groups
    text = held.user_data(held.group(world.aws(IPV6), IPV6, system).template)
    assert f'"{services.partition("/")[0]}a"' in text


def check_auto_mode(world: World, text: str) -> None:
    """Bring the stack of ``text`` up with EKS Auto Mode and no node group of its own."""
    text, changes = re.subn(r"  multiarch-eks:(nodeGroups|charts|autoscaling):\n(?:    .*\n)+", "", text)
    assert changes == 3
    iam = world.aws(IN_A_VPC).client("iam")
    given = iam.create_role(RoleName=PLATFORM_ROLE, Path="/platform/", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    text = text.replace("    path: /teams/ledger/\n", f"    path: /teams/ledger/\n    roles: {{cluster: '{given}'}}\n")
    world.stack_file(IN_A_VPC).write_text(f"{text}{AUTO_MODE}", encoding="utf-8")
    world.sandbox("up", IN_A_VPC)
    assert world.preview(IN_A_VPC) == []
    made = [each["RoleName"] for each in iam.list_roles(PathPrefix="/teams/ledger/")["Roles"]]
    bounds = [iam.get_role(RoleName=each)["Role"]["PermissionsBoundary"]["PermissionsBoundaryArn"] for each in made]
    assert set(bounds) == {"arn:aws:iam::111122223333:policy/teams-boundary"}
    cluster = world.aws(IN_A_VPC).client("eks").describe_cluster(name=IN_A_VPC)["cluster"]
    assert (cluster["computeConfig"], cluster["storageConfig"]) == (
        {"enabled": True, "nodePools": []},
        {"blockStorage": {"enabled": True}},
    )
    assert (cluster["roleArn"], cluster["upgradePolicy"]) == (given, {"supportType": "STANDARD"})
    assert cluster["kubernetesNetworkConfig"]["elasticLoadBalancing"] == {"enabled": True}
    # Its nodes need none of the add-ons that have a key of their own.
    assert add_ons(world) == ADDED
    found = records(world, IN_A_VPC)
    subnets = found["NodeClass", IN_A_VPC]["spec"]["subnetSelectorTerms"]
    assert {each["id"] for each in subnets} <= set(cluster["resourcesVpcConfig"]["subnetIds"])
    assert set(node_pools(world, IN_A_VPC)) == {
        "general-arm64-spot",
        "general-arm64-on-demand",
        "general-amd64-spot",
        "general-amd64-on-demand",
    }


def add_ons(world: World) -> dict[str, str]:
    """Return the add-ons of the cluster in the VPC, with the service account that has a role."""
    eks = world.aws(IN_A_VPC).client("eks")
    roles = eks.list_pod_identity_associations(clusterName=IN_A_VPC)["associations"]
    by_owner = {
        each["ownerArn"]: f"{each['namespace']}/{each['serviceAccount']}" for each in roles if "ownerArn" in each
    }
    names = eks.list_addons(clusterName=IN_A_VPC)["addons"]
    found = (eks.describe_addon(clusterName=IN_A_VPC, addonName=name)["addon"] for name in names)
    return {each["addonName"]: by_owner.get(each["addonArn"], "") for each in found}


def check_pools_beside_it(world: World) -> None:
    """Add another team's pools to the cluster that is there now, of which nothing changes."""
    eks, ec2 = world.aws(IN_A_VPC).client("eks"), world.aws(IN_A_VPC).client("ec2")
    before = eks.describe_cluster(name=IN_A_VPC)["cluster"]
    entries = eks.list_access_entries(clusterName=IN_A_VPC)["accessEntries"]
    rows = ec2.describe_subnets(SubnetIds=before["resourcesVpcConfig"]["subnetIds"])["Subnets"]
    zones = {row["AvailabilityZone"]: [row["SubnetId"]] for row in rows}
    world.stack_file(BESIDE).write_text(IN_ITS_CLUSTER.format(cluster=IN_A_VPC, subnets=json.dumps(zones)))
    world.sandbox("up", BESIDE)
    assert world.preview(BESIDE) == []
    spec = records(world, BESIDE)["NodeClass", BESIDE]["spec"]
    assert "tags" not in spec
    assert {each["id"] for each in spec["subnetSelectorTerms"]} == {each for ids in zones.values() for each in ids}
    assert len(eks.list_access_entries(clusterName=IN_A_VPC)["accessEntries"]) == len(entries) + 1
    world.pulumi(BESIDE, "destroy", "--yes", "--skip-preview", "--json", NO_REFRESH)
    assert eks.describe_cluster(name=IN_A_VPC)["cluster"] == before
    assert eks.list_access_entries(clusterName=IN_A_VPC)["accessEntries"] == entries
