"""Reads a cluster that exists, whatever tool made it: EKS, EC2, Auto Scaling, IAM, and the API server. Read-only.

At most three calls for each group: DescribeNodegroup (or GetInstanceProfile), DescribeLaunchTemplateVersions, and
ListAttachedRolePolicies of its role; eight at a time. The permissions: docs/how-to/from-a-cluster.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from multiarch.aws_errors import open_clients, translate_failures
from multiarch.errors import OutsideError
from multiarch.existing.counterparts import list_candidate_types
from multiarch.facts.ami_families import NODE_FAMILIES, get_family
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import KubeconfigError
from multiarch.kubernetes.resources import DAEMON_SETS, DEPLOYMENTS, NODE_CLASSES, NODE_POOLS, NODES
from multiarch.kubernetes.source import ClusterAccess
from multiarch.nodes.model import NodeGroupKind
from multiarch.observed.eks import answers
from multiarch.observed.eks.answers import Answer
from multiarch.observed.eks.inside import CLUSTER_AUTOSCALER, read_inside, read_running
from multiarch.observed.eks.model import InCluster, NodeSettings, ObservedCluster, ObservedGroup
from multiarch.stack.eks_cluster import (
    find_security_groups,
    read_nodes,
    read_private_subnets,
    read_subnets,
    require_eks_cluster,
)
from multiarch.threads import split_items

Item = TypeVar("Item")
Found = TypeVar("Found")
Clients = Callable[[str], Any]
_AT_ONCE = 8
_BATCH = 100
_DEVICES = tuple(dict.fromkeys(get_family(each).devices.node_storage for each in reversed(NODE_FAMILIES)))
"""Bottlerocket's data volume before the root volume that every image has."""
_USUAL_POLICIES = frozenset(
    (
        *("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonSSMManagedInstanceCore"),
        *("AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly"),
        "AmazonEKSWorkerNodeMinimalPolicy",
    )
)
"""What the nodes of any stack may do, too."""


def read_cluster_nodes(name: str, region: str | None, access: ClusterAccess) -> ObservedCluster:
    """Read a cluster. Raises MultiarchError if there is none, OutsideError for what AWS does not let be read."""
    clients = open_clients(region, region_hint="Give --region, or set AWS_REGION.")
    with translate_failures():
        found = _AwsReader(clients, name, str(clients("eks").meta.region_name)).read()
    if not found.is_usable:
        return found
    try:
        return replace(found, inside=_read_inside(found, access))
    except (OutsideError, KubeconfigError) as error:
        if access.kubeconfig or access.context:
            raise
        get = f"`aws eks update-kubeconfig --region {found.region} --name {found.name}` adds its context."
        return replace(found, why_outside=f"{error.message} {get}")


def read_node_groups(clients: Clients, name: str) -> list[ObservedGroup]:
    """Read the node groups of a cluster, sorted by name. ``clients`` returns boto3's client of a service."""
    reader = _AwsReader(clients, name, str(clients("eks").meta.region_name))
    with reader.pool:
        return reader.read_groups()


def _read_inside(found: ObservedCluster, access: ClusterAccess) -> InCluster:
    with KubernetesCluster(access) as cluster:
        cluster.require_endpoint(found.endpoint, found.name)
        deployments = list(cluster.objects([DEPLOYMENTS]))
        return read_inside(
            cluster.name,
            deployments=deployments,
            autoscalers=read_running(cluster, deployments, CLUSTER_AUTOSCALER),
            nodes=cluster.objects([NODES]),
            pools=cluster.list_custom(NODE_POOLS),
            classes=cluster.list_custom(NODE_CLASSES),
            vpc_cni=cluster.get(DAEMON_SETS, "kube-system", "aws-node"),
        )


@dataclass(slots=True)
class _AwsReader:
    clients: Clients
    name: str
    region: str
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_AT_ONCE))

    def __post_init__(self) -> None:
        for service in ("eks", "ec2", "autoscaling", "iam"):
            # Sessions of boto3 open no clients in several threads at once.
            self.clients(service)

    def read(self) -> ObservedCluster:
        found = require_eks_cluster(self.clients("eks"), self.name)
        bare = ObservedCluster(**{each.name: getattr(found, each.name) for each in fields(found)}, region=self.region)
        if not bare.is_usable:
            return bare
        with self.pool:
            return self._with_nodes(self._with_addons(bare))

    def _with_nodes(self, bare: ObservedCluster) -> ObservedCluster:
        groups = self.read_groups()
        used = {each for group in groups for each in group.subnets} | set(bare.subnet_ids)
        ec2 = self.clients("ec2")
        subnets, nodes = read_subnets(ec2, used), read_nodes(ec2, self.name)
        private = read_private_subnets(ec2, bare.vpc_id, subnets)
        routed = {each for zone in private.values() for each in zone}
        found = replace(
            bare,
            groups=tuple(groups),
            subnets=tuple(
                sorted((answers.read_subnet(each, routed) for each in subnets), key=lambda each: (each.zone, each.id))
            ),
            offered=self._find_offers(list_candidate_types(groups)),
            node_security_groups=find_security_groups(bare, nodes),
        )
        return found if found.auto_mode else self._with_karpenter(found, nodes)

    def _with_addons(self, bare: ObservedCluster) -> ObservedCluster:
        eks = self.clients("eks")
        names = self._pages("eks", "list_addons", "addons", clusterName=self.name)
        rows = self._map(lambda each: eks.describe_addon(clusterName=self.name, addonName=each)["addon"], names)
        by_name = {each["addonName"]: each for each in rows}
        accounts = self._pages("eks", "list_pod_identity_associations", "associations", clusterName=self.name)
        return replace(
            bare,
            addons={name: by_name[name]["addonVersion"] for name in sorted(by_name)},
            service_accounts=frozenset(f"{each['namespace']}/{each['serviceAccount']}" for each in accounts),
        )

    def _with_karpenter(self, found: ObservedCluster, nodes: Iterable[Answer]) -> ObservedCluster:
        """Add the roles of Karpenter's nodes: of running ones, or by the access entry that its documents name so."""
        instances = [each for each in nodes if _has_tag(each, "karpenter.sh/nodepool")]
        profiles = {_get_last(each.get("IamInstanceProfile", {}).get("Arn")) for each in instances} - {""}
        roles = set(self._map(self._find_role, sorted(profiles)))
        if not roles and found.authentication_mode != "CONFIG_MAP":
            entries = self._pages("eks", "list_access_entries", "accessEntries", clusterName=self.name)
            roles = {each for each in entries if ":role/" in each and "karpenternode" in _get_last(each).lower()}
            roles |= {each for each in entries if _get_last(each).startswith(f"Karpenter-{self.name}")}
        names = tuple(sorted(map(_get_last, roles)))
        return replace(found, karpenter_roles=names, karpenter_nodes=len(instances))

    def read_groups(self) -> list[ObservedGroup]:
        eks, scaling = self.clients("eks"), self._read_scaling_groups()
        names = self._pages("eks", "list_nodegroups", "nodegroups", clusterName=self.name)
        managed = self._map(
            lambda each: eks.describe_nodegroup(clusterName=self.name, nodegroupName=each)["nodegroup"], names
        )
        own = [each for each in scaling.values() if not _has_tag(each, "eks:nodegroup-name")]
        references = [each.get("launchTemplate") for each in managed]
        settings = self._map(self._read_template, [*references, *map(answers.get_template_reference, own)])
        images = self._read_images(each.image for each in settings if each)
        read = [
            answers.read_managed_group(each, found, images.get(found.image) if found else None, scaling)
            for each, found in zip(managed, settings, strict=False)
        ]
        read += [
            answers.read_scaling_group(each, found, images.get(found.image) if found else None)
            for each, found in zip(own, settings[len(managed) :], strict=True)
        ]
        return sorted(self._with_roles(read), key=lambda group: group.name)

    def _read_scaling_groups(self) -> dict[str, Answer]:
        """Return Auto Scaling Groups by name, with the tag of Kubernetes' cloud provider or that of EKS."""
        keys = [f"kubernetes.io/cluster/{self.name}", f"k8s.io/cluster/{self.name}"]
        filters = [{"Name": "tag-key", "Values": keys}], [{"Name": "tag:eks:cluster-name", "Values": [self.name]}]
        pages = (
            self._pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", Filters=each)
            for each in filters
        )
        return {row["AutoScalingGroupName"]: row for page in pages for row in page}

    def _read_template(self, reference: Answer | None) -> NodeSettings | None:
        """Return the settings of a launch template, as EKS (``id``) or Auto Scaling (``LaunchTemplateId``) name it."""
        if reference is None:
            return None
        identifier = reference.get("id") or reference.get("LaunchTemplateId")
        name = reference.get("name") or reference.get("LaunchTemplateName")
        which = {"LaunchTemplateId": identifier} if identifier else {"LaunchTemplateName": name}
        version = str(reference.get("version") or reference.get("Version") or "$Default")
        found = self.clients("ec2").describe_launch_template_versions(**which, Versions=[version])
        return answers.read_settings(found["LaunchTemplateVersions"][0]["LaunchTemplateData"], _DEVICES)

    def _read_images(self, identifiers: Iterable[str]) -> dict[str, Answer]:
        """Return images by ID; one that is gone is missing."""
        found: dict[str, Answer] = {}
        for batch in split_items(sorted(set(identifiers) - {""}), _BATCH):
            filters = [{"Name": "image-id", "Values": batch}]
            rows = self._pages("ec2", "describe_images", "Images", Filters=filters)
            found |= {each["ImageId"]: each for each in rows}
        return found

    def _with_roles(self, groups: list[ObservedGroup]) -> list[ObservedGroup]:
        """Add the roles of self-managed groups, and what roles allow beyond the permissions of nodes."""
        own = {each.settings.profile for each in groups if each.kind is NodeGroupKind.SELF_MANAGED} - {""}
        of_profile = dict(zip(sorted(own), self._map(self._find_role, sorted(own)), strict=True))
        groups = [replace(each, role=each.role or of_profile.get(each.settings.profile, "")) for each in groups]
        roles = sorted({each.role for each in groups} - {""})
        policies = dict(zip(roles, self._map(self._list_policies, roles), strict=True))
        return [_with_policies(each, policies.get(each.role, ())) for each in groups]

    def _find_role(self, profile: str) -> str:
        found = self.clients("iam").get_instance_profile(InstanceProfileName=profile)["InstanceProfile"]["Roles"]
        return str(found[0]["Arn"]) if found else ""

    def _list_policies(self, role: str) -> tuple[str, ...]:
        rows = self._pages("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=_get_last(role))
        return tuple(sorted({each["PolicyName"] for each in rows} - _USUAL_POLICIES))

    def _find_offers(self, names: Iterable[str]) -> dict[str, frozenset[str]]:
        """Return the zones that offer each instance type."""
        found: dict[str, set[str]] = {}
        for batch in split_items(sorted(names), _BATCH):
            filters = [{"Name": "instance-type", "Values": batch}]
            more = {"LocationType": "availability-zone", "Filters": filters}
            for each in self._pages("ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", **more):
                found.setdefault(each["InstanceType"], set()).add(each["Location"])
        return {name: frozenset(zones) for name, zones in found.items()}

    def _pages(self, service: str, operation: str, key: str, **arguments: Any) -> list[Any]:
        pages = self.clients(service).get_paginator(operation).paginate(**arguments)
        return [each for page in pages for each in page[key]]

    def _map(self, work: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        return list(self.pool.map(work, items))


def _with_policies(group: ObservedGroup, policies: Iterable[str]) -> ObservedGroup:
    own = (*group.settings.own, *(f"the policy {each} of its role {_get_last(group.role)}" for each in policies))
    return replace(group, settings=replace(group.settings, own=own))


def _has_tag(answer: Answer, key: str) -> bool:
    return any(each["Key"] == key for each in answer.get("Tags", ()))


def _get_last(arn: object) -> str:
    """Return the name at the end of an ARN, empty without one."""
    return str(arn or "").rpartition("/")[2]
