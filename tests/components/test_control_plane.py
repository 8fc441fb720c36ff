"""The cluster: who may use it, what is logged and encrypted, and what it must not bring along."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.components import declared
from tests.components.declared import World, world

ADMIN = "arn:aws:iam::111122223333:role/team/platform"


def test_the_cluster_brings_neither_nodes_nor_add_ons_nor_security_groups(small: World) -> None:
    cluster = small.inputs(declared.CLUSTER)
    assert cluster["skipDefaultNodeGroup"] is True
    assert cluster["createInstanceRole"] is False
    assert cluster["skipDefaultSecurityGroups"] is True
    assert cluster["bootstrapSelfManagedAddons"] is False
    assert cluster["useDefaultVpcCni"] is True
    assert cluster["corednsAddonOptions"]["enabled"] is False
    assert cluster["kubeProxyAddonOptions"]["enabled"] is False
    assert cluster["createOidcProvider"] is False
    assert cluster["providerCredentialOpts"] == {}


def test_access_goes_through_access_entries_alone(full: World) -> None:
    cluster = full.inputs(declared.CLUSTER)
    assert cluster["authenticationMode"] == "API"
    policies = {
        entry["principalArn"]: sorted(policy["policyArn"] for policy in entry["accessPolicies"].values())
        for entry in cluster["accessEntries"].values()
    }
    assert policies == {
        "arn:aws:iam::111122223333:role/platform": [
            "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
        ],
        "arn:aws:iam::111122223333:role/audit": ["arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"],
        "arn:aws:iam::111122223333:role/shop": ["arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy"],
    }
    scopes = [p["accessScope"] for e in cluster["accessEntries"].values() for p in e["accessPolicies"].values()]
    assert scopes == [{"type": "cluster"}] * 2 + [{"type": "namespace", "namespaces": ["shop", "shop-*"]}]
    # An omitted list would keep groups that the file no longer has.
    groups = [entry["kubernetesGroups"] for entry in cluster["accessEntries"].values()]
    assert groups == [[], [], ["crd-readers", "shop-operators"]]


@pytest.mark.parametrize(
    ("region", "partition"), [("eu-west-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov")]
)
def test_every_arn_is_of_the_regions_partition(region: str, partition: str) -> None:
    admin = f"arn:{partition}:iam::111122223333:role/platform"
    found = world({**declared.FULL, "access": {"admins": [admin]}}, region=region)
    text = json.dumps([dict(resource.inputs) for resource in found.resources])
    assert {part.partition(":")[0] for part in text.split("arn:")[1:]} == {partition}


def test_an_entrys_key_stays_when_others_come(full: World) -> None:
    one = world({"access": {"admins": [ADMIN]}}).inputs(declared.CLUSTER)["accessEntries"]
    more = world({"access": {"admins": ["arn:aws:iam::111122223333:role/a", ADMIN]}}).inputs(declared.CLUSTER)
    assert set(one) < set(more["accessEntries"])
    assert full.inputs(declared.CLUSTER)["accessEntries"].keys().isdisjoint(one)


def test_two_roles_of_one_name_get_two_entries() -> None:
    admins = ["arn:aws:iam::111122223333:role/a/ops", "arn:aws:iam::111122223333:role/b/ops"]
    entries = world({"access": {"admins": admins}}).inputs(declared.CLUSTER)["accessEntries"]
    assert sorted(entry["principalArn"] for entry in entries.values()) == admins


def test_ranges_are_given_for_a_public_endpoint_alone(small: World) -> None:
    assert "publicAccessCidrs" not in small.inputs(declared.CLUSTER)
    public = {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.0/24"]}}
    cluster = world(public).inputs(declared.CLUSTER)
    assert (cluster["endpointPublicAccess"], cluster["publicAccessCidrs"]) == (True, ["198.51.100.0/24"])


def test_control_plane_interfaces_lie_in_private_subnets(small: World) -> None:
    cluster = small.inputs(declared.CLUSTER)
    assert cluster["privateSubnetIds"] == ["<Subnet:private-0>", "<Subnet:private-1>"]
    assert "publicSubnetIds" not in cluster


def test_secrets_are_encrypted_with_the_stacks_own_key_or_the_teams(small: World) -> None:
    assert small.inputs(declared.CLUSTER)["encryptionConfigKeyArn"].endswith("<Key:key>")
    theirs = "arn:aws:kms:eu-west-1:111122223333:key/00000000-0000-0000-0000-000000000000"
    found = world({"secretsEncryption": {"kmsKeyArn": theirs}})
    assert found.inputs(declared.CLUSTER)["encryptionConfigKeyArn"] == theirs
    off = world({"secretsEncryption": {"enabled": False}})
    assert "encryptionConfigKeyArn" not in off.inputs(declared.CLUSTER)


def test_the_log_group_is_there_before_eks_would_make_it(small: World) -> None:
    group = small.one(declared.LOG_GROUP, "control-plane")
    assert group.inputs["name"] == "/aws/eks/shop-dev/cluster"
    assert group.inputs["retentionInDays"] == 90
    assert str(group.inputs["kmsKeyId"]).endswith("<Key:key>")
    assert group.urn in small.one(declared.CLUSTER).dependencies


def test_without_log_types_there_is_no_log_group() -> None:
    found = world({"logging": {"types": []}, "session": {"logToCloudWatch": False}})
    assert not found.all(declared.LOG_GROUP)
    assert [s["Sid"] for s in statements(found)] == ["IamDecides"]


def statements(found: World) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads(found.inputs(declared.KEY)["policy"])
    return list(content["Statement"])


def test_cloudwatch_may_use_the_key_for_this_clusters_logs_alone(small: World) -> None:
    iam, logs = statements(small)
    assert iam["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}
    assert logs["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert logs["Condition"] == {
        "ArnEquals": {
            "kms:EncryptionContext:aws:logs:arn": [
                f"arn:aws:logs:eu-west-1:111122223333:log-group:{group.inputs['name']}"
                for group in small.all(declared.LOG_GROUP)
            ]
        }
    }


def test_the_key_is_rotated_and_a_protected_clusters_key_waits_longest(small: World) -> None:
    key = small.inputs(declared.KEY)
    assert (key["enableKeyRotation"], key["deletionWindowInDays"]) == (True, 7)
    protected = world({"deletionProtection": True})
    assert protected.inputs(declared.KEY)["deletionWindowInDays"] == 30
    assert protected.inputs(declared.CLUSTER)["deletionProtection"] is True


def test_the_service_role_may_what_a_cluster_needs_and_is_attached_first(small: World) -> None:
    trust = json.loads(small.inputs(declared.ROLE, "cluster")["assumeRolePolicy"])
    assert trust["Statement"][0]["Principal"] == {"Service": "eks.amazonaws.com"}
    attachment = small.one(declared.ATTACHMENT, "AmazonEKSClusterPolicy")
    assert attachment.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    assert attachment.urn in small.one(declared.CLUSTER).dependencies


SETTINGS = {"upgradePolicy": "STANDARD", "nodeRepair": True, "zonalShift": True, "controlPlaneTier": "tier-xl"}
LATER = {"zonalShiftConfig": {"enabled": True}, "controlPlaneScalingConfig": {"tier": "tier-xl"}}


def test_safety_switches_reach_the_cluster_and_its_groups(full: World) -> None:
    found = world({**declared.FULL, **SETTINGS})
    assert found.inputs(declared.CLUSTER)["upgradePolicy"] == {"supportType": "STANDARD"}
    assert all(group.inputs["nodeRepairConfig"] == {"enabled": True} for group in found.all(declared.MANAGED))
    assert {key: found.inputs(declared.CLUSTER)[key] for key in LATER} == LATER
    # Unset, nothing is sent.
    assert not {"upgradePolicy", *LATER} & full.inputs(declared.CLUSTER).keys()
    assert all("nodeRepairConfig" not in group.inputs for group in full.all(declared.MANAGED))
