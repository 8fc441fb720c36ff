"""What the components declare for a stack, and how to find things in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from components.rendering import declare
from multiarch.observed.resources.declared import DeclaredResource
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
OWN: Mapping[str, Any] = {"kind": "self-managed"}

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

OWNER = "arn:aws:iam::111122223333"
ADMIN = f"{OWNER}:role/team/platform"
KEY_OF_TEAM = "arn:aws:kms:eu-west-1:111122223333:key/00000000-0000-0000-0000-000000000000"
RESERVED = "arn:aws:resource-groups:eu-west-1:111122223333:group/reserved/0222xxbw4wbpdi7mg47ppcu8kr"
PUBLIC: Mapping[str, Any] = {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.0/24"]}}
SHARE = {"onDemandBaseCapacity": 2, "onDemandPercentageAboveBaseCapacity": 30, "spotAllocationStrategy": "lowest-price"}
ALLOW = {"actions": ["s3:GetObject"], "resources": ["arn:aws:s3:::orders/*"]}
IN_A: Mapping[str, Any] = {"zones": ["eu-west-1a"]}

SET: Mapping[str, Any] = {
    **PUBLIC,
    "deletionProtection": True,
    "secretsEncryption": {"kmsKeyArn": KEY_OF_TEAM},
    "upgradePolicy": "STANDARD",
    "nodeRepair": True,
    "zonalShift": True,
    "controlPlaneTier": "tier-xl",
    "session": {"encrypt": True, "idleTimeoutMinutes": 7, "maxDurationMinutes": 90, "runAsUser": "ops"},
    "access": {"admins": [f"{OWNER}:role/a/ops", f"{OWNER}:role/b/ops", ADMIN]},
    "network": {
        "zones": ["eu-west-1c", "eu-west-1a", "eu-west-1b"],
        "podCidr": "100.64.0.0/16",
        "endpoints": ["sts"],
        "flowLogs": {"traffic": "REJECT", "retentionDays": 365},
    },
    "iam": {
        "serviceAccounts": {
            "orders": {"namespace": "shop", "statements": [ALLOW]},
            "batch": {
                "namespace": "jobs",
                "name": "default",
                "policies": [f"{OWNER}:policy/teams/scan"],
                "credentials": "irsa",
            },
        }
    },
    "addons": {
        "coredns": {"version": "v1.12.4-eksbuild.1"},
        "vpcCni": {"networkPolicy": False, "prefixDelegation": True},
        "extra": {
            "amazon-cloudwatch-observability": {"policies": ["arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"]},
            "aws-privateca-connector-for-kubernetes": {
                "statements": [{"actions": ["acm-pca:Get*"], "resources": ["*"]}],
                "serviceAccount": "aws-privateca-issuer",
                "namespace": "aws-privateca-issuer",
            },
            "external-dns": {"policies": [f"{OWNER}:policy/dns"], "version": "v0.19.0-eksbuild.1"},
            "my-agent": {"beforeNodes": True},
        },
    },
    "nodeGroups": {
        "web": {
            "zones": ["eu-west-1c", "eu-west-1a"],
            "diskSize": 80,
            "ami": {"release": "1.35.0-20260715"},
            "updateStrategy": {"maxUnavailablePercentage": 25, "force": True},
        },
        "web-arm": {
            "diskSize": 80,
            "amiFamily": "Bottlerocket",
            "taints": ["a:NoSchedule", "b:PreferNoSchedule", "c:NoExecute"],
        },
        "spot": {
            **IN_A,
            "instanceTypes": ["m7i.large"],
            "kind": "self-managed",
            "capacityType": "spot",
            "placementGroup": "fast",
            "instancesDistribution": SHARE,
        },
        "efa": {**IN_A, "instanceTypes": ["c7gn.16xlarge"], "efa": True, "capacityReservation": RESERVED},
        "cards": {
            **IN_A,
            "instanceTypes": ["p6-b300.48xlarge"],
            "kind": "self-managed",
            "efa": True,
            "capacityReservation": "cr-0123",
        },
        "reserved": {**IN_A, "instanceTypes": ["m7i.large"], "capacityReservation": "capacity-reservations-only"},
    },
}
"""A stack that sets what most stacks leave at its default."""

BARE: Mapping[str, Any] = {
    "addons": {"ebsCsi": {"enabled": False}},
    "storageClass": False,
    "logging": {"types": []},
    "session": {"logToCloudWatch": False},
    "secretsEncryption": {"enabled": False},
    "access": {"admins": [ADMIN]},
}
"""A stack that turns off what it can."""

OWN_NETWORK: Mapping[str, Any] = {
    "vpcId": "vpc-0123456789abcdef0",
    "privateSubnets": {"eu-west-1a": ["subnet-00000001"], "eu-west-1b": ["subnet-00000002", "subnet-00000003"]},
    "controlPlaneSubnetIds": ["subnet-00000006", "subnet-00000007"],
    "podSubnets": {"eu-west-1a": "subnet-00000008", "eu-west-1b": "subnet-00000009"},
}
NO_NETWORK: Mapping[str, Any] = {"network": {key: OWN_NETWORK[key] for key in ("vpcId", "privateSubnets")}}
"""For stacks of which no test looks at the network: a third of their resources, and of their time."""
OTHERS = "arn:aws:ecr:us-east-1:444455556666:repository/base/*"
"""Repositories of another account."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a program declared."""

    resources: tuple[DeclaredResource, ...]
    outputs: Mapping[str, Any]

    def all(self, type_: str) -> list[DeclaredResource]:
        """Every resource of a type."""
        return [resource for resource in self.resources if resource.type == type_]

    def one(self, type_: str, name: str | None = None) -> DeclaredResource:
        """The one resource of a type, or of a type and name."""
        found = [resource for resource in self.all(type_) if name in {None, resource.name}]
        assert len(found) == 1, f"{len(found)} of {type_} {name or ''}"
        return found[0]

    def inputs(self, type_: str, name: str | None = None) -> dict[str, Any]:
        """The inputs of :meth:`one`."""
        return dict(self.one(type_, name).inputs)

    def by_urn(self) -> dict[str, DeclaredResource]:
        """Every resource by its URN."""
        return {resource.urn: resource for resource in self.resources}


@dataclass(frozen=True, slots=True)
class World(Found):
    """What was declared for a plan."""

    plan: Plan


def world(change: Mapping[str, Any] | None = None, *, region: str | None = "eu-west-1") -> World:
    """What the smallest stack with ``change`` merged into it declares. The same stack is declared once."""
    return _declare(json.dumps(change), region)


@cache
def _declare(change: str, region: str | None) -> World:
    plan = make_plan(stack(json.loads(change), region=region), today=TODAY)
    declared = declare(plan)
    return World(declared.resources, dict(declared.outputs), plan)


def goes_before(found: World, first: DeclaredResource, second: DeclaredResource) -> bool:
    """Whether the engine deletes ``first`` before ``second``."""
    return second.urn in list_outliving(found, first)


def list_outliving(found: World, first: DeclaredResource) -> set[str]:
    """URNs of what the engine deletes after ``first``, which depends on it, by whatever way; and its own.

    As the engine sees it: a dependency on a component is one on its children, and a child depends on its parent.
    """
    resources = found.by_urn()
    needed = {urn for resource in found.resources for urn in resource.dependencies}
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
        if urn != first.urn and is_component(resource) and urn in needed:
            todo += children.get(urn, [])
    return seen


def is_component(resource: DeclaredResource) -> bool:
    """Whether it only groups other resources, as the stack itself does."""
    return resource.type.startswith(("multiarch-eks:", CLUSTER, "pulumi:pulumi:Stack"))


def walk(value: object) -> Iterator[Mapping[str, object]]:
    """Every mapping in a value, however deep."""
    if isinstance(value, Mapping):
        yield value
        for member in value.values():
            yield from walk(member)
    elif isinstance(value, list):
        for member in value:
            yield from walk(member)
