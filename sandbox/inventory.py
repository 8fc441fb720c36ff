"""The resources in the sandbox's AWS, read with boto3 as from the real AWS.

What every account comes with is omitted: the default VPC, and what a VPC has from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jmespath
from botocore.exceptions import BotoCoreError, ClientError

from multiarch.errors import OutsideError
from sandbox import backend
from sandbox.clients import get_client
from sandbox.layout import Layout


@dataclass(frozen=True, slots=True)
class Listing:
    """How the resources of one kind are listed, and a JMESPath to the name of each one that still exists."""

    label: str
    service: str
    operation: str
    path: str
    arguments: tuple[tuple[str, Any], ...] = ()


BY_HAND = "multiarch-sandbox:by-hand"
"""The tag of a VPC and its subnets that are to look as if they were there before the stacks."""
_STACKS = f"!(Tags[?Key=='{BY_HAND}'])"

CLUSTERS = "EKS clusters"
KINDS = (
    Listing(CLUSTERS, "eks", "list_clusters", "clusters[]"),
    Listing(
        "Auto Scaling groups", "autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups[].AutoScalingGroupName"
    ),
    Listing("launch templates", "ec2", "describe_launch_templates", "LaunchTemplates[].LaunchTemplateName"),
    Listing(
        "instances",
        "ec2",
        "describe_instances",
        "Reservations[].Instances[?State.Name!='terminated'].InstanceId[]",
    ),
    Listing("VPCs", "ec2", "describe_vpcs", f"Vpcs[?!IsDefault && {_STACKS}].VpcId"),
    Listing("subnets", "ec2", "describe_subnets", f"Subnets[?!DefaultForAz && {_STACKS}].SubnetId"),
    Listing("security groups", "ec2", "describe_security_groups", "SecurityGroups[?GroupName!='default'].GroupId"),
    Listing("route tables", "ec2", "describe_route_tables", "RouteTables[?!(Associations[?Main])].RouteTableId"),
    Listing(
        "egress-only internet gateways",
        "ec2",
        "describe_egress_only_internet_gateways",
        "EgressOnlyInternetGateways[].EgressOnlyInternetGatewayId",
    ),
    Listing("internet gateways", "ec2", "describe_internet_gateways", "InternetGateways[].InternetGatewayId"),
    Listing("NAT gateways", "ec2", "describe_nat_gateways", "NatGateways[?State!='deleted'].NatGatewayId"),
    Listing("elastic IPs", "ec2", "describe_addresses", "Addresses[].AllocationId"),
    Listing("VPC endpoints", "ec2", "describe_vpc_endpoints", "VpcEndpoints[?State!='deleted'].VpcEndpointId"),
    Listing("flow logs", "ec2", "describe_flow_logs", "FlowLogs[].FlowLogId"),
    Listing("IAM roles", "iam", "list_roles", "Roles[?!starts_with(Path, '/aws-service-role/')].RoleName"),
    Listing("IAM policies", "iam", "list_policies", "Policies[].Arn", (("Scope", "Local"),)),
    Listing("instance profiles", "iam", "list_instance_profiles", "InstanceProfiles[].InstanceProfileName"),
    Listing("OIDC providers", "iam", "list_open_id_connect_providers", "OpenIDConnectProviderList[].Arn"),
    Listing("KMS keys", "kms", "list_keys", "Keys[].KeyId"),
    Listing("SQS queues", "sqs", "list_queues", "QueueUrls[]"),
    Listing("EventBridge rules", "events", "list_rules", "Rules[].Name"),
    Listing("log groups", "logs", "describe_log_groups", "logGroups[].logGroupName"),
    Listing(
        "SSM documents",
        "ssm",
        "list_documents",
        "DocumentIdentifiers[].Name",
        (("Filters", [{"Key": "Owner", "Values": ["Self"]}]),),
    ),
)
EVERYWHERE = frozenset(kind.label for kind in KINDS if kind.service == "iam")
"""The labels of what is not in a region: every region has the same."""

# AWS makes these itself when a service first needs one, for example for the first encrypted volume.
_KEYS_OF_AWS = Listing(
    "KMS aliases", "kms", "list_aliases", "Aliases[?starts_with(AliasName, 'alias/aws/')].TargetKeyId"
)
_OF_A_CLUSTER = (
    Listing("node groups", "eks", "list_nodegroups", "nodegroups[]"),
    Listing("add-ons", "eks", "list_addons", "addons[]"),
    Listing("access entries", "eks", "list_access_entries", "accessEntries[]"),
)


@dataclass(frozen=True, slots=True)
class Aws:
    """One region of the sandbox's AWS; ``url`` is the AWS server's."""

    url: str
    region: str

    def client(self, service: str) -> Any:  # noqa: ANN401 (boto3 makes its clients at run time)
        """Return boto3's client of a service."""
        return get_client(service, self.url, self.region)

    def ask(self, kind: Listing, **more: Any) -> tuple[str, ...]:
        """List the resources of a kind, sorted.

        Raises:
            OutsideError: the server does not answer, or rejects the request.
        """
        client = self.client(kind.service)
        arguments = dict(kind.arguments) | more
        try:
            if client.can_paginate(kind.operation):
                pages = client.get_paginator(kind.operation).paginate(**arguments)
            else:
                pages = [getattr(client, kind.operation)(**arguments)]
            found = [name for page in pages for name in jmespath.search(kind.path, page) or ()]
        except (BotoCoreError, ClientError) as error:
            raise OutsideError(f"The sandbox's AWS did not list {kind.label}: {error}") from error
        return tuple(sorted(found))

    def everything(self) -> dict[str, tuple[str, ...]]:
        """List what there is, by label; kinds without resources are omitted."""
        found = {kind.label: self.ask(kind) for kind in KINDS}
        theirs = set(self.ask(_KEYS_OF_AWS))
        keys = (key for key in found["KMS keys"] if key not in theirs)
        found["KMS keys"] = tuple(key for key in keys if not self._is_going(key))
        for kind in _OF_A_CLUSTER:
            found[kind.label] = tuple(
                f"{cluster}/{name}" for cluster in found[CLUSTERS] for name in self.ask(kind, clusterName=cluster)
            )
        return {label: names for label, names in found.items() if names}

    def _is_going(self, key: str) -> bool:
        """Return a KMS key is never deleted at once: it waits for 7 days or more."""
        return bool(self.client("kms").describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion")

    def unprotect_clusters(self) -> list[str]:
        """Switch off the deletion protection of every cluster that has it; return their names, sorted."""
        eks = self.client("eks")
        clusters = self.ask(KINDS[0])
        protected = [name for name in clusters if eks.describe_cluster(name=name)["cluster"].get("deletionProtection")]
        for name in protected:
            eks.update_cluster_config(name=name, deletionProtection=False)
        return protected


def counted(number: int, plural: str) -> str:
    """Say ``1 VPC``, ``2 VPCs``, ``1 access entry``: labels are plurals."""
    singular = f"{plural.removesuffix('ies')}y" if plural.endswith("ies") else plural.removesuffix("s")
    return f"{number} {singular if number == 1 else plural}"


def regions(layout: Layout) -> list[str]:
    """Return the regions of all stacks that have a state, sorted."""
    return sorted({layout.region(stack, copied=True) for stack in backend.stacks(layout)})
