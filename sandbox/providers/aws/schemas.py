"""What the real provider knows of each type's inputs, and where that stands.

``source`` is a file and a function of hashicorp/terraform-provider-aws, below ``internal/service``, in versions of
2023 to 2026: the one that pulumi-aws 7.51.1 has inside is not public as a whole. Which top-level inputs are optional
and computed, a test compares with the SDK of exactly that version, in which they are outputs that are always there.
What replaces a thing stands in the rows: every input that no update names (``ForceNew``), and ``forced``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Schema:
    """Inputs of a type: paths that are optional and computed (``path.*`` for all inside), and defaults of others."""

    source: str
    computed: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def is_computed(self, path: str) -> bool:
        """Return whether an input that the program omits keeps what AWS has."""
        outer = (path[:end] for end in range(len(path)) if path[end] == ".")
        return path in self.computed or any(f"{each}.*" in self.computed for each in outer)


_EBS: Final = "blockDeviceMappings.ebs"
SCHEMAS: Final[Mapping[str, Schema]] = {
    "aws:autoscaling/group:Group": Schema(
        # No default tags: the schema has "tag" with propagate_at_launch, and no "tags_all".
        "autoscaling/group.go resourceGroup",
        ("desiredCapacity", "healthCheckType", "mixedInstancesPolicy", "mixedInstancesPolicy.*", "vpcZoneIdentifiers"),
    ),
    "aws:autoscaling/lifecycleHook:LifecycleHook": Schema(
        "autoscaling/lifecycle_hook.go resourceLifecycleHook", ("defaultResult",)
    ),
    "aws:autoscaling/tag:Tag": Schema("autoscaling/tag_gen.go resourceTag"),
    "aws:cloudwatch/eventRule:EventRule": Schema("events/rule.go resourceRule"),
    "aws:cloudwatch/eventTarget:EventTarget": Schema("events/target.go resourceTarget"),
    # Create adopts no group of that name: CreateLogGroup's ResourceAlreadyExistsException is the run's error.
    "aws:cloudwatch/logGroup:LogGroup": Schema("logs/group.go resourceGroup", defaults={"retentionInDays": 0}),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Schema(
        "ec2/vpc_default_security_group.go resourceDefaultSecurityGroup", ("egress", "ingress", "vpcId")
    ),
    "aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway": Schema(
        "ec2/vpc_egress_only_internet_gateway.go resourceEgressOnlyInternetGateway"
    ),
    "aws:ec2/eip:Eip": Schema("ec2/ec2_eip.go resourceEIP", ("domain",)),
    "aws:ec2/flowLog:FlowLog": Schema("ec2/vpc_flow_log.go resourceFlowLog", ("logDestination",)),
    "aws:ec2/internetGateway:InternetGateway": Schema(
        "ec2/vpc_internet_gateway.go resourceInternetGateway", ("vpcId",)
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Schema(
        "ec2/ec2_launch_template.go resourceLaunchTemplate",
        (
            f"{_EBS}.iops",
            f"{_EBS}.throughput",
            f"{_EBS}.volumeSize",
            f"{_EBS}.volumeType",
            "metadataOptions",
            "metadataOptions.*",
        ),
    ),
    "aws:ec2/natGateway:NatGateway": Schema("ec2/vpc_nat_gateway.go resourceNATGateway"),
    "aws:ec2/route:Route": Schema("ec2/vpc_route.go resourceRoute"),
    "aws:ec2/routeTable:RouteTable": Schema("ec2/vpc_route_table.go resourceRouteTable"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Schema(
        "ec2/vpc_route_table_association.go resourceRouteTableAssociation"
    ),
    "aws:ec2/securityGroup:SecurityGroup": Schema(
        "ec2/vpc_security_group.go resourceSecurityGroup",
        ("egress", "ingress", "vpcId"),
        {"description": "Managed by Pulumi"},
    ),
    "aws:ec2/subnet:Subnet": Schema(
        "ec2/vpc_subnet.go resourceSubnet",
        ("availabilityZone", "cidrBlock", "ipv6CidrBlock"),
        {"assignIpv6AddressOnCreation": False},
    ),
    "aws:ec2/tag:Tag": Schema("ec2/tag_gen.go resourceTag"),
    "aws:ec2/vpc:Vpc": Schema(
        "ec2/vpc_.go resourceVPC",
        ("cidrBlock", "enableDnsHostnames"),
        {"assignGeneratedIpv6CidrBlock": False, "enableDnsSupport": True},
    ),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Schema(
        "ec2/vpc_ipv4_cidr_block_association.go resourceVPCIPv4CIDRBlockAssociation", ("cidrBlock",)
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Schema(
        "ec2/vpc_endpoint.go resourceVPCEndpoint",
        ("policy", "privateDnsEnabled", "routeTableIds", "securityGroupIds", "subnetIds"),
        {"vpcEndpointType": "Gateway"},
    ),
    "aws:eks/accessEntry:AccessEntry": Schema(
        "eks/access_entry.go resourceAccessEntry", ("kubernetesGroups",), {"type": "STANDARD"}
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Schema(
        "eks/access_policy_association.go resourceAccessPolicyAssociation"
    ),
    "aws:eks/addon:Addon": Schema("eks/addon.go resourceAddon", ("addonVersion", "configurationValues")),
    "aws:eks/cluster:Cluster": Schema(
        "eks/cluster.go resourceCluster",
        (
            "accessConfig",
            "accessConfig.authenticationMode",
            "computeConfig",
            "controlPlaneScalingConfig",
            "controlPlaneScalingConfig.tier",
            "deletionProtection",
            "kubernetesNetworkConfig",
            "kubernetesNetworkConfig.*",
            "storageConfig",
            "upgradePolicy",
            "upgradePolicy.*",
            "version",
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
        "eks/node_group.go resourceNodeGroup",
        (
            "amiType",
            "capacityType",
            "instanceTypes",
            "launchTemplate.id",
            "launchTemplate.name",
            "nodeRepairConfig",
            "nodeRepairConfig.*",
            "releaseVersion",
            "updateConfig",
            "version",
        ),
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Schema(
        "eks/pod_identity_association.go podIdentityAssociationResource.Schema"
    ),
    "aws:iam/instanceProfile:InstanceProfile": Schema(
        "iam/instance_profile.go resourceInstanceProfile", defaults={"path": "/"}
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Schema(
        "iam/openid_connect_provider.go resourceOpenIDConnectProvider", ("thumbprintLists",)
    ),
    "aws:iam/policy:Policy": Schema("iam/policy.go resourcePolicy", defaults={"path": "/"}),
    "aws:iam/role:Role": Schema("iam/role.go resourceRole", defaults={"maxSessionDuration": 3600, "path": "/"}),
    "aws:iam/rolePolicy:RolePolicy": Schema("iam/role_policy.go resourceRolePolicy"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Schema(
        "iam/role_policy_attachment.go resourceRolePolicyAttachment"
    ),
    "aws:kms/alias:Alias": Schema("kms/alias.go resourceAlias"),
    "aws:kms/key:Key": Schema("kms/key.go resourceKey", ("description", "policy")),
    "aws:sqs/queue:Queue": Schema(
        "sqs/queue.go resourceQueue", ("sqsManagedSseEnabled",), {"messageRetentionSeconds": 345600}
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Schema("sqs/queue_policy.go resourceQueuePolicy"),
    "aws:ssm/document:Document": Schema("ssm/document.go resourceDocument", defaults={"documentFormat": "JSON"}),
}
