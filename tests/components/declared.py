"""What the components declare for a stack, and how to find things in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.rendering import declare
from components.rendering.recording import Recorded
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from tests.stack.words import TODAY, stack

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
NAT = "aws:ec2/natGateway:NatGateway"
ROUTE = "aws:ec2/route:Route"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
MANAGED = "aws:eks/nodeGroup:NodeGroup"
SCALING_GROUP = "aws:autoscaling/group:Group"
CLUSTER = "eks:index:Cluster"
ADDON = "aws:eks/addon:Addon"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
KEY = "aws:kms/key:Key"
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
DOCUMENT = "aws:ssm/document:Document"
HOOK = "aws:autoscaling/lifecycleHook:LifecycleHook"
STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"

BOTTLEROCKET = {"amiFamily": "Bottlerocket"}
OWN = {"kind": "self-managed"}

FULL: Mapping[str, Any] = {
    "network": {
        "nat": "per-zone",
        "zones": 3,
        "endpoints": ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "s3", "ssm", "ssmmessages", "sts"],
    },
    "storageClass": True,
    "fargateProfiles": {"jobs": {"selectors": [{"namespace": "jobs"}]}},
    "access": {
        "admins": ["arn:aws:iam::111122223333:role/platform"],
        "readers": ["arn:aws:iam::111122223333:role/audit"],
        "entries": {
            "shop": {
                "principal": "arn:aws:iam::111122223333:role/shop",
                "policies": {"AmazonEKSEditPolicy": {"namespaces": ["shop", "shop-*"]}},
                "groups": ["shop-operators", "crd-readers"],
            }
        },
    },
    "nodeGroups": {
        "image": {"instanceTypes": ["m7g.large"], "ami": {"id": "ami-0123456789abcdef0"}},
        "own": {"instanceTypes": ["m7i.large", "m6i.large"], "kind": "self-managed"},
        "own-arm": {"instanceTypes": ["m7g.large", "m6g.large"], "kind": "self-managed", "capacityType": "spot"},
    },
}
"""A stack in which every component has something to do."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a program declared."""

    resources: tuple[Recorded, ...]
    outputs: Mapping[str, Any]

    def all(self, type_: str) -> list[Recorded]:
        """Every resource of a type."""
        return [resource for resource in self.resources if resource.type == type_]

    def one(self, type_: str, name: str | None = None) -> Recorded:
        """The one resource of a type, or of a type and name."""
        found = [resource for resource in self.all(type_) if name in {None, resource.name}]
        assert len(found) == 1, f"{len(found)} of {type_} {name or ''}"
        return found[0]

    def inputs(self, type_: str, name: str | None = None) -> dict[str, Any]:
        """The inputs of :meth:`one`."""
        return dict(self.one(type_, name).inputs)

    def by_urn(self) -> dict[str, Recorded]:
        """Every resource by its URN."""
        return {resource.urn: resource for resource in self.resources}


@dataclass(frozen=True, slots=True)
class World(Found):
    """What was declared for a plan."""

    plan: Plan


def world(change: Mapping[str, Any] | None = None, *, region: str | None = "eu-west-1") -> World:
    """Declare the smallest stack with ``change`` merged into it."""
    plan = make_plan(stack(change, region=region), today=TODAY)
    declared = declare(plan)
    return World(declared.resources, dict(declared.outputs), plan)


def goes_before(found: World, first: Recorded, second: Recorded) -> bool:
    """Whether the engine deletes ``first`` before ``second``: ``first`` depends on it, by whatever way.

    As the engine sees it: a dependency on a component is one on its children, and a child depends on its parent.
    """
    resources = found.by_urn()
    children: dict[str, list[str]] = {}
    for resource in found.resources:
        children.setdefault(resource.parent, []).append(resource.urn)
    seen: set[str] = set()
    todo = [first.urn]
    while todo:
        urn = todo.pop()
        if urn in seen or urn not in resources:
            continue
        seen.add(urn)
        resource = resources[urn]
        todo += [*resource.dependencies, resource.parent]
        if urn != first.urn and not resource.custom and urn in {d for r in resources.values() for d in r.dependencies}:
            todo += children.get(urn, [])
    return second.urn in seen


def walk(value: object) -> Iterator[Mapping[str, object]]:
    """Every mapping in a value, however deep."""
    if isinstance(value, Mapping):
        yield value
        for member in value.values():
            yield from walk(member)
    elif isinstance(value, list):
        for member in value:
            yield from walk(member)
