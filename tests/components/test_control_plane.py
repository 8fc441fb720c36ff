"""The cluster: who may use it, what is logged and encrypted, and what it must not bring along."""

from __future__ import annotations

import json
from typing import Any

from tests.components import declared
from tests.components.declared import World


def entries(found: World) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = found.inputs(declared.CLUSTER)["accessEntries"]
    return {row["principalArn"]: {"key": key, **row} for key, row in rows.items()}


def statements(found: World) -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads(found.inputs(declared.KEY)["policy"])
    return list(content["Statement"])


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
    # Its interfaces lie in private subnets.
    assert cluster["privateSubnetIds"] == ["<Subnet:private-0>", "<Subnet:private-1>"]
    assert "publicSubnetIds" not in cluster


def test_access_goes_through_access_entries_alone(full: World) -> None:
    assert full.inputs(declared.CLUSTER)["authenticationMode"] == "API"
    policies = {
        principal.rpartition("/")[2]: [
            (policy["policyArn"].rpartition("/")[2], policy["accessScope"]) for policy in row["accessPolicies"].values()
        ]
        for principal, row in entries(full).items()
    }
    assert policies == {
        "platform": [("AmazonEKSClusterAdminPolicy", {"type": "cluster"})],
        "audit": [("AmazonEKSViewPolicy", {"type": "cluster"})],
        "shop": [("AmazonEKSEditPolicy", {"type": "namespace", "namespaces": ["shop", "shop-*"]})],
    }
    # An omitted list would keep groups that the file no longer has.
    groups = [row["kubernetesGroups"] for row in entries(full).values()]
    assert groups == [[], [], ["crd-readers", "shop-operators"]]


def test_an_entrys_key_stays_when_others_come_and_differs_for_roles_of_one_name(changed: World, bare: World) -> None:
    assert entries(bare)[declared.ADMIN]["key"] == entries(changed)[declared.ADMIN]["key"]
    assert {"arn:aws:iam::111122223333:role/a/ops", "arn:aws:iam::111122223333:role/b/ops"} < entries(changed).keys()


def test_every_arn_is_of_the_regions_partition(full: World, in_china: World) -> None:
    for found, partition in ((full, "aws"), (in_china, "aws-cn")):
        text = json.dumps([dict(resource.inputs) for resource in found.resources])
        assert {part.partition(":")[0] for part in text.split("arn:")[1:]} == {partition}


def test_cidr_blocks_are_given_for_a_public_endpoint_alone(small: World, changed: World) -> None:
    assert "publicAccessCidrs" not in small.inputs(declared.CLUSTER)
    cluster = changed.inputs(declared.CLUSTER)
    assert (cluster["endpointPublicAccess"], cluster["publicAccessCidrs"]) == (True, ["198.51.100.0/24"])


def test_secrets_are_encrypted_with_the_stacks_own_key_or_the_teams(small: World, changed: World, bare: World) -> None:
    assert small.inputs(declared.CLUSTER)["encryptionConfigKeyArn"].endswith("<Key:key>")
    assert changed.inputs(declared.CLUSTER)["encryptionConfigKeyArn"] == declared.KEY_OF_TEAM
    assert "encryptionConfigKeyArn" not in bare.inputs(declared.CLUSTER)


def test_the_log_group_is_there_before_eks_would_make_it_and_cloudwatch_may_use_the_key_for_it(
    small: World, bare: World
) -> None:
    group = small.one(declared.LOG_GROUP, "control-plane")
    assert group.inputs["name"] == "/aws/eks/shop-dev/cluster"
    assert group.inputs["retentionInDays"] == 90
    assert str(group.inputs["kmsKeyId"]).endswith("<Key:key>")
    assert group.urn in small.one(declared.CLUSTER).dependencies
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
    assert not bare.all(declared.LOG_GROUP)
    assert [s["Sid"] for s in statements(bare)] == ["IamDecides"]


def test_the_key_is_rotated_and_a_protected_clusters_key_waits_longest(small: World, changed: World) -> None:
    key = small.inputs(declared.KEY)
    assert (key["enableKeyRotation"], key["deletionWindowInDays"]) == (True, 7)
    assert changed.inputs(declared.KEY)["deletionWindowInDays"] == 30
    assert changed.inputs(declared.CLUSTER)["deletionProtection"] is True


def test_the_service_role_may_what_a_cluster_needs_and_is_attached_first(small: World) -> None:
    trust = json.loads(small.inputs(declared.ROLE, "cluster")["assumeRolePolicy"])
    assert trust["Statement"][0]["Principal"] == {"Service": "eks.amazonaws.com"}
    attachment = small.one(declared.ATTACHMENT, "AmazonEKSClusterPolicy")
    assert attachment.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    assert attachment.urn in small.one(declared.CLUSTER).dependencies


def test_safety_switches_reach_the_cluster_and_its_groups(full: World, changed: World) -> None:
    later = {"zonalShiftConfig": {"enabled": True}, "controlPlaneScalingConfig": {"tier": "tier-xl"}}
    cluster = changed.inputs(declared.CLUSTER)
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}
    assert {key: cluster[key] for key in later} == later
    assert all(group.inputs["nodeRepairConfig"] == {"enabled": True} for group in changed.all(declared.MANAGED))
    # Unset, nothing is sent.
    assert not {"upgradePolicy", *later} & full.inputs(declared.CLUSTER).keys()
    assert all("nodeRepairConfig" not in group.inputs for group in full.all(declared.MANAGED))
