"""What is declared for a stack on an existing cluster: nodes, and nothing that is the cluster's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.components import declared
from tests.components.declared import ACCESS_ENTRY, KEY, LOG_GROUP, MANAGED, ROLE, SCALING_GROUP, World
from tests.stack.test_existing_cluster import KARPENTER, NO_GROUPS, A, B, on_cluster, scaled
from tests.stack.words import merged

M7I = ["m7i.large"]
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
RELEASE = "kubernetes:helm.sh/v3:Release"
THEIRS = (
    "eks:index:Cluster",
    "aws:eks/addon:Addon",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/tag:Tag",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
)


def world(change: dict[str, Any]) -> World:
    found = declared.world(change)
    assert [each.type for each in found.resources if each.type in THEIRS] == []
    return found


def test_groups_use_the_subnets_of_their_zones_and_one_key_encrypts_session_logs() -> None:
    own = {"kind": "self-managed", "zones": ["eu-west-1b"]}
    found = world(merged(scaled("cluster-autoscaler", "clusterAutoscaler"), {"nodeGroups": {"web": own}}))
    assert found.inputs(MANAGED)["subnetIds"] == [A, B]
    assert found.inputs(SCALING_GROUP)["vpcZoneIdentifiers"] == [B]
    assert found.inputs(LOG_GROUP)["name"] == "/multiarch-eks/shop-dev/sessions"
    assert found.inputs("aws:kms/alias:Alias")["name"] == "alias/multiarch-eks/shop-dev"
    # EKS makes the entry of managed groups.
    assert found.one(ACCESS_ENTRY).name == "self-managed-nodes"
    assert "awsAuth" not in found.outputs
    assert found.outputs["cluster"]["name"] == "shop"
    # The installed cluster autoscaler gets priorities and tags, and is not installed again.
    assert found.all(RELEASE) == []
    priorities = found.inputs(CONFIG_MAP)
    assert priorities["metadata"] == {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"}
    assert "'.*'" in priorities["data"]["priorities"]
    tags = {dict[str, Any](each.inputs)["tag"]["key"] for each in found.all("aws:autoscaling/tag:Tag")}
    assert {"k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/shop"} <= tags


def test_nodes_of_all_kinds_have_the_security_groups_that_the_file_names() -> None:
    """A Karpenter that is there and can't reach IAM gets an instance profile of the nodes' role."""
    change = on_cluster(cluster={"securityGroups": ["sg-00000001"]}, nodeGroups={"web": declared.OWN})
    found = world(merged(change, {"autoscaling": merged(KARPENTER, {"karpenter": {"isolatedVPC": True}})}))
    assert {str(each.inputs["vpcSecurityGroupIds"]) for each in found.all(declared.TEMPLATE)} == {"['sg-00000001']"}
    profile, spec = found.inputs(declared.PROFILE, "karpenter-nodes"), found.inputs(NODE_CLASS)["spec"]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-00000001"}]
    assert profile["role"] == "nodes"
    assert (spec["instanceProfile"], "role" in spec) == (f"{profile['namePrefix']}RENDERED", False)


def test_an_installed_karpenter_gets_a_node_class_by_ids_and_pools_alone() -> None:
    found = world({**on_cluster(autoscaling=KARPENTER, session={"logToCloudWatch": False}), **NO_GROUPS})
    assert found.all(RELEASE) == found.all(ROLE) == []
    spec = found.inputs(NODE_CLASS)["spec"]
    assert spec["role"] == "nodes"
    assert spec["subnetSelectorTerms"] == [{"id": A}, {"id": B}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "<SecurityGroup of shop>"}]
    assert found.all("kubernetes:karpenter.sh/v1:NodePool") != []
    # Without session logs there is no key.
    assert found.all(KEY) == []


@pytest.mark.parametrize("mode", ["API", "CONFIG_MAP"])
def test_karpenter_that_the_stack_installs_finds_everything_by_ids(mode: str) -> None:
    settings = {"use": "karpenter", "karpenter": {"controllerGroup": "web"}}
    change = on_cluster(cluster={"podIdentityAgent": True, "authenticationMode": mode}, autoscaling=settings)
    found = world(
        merged(change, {"nodeGroups": {"web": {"minSize": 2}, "own": {**declared.OWN, "instanceTypes": M7I}}})
    )
    assert found.inputs(NODE_CLASS)["spec"]["securityGroupSelectorTerms"] == [{"id": "<SecurityGroup of shop>"}]
    # A cluster without access entries gets none, and the lines that its ConfigMap needs are an output.
    assert len(found.all(ACCESS_ENTRY)) == (2 if mode == "API" else 0)
    if mode == "CONFIG_MAP":
        lines = found.outputs["awsAuth"]
        assert lines.startswith("- rolearn: ")
        assert "username: system:node:{{EC2PrivateDNSName}}\n  groups:\n    - system:bootstrappers" in lines
        assert lines.count("rolearn") == 2
    else:
        assert "awsAuth" not in found.outputs
