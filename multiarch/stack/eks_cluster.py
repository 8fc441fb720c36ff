"""What EKS and EC2 say of a cluster that is there already. The clients are the caller's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from multiarch.errors import MultiarchError

Client = Any
"""A client of boto3, which has no types."""
_USABLE = ("ACTIVE", "UPDATING")
_ANYWHERE = "0.0.0.0/0"
PREFIX_DELEGATION, CUSTOM_NETWORKING = "ENABLE_PREFIX_DELEGATION", "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"
"""Environment variables of the DaemonSet ``aws-node``, which the configuration of the add-on ``vpc-cni`` sets."""


@dataclass(frozen=True, slots=True)
class EksCluster:
    """A cluster as EKS describes it.

    ``prefix_delegation`` and ``custom_networking`` are None where no configuration of an EKS add-on says it.

    ``security_group`` is that which EKS gives nodes. ``auto_mode_role`` is the name of the role of EKS Auto Mode's
    nodes, ``role_arn`` the role of the control plane. ``key_arn`` encrypts Secrets. A string is empty where there is
    nothing.
    """

    name: str
    status: str
    version: str
    authentication_mode: str
    ip_family: str
    vpc_id: str
    subnet_ids: tuple[str, ...]
    endpoint: str
    authority: str
    pod_identity_agent: bool
    prefix_delegation: bool | None
    security_group: str = ""
    public_endpoint: bool = True
    auto_mode: bool = False
    auto_mode_role: str = ""
    custom_networking: bool | None = None
    service_cidr: str = ""
    key_arn: str = ""
    role_arn: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        """Whether nodes can join: it is neither being created nor deleted, nor has it failed."""
        return self.status in _USABLE

    def explain_status(self, region: str | None) -> tuple[str, str]:
        """Return why nodes can't join now, and the fix."""
        which = f"--name {self.name}{f' --region {region}' if region else ''}"
        fix = f"`aws eks describe-cluster {which}` says more."
        if self.status in ("CREATING", "PENDING"):
            fix = f"Wait until it is active: `aws eks wait cluster-active {which}`."
        return f"cluster {self.name} is {self.status}, and takes no nodes.", fix


def require_eks_cluster(eks: Client, name: str) -> EksCluster:
    """Read a cluster and two of its add-ons. Raises MultiarchError if there is none in the client's region."""
    if found := describe_eks_cluster(eks, name):
        return read_addons(eks, found)
    hint = "Check the name, the region (--region, or aws:region in a stack file) and the credentials (AWS_PROFILE)."
    raise MultiarchError(f"There is no EKS cluster {name} in {eks.meta.region_name}.", hint=hint)


def describe_eks_cluster(eks: Client, name: str) -> EksCluster | None:
    """Read a cluster, without what :func:`read_addons` adds; None if there is none of this name."""
    try:
        found = eks.describe_cluster(name=name)["cluster"]
    except eks.exceptions.ResourceNotFoundException:
        return None
    vpc, network = found["resourcesVpcConfig"], found.get("kubernetesNetworkConfig", {})
    compute = found.get("computeConfig") or {}
    # EKS Auto Mode brings its own agent, and its own addresses for pods.
    auto_mode = bool(compute.get("enabled"))
    return EksCluster(
        name=name,
        status=found["status"],
        version=found["version"],
        # A cluster from before access entries says nothing.
        authentication_mode=found.get("accessConfig", {}).get("authenticationMode", "CONFIG_MAP"),
        ip_family=network.get("ipFamily", "ipv4"),
        vpc_id=vpc["vpcId"],
        subnet_ids=tuple(vpc["subnetIds"]),
        endpoint=found.get("endpoint", ""),
        authority=found.get("certificateAuthority", {}).get("data", ""),
        pod_identity_agent=auto_mode,
        prefix_delegation=False if auto_mode else None,
        security_group=vpc.get("clusterSecurityGroupId", ""),
        public_endpoint=bool(vpc.get("endpointPublicAccess")),
        auto_mode=auto_mode,
        auto_mode_role=str(compute.get("nodeRoleArn") or "").rpartition("/")[2],
        service_cidr=network.get("serviceIpv4Cidr", ""),
        key_arn=next((each.get("provider", {}).get("keyArn", "") for each in found.get("encryptionConfig") or ()), ""),
        role_arn=found.get("roleArn", ""),
        tags=found.get("tags", {}),
    )


def read_addons(eks: Client, cluster: EksCluster) -> EksCluster:
    """Return a cluster with what the add-ons vpc-cni and eks-pod-identity-agent say of it."""
    if not cluster.is_usable:
        return cluster
    cni = _read_addon(eks, cluster.name, "vpc-cni")
    agent = cluster.pod_identity_agent or _read_addon(eks, cluster.name, "eks-pod-identity-agent") is not None
    prefixes, custom = (_find_setting(cni or "", each) for each in (PREFIX_DELEGATION, CUSTOM_NETWORKING))
    prefixes = cluster.prefix_delegation if prefixes is None else prefixes
    return replace(cluster, pod_identity_agent=agent, prefix_delegation=prefixes, custom_networking=custom)


def _find_setting(configuration: str, variable: str) -> bool | None:
    """Return a variable's value in an add-on's configuration, JSON or YAML; None where it is not there."""
    found = re.search(rf"""\b{variable}["']?\s*:\s*["']?(true|false)\b""", configuration)
    return found[1] == "true" if found else None


def _read_addon(eks: Client, cluster: str, name: str) -> str | None:
    """Return an add-on's configuration, None where it is not installed as an EKS add-on."""
    try:
        addon = eks.describe_addon(clusterName=cluster, addonName=name)["addon"]
    except eks.exceptions.ResourceNotFoundException:
        return None
    return str(addon.get("configurationValues") or "")


def read_subnets(ec2: Client, identifiers: Iterable[str]) -> list[Mapping[str, Any]]:
    """Return EC2's rows of subnets, sorted by ID."""
    pages = ec2.get_paginator("describe_subnets").paginate(SubnetIds=sorted(identifiers))
    return sorted((row for page in pages for row in page["Subnets"]), key=lambda row: str(row["SubnetId"]))


def read_default_routes(ec2: Client, vpc_ids: Sequence[str]) -> Callable[[str], Sequence[Mapping[str, Any]]]:
    """Read VPCs' route tables; return what lists a subnet's active default routes.

    Source: VPC user guide, "Subnet route tables" (a subnet without a table of its own has the VPC's main one).
    """
    pages = ec2.get_paginator("describe_route_tables").paginate(Filters=[{"Name": "vpc-id", "Values": [*vpc_ids]}])
    found: dict[str, Sequence[Mapping[str, Any]]] = {}
    for table in (each for page in pages for each in page["RouteTables"]):
        default = [each for each in table["Routes"] if each.get("DestinationCidrBlock") == _ANYWHERE]
        # A route to a NAT gateway that was deleted stays, as a blackhole.
        active = [each for each in default if each.get("State", "active") == "active"]
        for association in table["Associations"]:
            found["" if association.get("Main") else association.get("SubnetId", "-")] = active
    return lambda subnet: found.get(subnet, found.get("", ()))


def read_private_subnets(
    ec2: Client, vpc_id: str, subnets: Iterable[Mapping[str, Any]]
) -> Mapping[str, tuple[str, ...]]:
    """Return private ones of a VPC's subnets by zone: their default route goes elsewhere than to an internet gateway.

    A subnet without an active default route is omitted: whether its nodes reach AWS by endpoints can't be told.
    """
    list_routes = read_default_routes(ec2, [vpc_id])
    found: dict[str, list[str]] = {}
    for row in subnets:
        gateways = [str(each.get("GatewayId", "")) for each in list_routes(row["SubnetId"])]
        if gateways and not any(each.startswith("igw-") for each in gateways):
            found.setdefault(row["AvailabilityZone"], []).append(row["SubnetId"])
    return {zone: tuple(found[zone]) for zone in sorted(found)}


def read_nodes(ec2: Client, cluster: str) -> list[Mapping[str, Any]]:
    """Return EC2's rows of a cluster's running nodes."""
    by = [
        {"Name": "tag-key", "Values": [f"kubernetes.io/cluster/{cluster}"]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    pages = ec2.get_paginator("describe_instances").paginate(Filters=by)
    return [row for page in pages for each in page["Reservations"] for row in each["Instances"]]


def find_security_groups(cluster: EksCluster, nodes: Iterable[Mapping[str, Any]]) -> tuple[str, ...] | None:
    """Return the security groups that new nodes need to be like a cluster's nodes, None where these have none alike.

    Empty where all nodes have the cluster's own group, or there are none: with it nodes reach one another. Tools that
    make groups of their own (terraform-aws-eks, eksctl for unmanaged groups) may omit it. Where nodes have different
    groups, those in common may be for something else than the cluster, so the cluster's own is added.
    """
    found = {frozenset(group["GroupId"] for group in row["SecurityGroups"]) for row in nodes}
    if all(cluster.security_group in groups for groups in found):
        return ()
    common = frozenset.intersection(*found)
    own = {cluster.security_group} if common and len(found) > 1 else set()
    return tuple(sorted(common | own)) or None
