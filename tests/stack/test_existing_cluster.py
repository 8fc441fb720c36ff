"""A stack on a cluster that is there already: what is planned, what is rejected, and what pinning reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from multiarch.autoscaling.model import Autoscaler
from multiarch.errors import MultiarchError
from multiarch.stack.cluster_pins import pin_cluster
from multiarch.stack.eks_cluster import EksCluster, find_security_groups, read_nodes, read_private_subnets, read_subnets
from multiarch.stack.explanation import explain_stack
from multiarch.stack.model import ExistingClusterPlan, ExistingNetwork
from multiarch.stack.pin import PinClients, write_pins
from multiarch.stack.plan import make_plan
from tests.stack.files import CONFIG, Project
from tests.stack.words import TODAY, Case, check_contradiction, merged, plan, stack

A, B = "subnet-0123456789abcdef0", "subnet-0123456789abcdef1"
CLUSTER: Mapping[str, Any] = {
    "kubernetesVersion": "1.35",
    "cluster": {
        "existing": "shop",
        "subnets": {"eu-west-1a": [A], "eu-west-1b": [B]},
        "authenticationMode": "API_AND_CONFIG_MAP",
        "ipFamily": "ipv4",
    },
}
KARPENTER: Mapping[str, Any] = {"use": "karpenter", "karpenter": {"installed": True, "nodeRole": "nodes"}}
ON_KARPENTER: Mapping[str, Any] = merged(
    CLUSTER,
    {
        "cluster": {"podIdentityAgent": True},
        "nodeGroups": {"web": {"minSize": 2}},
        "autoscaling": {"use": "karpenter", "karpenter": {"controllerGroup": "web"}},
    },
)
"""Karpenter that the stack installs."""
NO_GROUPS: dict[str, Any] = {"nodeGroups": {"web": None, "web-arm": None}}
OWN: Mapping[str, Any] = {"web": {"kind": "self-managed"}}


def on_cluster(**change: Any) -> dict[str, Any]:
    """The smallest stack's change that puts it on an existing cluster, with ``change`` merged in."""
    return merged(CLUSTER, change)


def scaled(use: str, key: str, **settings: Any) -> dict[str, Any]:
    return on_cluster(autoscaling={"use": use, key: {"installed": True, **settings}})


BOTH: Mapping[str, Any] = {"general": {"architectures": ["arm64", "amd64"], "cpuLimit": 64}}
CASES: list[Case] = [
    ("amd64-beside-others", on_cluster(autoscaling=merged(KARPENTER, {"karpenter": {"nodePools": BOTH}})),
     "autoscaling.karpenter.nodePools.general.architectures", "come before those of NodePools"),
    ("amd64-beside-others", on_cluster(autoscaling={"use": "auto-mode", "autoMode": {"nodePools": BOTH}}),
     "autoscaling.autoMode.nodePools.general.architectures", "come before those of NodePools"),
    *(
        ("cluster-not-managed", on_cluster(**{key: value}), key, "belongs to the cluster shop")
        for key, value in {
            "clusterName": "other",
            "network": {"cidr": "10.0.0.0/16"},
            "apiEndpoint": {"private": True},
            "secretsEncryption": {"enabled": True},
            "logging": {"retentionDays": 7},
            "access": {"admins": []},
            "addons": {"ebsCsi": {"enabled": False}},
            "deletionProtection": True,
            "storageClass": False,
            "upgradePolicy": "STANDARD",
            "zonalShift": True,
            "controlPlaneTier": "tier-xl",
        }.items()
    ),
    *(
        ("role-path", on_cluster(cluster={"authenticationMode": "CONFIG_MAP"}, iam=iam), key, "in /a/:")
        for key, iam in {
            "iam.path": {"path": "/a/"},
            "iam.roles.managed-nodes": {"roles": {"managed-nodes": "arn:aws:iam::111122223333:role/a/b"}},
        }.items()
    ),
    ("irsa-existing-cluster",
     on_cluster(iam={"serviceAccounts": {"orders": {"namespace": "shop", "credentials": "irsa"}}}),
     "iam.serviceAccounts.orders.credentials", "OIDC provider"),
    ("cluster-not-pinned", {"cluster": {"existing": "shop"}}, "cluster",
     "kubernetesVersion, cluster.subnets, cluster.authenticationMode, cluster.ipFamily of the cluster shop"),
    ("ipv6", on_cluster(cluster={"ipFamily": "ipv6", "customNetworking": True}), "cluster.customNetworking",
     "is for IPv4"),
    ("one-zone", on_cluster(cluster={"subnets": {"eu-west-1b": None}}), "cluster.subnets", "eu-west-1a"),
    ("subnets", on_cluster(cluster={"subnets": {"eu-west-1b": [A]}}), "cluster.subnets", f"{A} is named twice"),
    ("subnets", on_cluster(cluster={"subnets": {"eu-west-1b": []}}), "cluster.subnets.eu-west-1b", "no subnet"),
    ("not-valid", on_cluster(cluster={"securityGroups": ["web"]}), "cluster.securityGroups[0]", "web"),
    ("aws-auth-line", on_cluster(cluster={"authenticationMode": "CONFIG_MAP"}, nodeGroups=OWN), "nodeGroups.web",
     "nodes of web can't join shop"),
    *(
        ("autoscaler-of-all-groups", on_cluster(autoscaling=words), f"autoscaling.{key}", "of others too")
        for key, words in (
            ("use", {"use": "cluster-autoscaler"}),
            ("migrateFrom", {**KARPENTER, "migrateFrom": "cluster-autoscaler"}),
        )
    ),
    ("nothing-installed", {"autoscaling": {"use": "cluster-autoscaler", "clusterAutoscaler": {"installed": True}}},
     "autoscaling.clusterAutoscaler.installed", "is new"),
    ("installed-autoscaler", scaled("cluster-autoscaler", "clusterAutoscaler", scaleDownUnneededMinutes=5),
     "autoscaling.clusterAutoscaler.scaleDownUnneededMinutes", "was installed"),
    ("node-role", scaled("karpenter", "karpenter"), "autoscaling.karpenter.nodeRole", "none is named"),
    ("node-role", {"autoscaling": {"use": "karpenter", "karpenter": {"controllerGroup": "web", "nodeRole": "nodes"}}},
     "autoscaling.karpenter.nodeRole", "makes a role"),
    ("session-without-nodes", {**on_cluster(autoscaling=KARPENTER, session={"idleTimeoutMinutes": 5}), **NO_GROUPS},
     "session", "have the role nodes"),
    ("migration-of-installed", on_cluster(autoscaling={**KARPENTER, "migrateFrom": "cluster-autoscaler"}),
     "autoscaling.migrateFrom", "does not install karpenter"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_told_where_it_is(case: Case) -> None:
    check_contradiction(*case)


def test_the_plan_has_the_clusters_zones_and_nothing_that_a_new_cluster_has() -> None:
    made = plan(on_cluster(environment="prod", cluster={"prefixDelegation": True}))
    assert isinstance(made.cluster, ExistingClusterPlan)
    assert made.network == ExistingNetwork("", (A, B), (("eu-west-1a", (A,)), ("eu-west-1b", (B,))))
    assert (made.addons, made.storage_class, made.termination_handler) == ((), False, False)
    # The cluster's other stacks have a document and a log group of their own.
    assert (made.session.document_name, made.session.log_group_name) == (
        "shop-prod-session",
        "/multiarch-eks/shop-prod/sessions",
    )
    assert {group.max_pods for group in made.node_groups} == {110}
    with pytest.raises(TypeError, match="not managed"):
        _ = made.own_cluster


def test_the_organisations_defaults_for_new_clusters_are_not_an_existing_clusters(project: Project) -> None:
    defaults = "name: multiarch-eks\nruntime: python\nconfig:\n  multiarch-eks:defaults:\n    value:\n"
    more = (
        "      kubernetesVersion: '1.34'\n      logging: {retentionDays: 7}\n      session: {idleTimeoutMinutes: 9}\n"
    )
    words = f"{CONFIG}  multiarch-eks:cluster: {{existing: shop}}\n"
    found = project.load(words, project=defaults + more).spec
    assert not {"kubernetesVersion", "logging"} & found.written
    assert found.session.idle_timeout_minutes == 9


def test_groups_for_each_zone_follow_from_the_subnets() -> None:
    made = plan(on_cluster(nodeGroups={"web": {"onePerZone": True}}))
    assert [(group.name, group.zones) for group in made.node_groups] == [
        ("web-a", ("eu-west-1a",)),
        ("web-arm", ()),
        ("web-b", ("eu-west-1b",)),
    ]


@pytest.mark.parametrize(("groups", "says"), [(NO_GROUPS, "no effect"), ({}, "closed after")])
def test_sessions_are_explained_as_what_they_are(groups: dict[str, Any], says: str) -> None:
    words = stack({**on_cluster(autoscaling=KARPENTER), **groups})
    (row,) = [each for each in explain_stack(words, make_plan(words, today=TODAY)).cluster if each.key == "session"]
    assert says in row.value


def test_an_installed_karpenter_needs_no_node_group_and_gets_a_class_of_the_stacks_name() -> None:
    made = plan({**on_cluster(autoscaling=KARPENTER), **NO_GROUPS})
    karpenter = made.autoscaling.karpenter
    assert karpenter is not None
    assert (karpenter.settings.installed, karpenter.chart_version, karpenter.queue, karpenter.controller_group) == (
        True, "", "", "",
    )  # fmt: skip
    assert (karpenter.node_class.name, karpenter.node_class.role) == ("shop-dev", "nodes")
    assert {pool.node_class for pool in karpenter.pools} == {"shop-dev"}
    assert made.autoscaling.own == frozenset()
    assert plan(ON_KARPENTER).autoscaling.own == {Autoscaler.KARPENTER}


class _NotFoundError(Exception):
    pass


class FakeAws:
    """Stands in for EKS and EC2: a cluster of some status, whose subnets have the routes that a test gives."""

    class exceptions:  # noqa: N801  (as boto3 spells it)
        ResourceNotFoundException = _NotFoundError

    class meta:  # noqa: N801  (as above)
        region_name = "eu-west-1"

    def __init__(self, routes: Mapping[str, list[dict[str, str]]], addons: Mapping[str, str], **cluster: str) -> None:
        self.routes, self.addons, self.cluster = routes, addons, cluster
        self.nodes: list[list[str]] = []
        """The security groups of each node."""

    def describe_cluster(self, *, name: str) -> dict[str, Any]:
        if not self.cluster:
            raise _NotFoundError
        described = {
            "resourcesVpcConfig": {"vpcId": "vpc-0", "subnetIds": [A, B], "clusterSecurityGroupId": "sg-0"},
            "name": name,
            "version": "1.34",
        }
        return {"cluster": {**described, **self.cluster}}

    def describe_addon(self, *, clusterName: str, addonName: str) -> dict[str, Any]:  # noqa: N803, ARG002
        if addonName not in self.addons:
            raise _NotFoundError
        return {"addon": {"configurationValues": self.addons[addonName]}}

    def get_paginator(self, operation: str) -> FakeAws:
        self.operation = operation
        return self

    def paginate(self, *, Filters: object = None, SubnetIds: Sequence[str] = ()) -> list[dict[str, Any]]:  # noqa: N803, ARG002
        if self.operation == "describe_subnets":
            rows = zip(SubnetIds, ("eu-west-1a", "eu-west-1b"), strict=True)
            return [{"Subnets": [{"SubnetId": each, "AvailabilityZone": zone} for each, zone in rows]}]
        if self.operation == "describe_instances":
            groups = [{"SecurityGroups": [{"GroupId": each} for each in node]} for node in self.nodes]
            return [{"Reservations": [{"Instances": groups}]}]
        tables = []
        for subnet, routes in self.routes.items():
            whose = {"SubnetId": subnet} if subnet else {"Main": True}
            tables.append({"Associations": [whose], "Routes": routes})
        return [{"RouteTables": tables}]


PUBLIC = [{"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local"},
          {"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"}]  # fmt: skip
PRIVATE = [{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"}]
TRANSIT = [{"DestinationCidrBlock": "0.0.0.0/0", "TransitGatewayId": "tgw-1"}]
ISOLATED = [{"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local"}]
THERE = EksCluster(
    "shop",
    "ACTIVE",
    "1.34",
    "API",
    "ipv4",
    "vpc-0",
    (A, B),
    "",
    "",
    pod_identity_agent=True,
    prefix_delegation=False,
    security_group="sg-0",
)


@pytest.mark.parametrize(
    ("routes", "private"),
    [
        ({A: PUBLIC, B: PRIVATE}, {"eu-west-1b": (B,)}),
        ({A: TRANSIT, "": PRIVATE}, {"eu-west-1a": (A,), "eu-west-1b": (B,)}),
        ({"": PUBLIC, A: PRIVATE}, {"eu-west-1a": (A,)}),
        # No default route, or no table that may be seen: it can't be told.
        ({A: ISOLATED}, {}),
        ({A: [{**PRIVATE[0], "State": "blackhole"}], B: [{**PRIVATE[0], "State": "active"}]}, {"eu-west-1b": (B,)}),
    ],
)
def test_private_subnets_are_those_whose_default_route_avoids_internet_gateways(
    routes: Mapping[str, list[dict[str, str]]], private: Mapping[str, tuple[str, ...]]
) -> None:
    aws = FakeAws(routes, {})
    assert read_private_subnets(aws, THERE.vpc_id, read_subnets(aws, THERE.subnet_ids)) == private


@pytest.mark.parametrize(
    ("nodes", "groups"),
    [
        ([], ()),
        ([["sg-0"], ["sg-0", "sg-1"]], ()),
        ([["sg-1", "sg-2"], ["sg-1", "sg-2"]], ("sg-1", "sg-2")),
        # What they have in common may be for something else.
        ([["sg-1", "sg-2"], ["sg-0", "sg-1"]], ("sg-0", "sg-1")),
        ([["sg-1"], ["sg-2"]], None),
    ],
)
def test_new_nodes_get_the_security_groups_that_all_nodes_have_where_one_lacks_the_clusters(
    nodes: list[list[str]], groups: tuple[str, ...] | None
) -> None:
    aws = FakeAws({}, {}, status="ACTIVE")
    aws.nodes = nodes
    assert find_security_groups(THERE, read_nodes(aws, THERE.name)) == groups
    found = pinned(aws).get("cluster.securityGroups", ())
    assert found == groups if groups is not None else "no security group in common" in found


def pinned(aws: FakeAws, **cluster: Any) -> dict[str, Any]:
    spec = stack(on_cluster(cluster=cluster))
    assert spec.spec.cluster is not None
    pins, after = pin_cluster(spec, spec.spec.cluster, PinClients(aws, aws, aws))
    assert after.spec.cluster is not None
    assert after.spec.kubernetes_version == "1.34"
    return {pin.key: pin.new for pin in pins.changes} | {kept.key: kept.reason for kept in pins.kept}


def test_pinning_takes_the_clusters_values_and_leaves_subnets_that_are_written() -> None:
    prefixes = FakeAws({}, {"vpc-cni": "env:\n  ENABLE_PREFIX_DELEGATION: 'true'\n"}, status="ACTIVE")
    assert pinned(prefixes) == {
        "kubernetesVersion": "1.34",
        # A cluster from before access entries.
        "cluster.authenticationMode": "CONFIG_MAP",
        "cluster.ipFamily": "is the cluster's",
        "cluster.prefixDelegation": True,
        "cluster.podIdentityAgent": False,
        "cluster.subnets": "written already",
    }
    without_add_ons = FakeAws({A: PUBLIC, B: PRIVATE}, {"eks-pod-identity-agent": ""}, status="UPDATING")
    found = pinned(without_add_ons, subnets=None)
    assert found["cluster.subnets.eu-west-1b"] == (B,)
    assert found["cluster.podIdentityAgent"] is True
    assert found["cluster.prefixDelegation"] == NOT_SAID


NOT_SAID = "no configuration of an EKS add-on says it: write ENABLE_PREFIX_DELEGATION of the DaemonSet aws-node"


@pytest.mark.parametrize(
    ("configuration", "pin"),
    [
        ('{"env": {"ENABLE_PREFIX_DELEGATION": "false"}}', False),
        ("", NOT_SAID),
        ('{"env": {"WARM_IP_TARGET": "2"}}', NOT_SAID),
    ],
)
def test_prefix_delegation_that_is_written_stays_where_the_add_on_does_not_say_it(
    configuration: str, pin: object
) -> None:
    aws = FakeAws({}, {"vpc-cni": configuration}, status="ACTIVE")
    assert pinned(aws, prefixDelegation=True)["cluster.prefixDelegation"] == pin


def test_nodes_of_a_cluster_with_ipv6_get_prefixes() -> None:
    made = plan(on_cluster(cluster={"ipFamily": "ipv6"}))
    assert made.network.ipv6
    assert {(group.max_pods, group.max_pods_written) for group in made.node_groups} == {(110, True)}


def test_custom_networking_is_pinned_where_the_add_on_says_it_and_nodes_take_fewer_pods() -> None:
    aws = FakeAws({}, {"vpc-cni": '{"env": {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true"}}'}, status="ACTIVE")
    assert pinned(aws)["cluster.customNetworking"] is True
    by_hand = FakeAws({}, {}, status="ACTIVE")
    assert "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG" in pinned(by_hand, customNetworking=True)["cluster.customNetworking"]
    assert {group.max_pods for group in plan(on_cluster(cluster={"customNetworking": True})).node_groups} == {20}


@pytest.mark.parametrize(
    ("aws", "says"),
    [
        (FakeAws({}, {}), "There is no EKS cluster shop in eu-west-1"),
        (FakeAws({}, {}, status="CREATING"), "shop is CREATING"),
        (FakeAws({A: PUBLIC, B: ISOLATED}, {}, status="ACTIVE"), "can't be told"),
    ],
)
def test_pinning_writes_nothing_where_the_cluster_does_not_say(aws: FakeAws, says: str) -> None:
    with pytest.raises(MultiarchError, match=says):
        pinned(aws, subnets=None)


def test_what_is_pinned_is_written_as_yaml_that_is_accepted(project: Project) -> None:
    words = f"{CONFIG}  multiarch-eks:cluster:\n    existing: shop  # the platform team's\n"
    loaded = project.load(words)
    assert loaded.spec.cluster is not None
    aws = FakeAws({"": PRIVATE}, {"vpc-cni": "{}"}, status="ACTIVE")
    pins, after = pin_cluster(loaded, loaded.spec.cluster, PinClients(aws, aws, aws))
    text = write_pins(words, pins.changes)
    assert "existing: shop  # the platform team's\n" in text
    assert project.load(text).spec == after.spec
