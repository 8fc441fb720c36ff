"""What the real provider knows of each type, and where that stands.

``source`` is a file and a function of hashicorp/terraform-provider-aws, below ``internal/service``, in versions of
2023 to 2026: the one that pulumi-aws 7.51.1 has inside is not public as a whole. The SDK of exactly that version says
which properties a type has, and which top-level inputs are optional and computed: outputs that are always there.
What replaces a thing stands in the rows: every input that no update names (``ForceNew``), and ``forced``.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args


@dataclass(frozen=True, slots=True)
class Schema:
    """Paths inside inputs that are optional and computed (``path.*`` for all inside), and defaults of other inputs."""

    source: str
    computed: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


@functools.cache
def read_properties(token: str) -> Mapping[str, bool]:
    """Return the properties of a type in the SDK: whether a thing always has them, whatever the program omits."""
    _, path, name = token.split(":")
    kind = getattr(importlib.import_module(f"pulumi_aws.{path.partition('/')[0]}"), name)
    getters = [each.fget for each in vars(kind).values() if isinstance(each, property) and each.fget]
    kinds = {vars(each).get("_pulumi_name", each.__name__): each.__annotations__["return"] for each in getters}
    # An output is an Output of one type.
    return {key: type(None) not in get_args(*get_args(each)) for key, each in kinds.items()}


_EBS: Final = "blockDeviceMappings.ebs"
SCHEMAS: Final[Mapping[str, Schema]] = {
    # No default tags: the schema has "tag" with propagate_at_launch, and no "tags_all".
    "aws:autoscaling/group:Group": Schema("autoscaling/group.go resourceGroup", ("mixedInstancesPolicy.*",)),
    "aws:autoscaling/lifecycleHook:LifecycleHook": Schema("autoscaling/lifecycle_hook.go resourceLifecycleHook"),
    "aws:autoscaling/tag:Tag": Schema("autoscaling/tag_gen.go resourceTag"),
    "aws:cloudwatch/eventRule:EventRule": Schema("events/rule.go resourceRule"),
    "aws:cloudwatch/eventTarget:EventTarget": Schema("events/target.go resourceTarget"),
    # Create adopts no group of that name: CreateLogGroup's ResourceAlreadyExistsException is the run's error.
    "aws:cloudwatch/logGroup:LogGroup": Schema("logs/group.go resourceGroup", defaults={"retentionInDays": 0}),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Schema(
        "ec2/vpc_default_security_group.go resourceDefaultSecurityGroup"
    ),
    "aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway": Schema(
        "ec2/vpc_egress_only_internet_gateway.go resourceEgressOnlyInternetGateway"
    ),
    "aws:ec2/eip:Eip": Schema("ec2/ec2_eip.go resourceEIP"),
    "aws:ec2/flowLog:FlowLog": Schema("ec2/vpc_flow_log.go resourceFlowLog"),
    "aws:ec2/internetGateway:InternetGateway": Schema("ec2/vpc_internet_gateway.go resourceInternetGateway"),
    "aws:ec2/launchTemplate:LaunchTemplate": Schema(
        "ec2/ec2_launch_template.go resourceLaunchTemplate",
        (f"{_EBS}.iops", f"{_EBS}.throughput", f"{_EBS}.volumeSize", f"{_EBS}.volumeType", "metadataOptions.*"),
    ),
    "aws:ec2/natGateway:NatGateway": Schema("ec2/vpc_nat_gateway.go resourceNATGateway"),
    "aws:ec2/route:Route": Schema("ec2/vpc_route.go resourceRoute"),
    "aws:ec2/routeTable:RouteTable": Schema("ec2/vpc_route_table.go resourceRouteTable"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Schema(
        "ec2/vpc_route_table_association.go resourceRouteTableAssociation"
    ),
    "aws:ec2/securityGroup:SecurityGroup": Schema(
        "ec2/vpc_security_group.go resourceSecurityGroup", defaults={"description": "Managed by Pulumi"}
    ),
    "aws:ec2/subnet:Subnet": Schema(
        "ec2/vpc_subnet.go resourceSubnet", defaults={"assignIpv6AddressOnCreation": False}
    ),
    "aws:ec2/tag:Tag": Schema("ec2/tag_gen.go resourceTag"),
    "aws:ec2/vpc:Vpc": Schema(
        "ec2/vpc_.go resourceVPC", defaults={"assignGeneratedIpv6CidrBlock": False, "enableDnsSupport": True}
    ),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Schema(
        "ec2/vpc_ipv4_cidr_block_association.go resourceVPCIPv4CIDRBlockAssociation"
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Schema(
        "ec2/vpc_endpoint.go resourceVPCEndpoint", defaults={"vpcEndpointType": "Gateway"}
    ),
    "aws:eks/accessEntry:AccessEntry": Schema("eks/access_entry.go resourceAccessEntry", defaults={"type": "STANDARD"}),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Schema(
        "eks/access_policy_association.go resourceAccessPolicyAssociation"
    ),
    "aws:eks/addon:Addon": Schema("eks/addon.go resourceAddon"),
    "aws:eks/cluster:Cluster": Schema(
        "eks/cluster.go resourceCluster",
        (
            "accessConfig.authenticationMode",
            "controlPlaneScalingConfig.tier",
            "kubernetesNetworkConfig.*",
            "upgradePolicy.*",
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.vpcId",
        ),
        {
            "accessConfig.bootstrapClusterCreatorAdminPermissions": True,
            "bootstrapSelfManagedAddons": True,
            "vpcConfig.endpointPublicAccess": True,
        },
    ),
    "aws:eks/fargateProfile:FargateProfile": Schema("eks/fargate_profile.go resourceFargateProfile"),
    "aws:eks/nodeGroup:NodeGroup": Schema(
        "eks/node_group.go resourceNodeGroup", ("launchTemplate.id", "launchTemplate.name", "nodeRepairConfig.*")
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Schema(
        "eks/pod_identity_association.go podIdentityAssociationResource.Schema"
    ),
    "aws:iam/instanceProfile:InstanceProfile": Schema(
        "iam/instance_profile.go resourceInstanceProfile", defaults={"path": "/"}
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Schema(
        "iam/openid_connect_provider.go resourceOpenIDConnectProvider"
    ),
    "aws:iam/policy:Policy": Schema("iam/policy.go resourcePolicy", defaults={"path": "/"}),
    "aws:iam/role:Role": Schema("iam/role.go resourceRole", defaults={"maxSessionDuration": 3600, "path": "/"}),
    "aws:iam/rolePolicy:RolePolicy": Schema("iam/role_policy.go resourceRolePolicy"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Schema(
        "iam/role_policy_attachment.go resourceRolePolicyAttachment"
    ),
    "aws:kms/alias:Alias": Schema("kms/alias.go resourceAlias"),
    "aws:kms/key:Key": Schema("kms/key.go resourceKey"),
    "aws:sqs/queue:Queue": Schema("sqs/queue.go resourceQueue", defaults={"messageRetentionSeconds": 345600}),
    "aws:sqs/queuePolicy:QueuePolicy": Schema("sqs/queue_policy.go resourceQueuePolicy"),
    "aws:ssm/document:Document": Schema("ssm/document.go resourceDocument", defaults={"documentFormat": "JSON"}),
}
