"""EKS Auto Mode: all three parts of it on the cluster, two roles with their rights, and an order that does not hang."""

from __future__ import annotations

import json

import pytest

from multiarch.facts.auto_mode import CLUSTER_POLICIES
from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, world
from tests.stack.words import AUTO_MODE, EXISTING_CLUSTER, merged

NODE_CLASS = "kubernetes:eks.amazonaws.com/v1:NodeClass"
STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"


def attached(found: World, role: str) -> set[str]:
    name = f"{found.inputs(declared.ROLE, role)['namePrefix']}RENDERED"
    return {
        str(each.inputs["policyArn"]).rpartition("/")[2]
        for each in found.all(declared.ATTACHMENT)
        if each.inputs["role"] == name
    }


def test_the_cluster_has_auto_mode_without_eks_own_pools_and_node_role(auto: World, small: World) -> None:
    assert auto.inputs(declared.CLUSTER)["autoMode"] == {
        "enabled": True,
        "createNodeRole": False,
        "computeConfig": {"nodePools": []},
    }
    assert "autoMode" not in small.inputs(declared.CLUSTER)


def test_the_clusters_role_may_do_what_auto_mode_does_and_tag_it(auto: World, small: World) -> None:
    assert attached(auto, "cluster") == {"AmazonEKSClusterPolicy", *CLUSTER_POLICIES}
    assert attached(small, "cluster") == {"AmazonEKSClusterPolicy"}
    trust = [json.loads(each.inputs(declared.ROLE, "cluster")["assumeRolePolicy"]) for each in (auto, small)]
    assert [each["Statement"][0]["Action"] for each in trust] == [
        ["sts:AssumeRole", "sts:TagSession"],
        "sts:AssumeRole",
    ]
    tags = json.loads(auto.inputs(declared.ROLE_POLICY, "auto-mode-tags")["policy"])
    for statement in tags["Statement"]:
        own = "${aws:PrincipalTag/eks:eks-cluster-name}"
        assert statement["Condition"]["StringEquals"] == {"aws:RequestTag/eks:eks-cluster-name": own}


def test_nodes_may_join_and_pull_images_and_nothing_else(auto: World) -> None:
    name = "auto-mode-nodes"
    assert attached(auto, name) == {"AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"}
    assert auto.inputs(declared.ACCESS_ENTRY, name)["type"] == "EC2"
    association = auto.inputs(ASSOCIATION, name)
    assert association["policyArn"] == "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAutoNodePolicy"
    assert association["accessScope"] == {"type": "cluster"}


def test_the_node_class_has_the_private_subnets_the_role_and_the_stacks_tags(auto: World) -> None:
    spec = auto.inputs(NODE_CLASS, "shop-dev")["spec"]
    private = [each for each in auto.all(declared.SUBNET) if each.name.startswith("private")]
    assert len(spec["subnetSelectorTerms"]) == len(private)
    assert spec["role"] == f"{auto.inputs(declared.ROLE, 'auto-mode-nodes')['namePrefix']}RENDERED"
    assert spec["tags"].items() >= {"team": "shop", "multiarch-eks/cluster": "shop-dev"}.items()
    # Nothing is tagged for it to be found.
    assert auto.all(autoscaled.EC2_TAG) == []


def test_pools_go_before_their_class_and_the_class_before_its_nodes_rights_and_routes(auto: World) -> None:
    node_class, pools = auto.one(NODE_CLASS), auto.all(autoscaled.NODE_POOL)
    assert len(pools) == 4
    assert all(goes_before(auto, pool, node_class) for pool in pools)
    role = f"{auto.inputs(declared.ROLE, 'auto-mode-nodes')['namePrefix']}RENDERED"
    rights = [each for each in auto.all(declared.ATTACHMENT) if each.inputs["role"] == role]
    for needed in (*rights, auto.one(ASSOCIATION, "auto-mode-nodes"), *auto.all("aws:ec2/natGateway:NatGateway")):
        assert goes_before(auto, node_class, needed), needed.urn


def test_volumes_are_of_auto_modes_driver_for_its_nodes(auto: World, small: World) -> None:
    found = auto.inputs(STORAGE_CLASS)
    assert found["provisioner"] == "ebs.csi.eks.amazonaws.com"
    only = {"key": "eks.amazonaws.com/compute-type", "values": ["auto"]}
    assert found["allowedTopologies"] == [{"matchLabelExpressions": [only]}]
    assert small.inputs(STORAGE_CLASS)["provisioner"] == "ebs.csi.aws.com"


@pytest.mark.parametrize("role", [None, "shop-prod-nodes"])
def test_an_existing_cluster_gets_class_and_pools_and_a_role_where_none_is_named(role: str | None) -> None:
    named = {} if role is None else {"autoscaling": {"autoMode": {"nodeRole": role}}}
    groups = {"cluster": {"securityGroups": ["sg-00000001"]}}
    found = world(merged(merged({**AUTO_MODE, **EXISTING_CLUSTER}, groups), named))
    node_class = found.inputs(NODE_CLASS, "shop-dev")["spec"]
    assert node_class["securityGroupSelectorTerms"] == [{"id": "sg-00000001"}]
    assert node_class["subnetSelectorTerms"] == [
        {"id": "subnet-0aaaaaaaaaaaaaaa1"},
        {"id": "subnet-0aaaaaaaaaaaaaaa2"},
    ]
    # AWS's policies of the cluster's role allow no tags of others.
    assert "tags" not in node_class
    assert len(found.all(autoscaled.NODE_POOL)) == 2
    assert len(found.all(declared.ACCESS_ENTRY)) == (role is None)
    if role:
        assert node_class["role"] == role
    assert found.all(declared.CLUSTER) == []
