"""What all shapes of clusters need: a VPC, roles with instance profiles, EKS's image."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.inventory import BY_HAND

_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy")
_TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole"}
_CIDR = "10.80.{}.0/20"


@dataclass(frozen=True, slots=True)
class Network:
    """Subnets, one in each of two zones."""

    private: tuple[str, ...]
    public: tuple[str, ...]

    @property
    def subnets(self) -> list[str]:
        """All of them."""
        return [*self.private, *self.public]


@dataclass(frozen=True, slots=True)
class Account:
    """``client`` returns boto3's client of a service, in the region of the cluster."""

    client: Callable[[str], Any]
    version: str = "1.34"

    def make_network(self, private_name: str, public_name: str, tags: Mapping[str, str]) -> Network:
        """Make a VPC with a private and a public subnet in two zones; ``{zone}`` stands in their names."""
        ec2 = self.client("ec2")
        zones = sorted(row["ZoneName"] for row in ec2.describe_availability_zones()["AvailabilityZones"])[:2]
        vpc = ec2.create_vpc(CidrBlock="10.80.0.0/16")["Vpc"]["VpcId"]
        self.tag([vpc], {BY_HAND: "true", **tags})
        made: dict[bool, list[str]] = {False: [], True: []}
        for number, (public, zone) in enumerate((public, zone) for public in (False, True) for zone in zones):
            row = ec2.create_subnet(VpcId=vpc, CidrBlock=_CIDR.format(16 * number), AvailabilityZone=zone)
            subnet = row["Subnet"]["SubnetId"]
            ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": public})
            name = (public_name if public else private_name).format(zone=zone)
            role = "kubernetes.io/role/elb" if public else "kubernetes.io/role/internal-elb"
            self.tag([subnet], {BY_HAND: "true", "Name": name, role: "1", **tags})
            made[public].append(subnet)
        self._make_routes(vpc, made[False], made[True])
        return Network(tuple(made[False]), tuple(made[True]))

    def _make_routes(self, vpc: str, private: Sequence[str], public: Sequence[str]) -> None:
        """Lead public subnets to an internet gateway, and private ones to a NAT gateway."""
        ec2 = self.client("ec2")
        internet = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=internet, VpcId=vpc)
        address = ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = ec2.create_nat_gateway(SubnetId=public[0], AllocationId=address)["NatGateway"]["NatGatewayId"]
        for subnets, gateway in ((public, {"GatewayId": internet}), (private, {"NatGatewayId": nat})):
            table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
            ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **gateway)
            for subnet in subnets:
                ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)

    def tag(self, resources: Sequence[str], tags: Mapping[str, str]) -> None:
        """Tag resources of EC2."""
        self.client("ec2").create_tags(Resources=list(resources), Tags=list_tags(tags))

    def make_role(self, name: str, service: str = "ec2", policies: Sequence[str] = _POLICIES) -> str:
        """Make a role with AWS's policies, and an instance profile of its name for EC2; return the ARN."""
        iam = self.client("iam")
        trust = {
            "Version": "2012-10-17",
            "Statement": [{**_TRUST, "Principal": {"Service": f"{service}.amazonaws.com"}}],
        }
        arn: str = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
        for policy in policies:
            iam.attach_role_policy(RoleName=name, PolicyArn=f"arn:aws:iam::aws:policy/{policy}")
        if service == "ec2":
            iam.create_instance_profile(InstanceProfileName=name)
            iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)
        return arn

    def make_cluster(self, name: str, role: str, subnets: Sequence[str], **more: Any) -> dict[str, Any]:
        """Make a control plane whose endpoint is public and private."""
        access = {"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}
        made: dict[str, Any] = self.client("eks").create_cluster(
            name=name,
            version=self.version,
            roleArn=role,
            resourcesVpcConfig={"subnetIds": list(subnets), "endpointPrivateAccess": True},
            **{"accessConfig": access, **more},
        )["cluster"]
        return made

    def make_addons(self, cluster: str, names: Sequence[str], **configuration: str) -> None:
        """Install add-ons in EKS's default versions; ``vpc_cni`` is the configuration of vpc-cni."""
        for name in names:
            written = configuration.get(name.replace("-", "_"))
            more = {"configurationValues": written} if written else {}
            self.client("eks").create_addon(clusterName=cluster, addonName=name, **more)

    def make_template(self, name: str, data: Mapping[str, Any]) -> dict[str, str]:
        """Make a launch template; return what EKS calls it by."""
        made = self.client("ec2").create_launch_template(LaunchTemplateName=name, LaunchTemplateData=dict(data))
        return {"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"}

    def make_scaling_group(self, name: str, tags: Mapping[str, str], subnets: Sequence[str], **more: Any) -> None:
        """Make an Auto Scaling Group whose tags go to its instances."""
        rows = [{**each, "PropagateAtLaunch": True} for each in list_tags(tags)]
        self.client("autoscaling").create_auto_scaling_group(
            AutoScalingGroupName=name, Tags=rows, VPCZoneIdentifier=",".join(subnets), **more
        )

    def find_image(self) -> str:
        """Return EKS's image of Amazon Linux 2023 for amd64."""
        path = f"/aws/service/eks/optimized-ami/{self.version}/amazon-linux-2023/x86_64/standard/recommended/image_id"
        return str(self.client("ssm").get_parameter(Name=path)["Parameter"]["Value"])


def list_tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags as EC2 takes them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def encode_node_config(cluster: Mapping[str, Any], *flags: str) -> str:
    """Return user data with a NodeConfig, as nodeadm reads it, in base64."""
    lines = [
        "---",
        "apiVersion: node.eks.aws/v1alpha1",
        "kind: NodeConfig",
        "spec:",
        "  cluster:",
        f"    name: {cluster['name']}",
        f"    apiServerEndpoint: {cluster['endpoint']}",
        f"    certificateAuthority: {cluster['certificateAuthority']['data']}",
        f"    cidr: {cluster['kubernetesNetworkConfig']['serviceIpv4Cidr']}",
        *(["  kubelet:", "    flags:", *(f"    - {flag}" for flag in flags)] if flags else []),
    ]
    part = "Content-Type: application/node.eks.aws\n\n{}\n".format("\n".join(lines))
    message = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\n{part}--//--\n'
    return base64.b64encode(message.encode()).decode()
