"""Add-ons, the EBS CSI driver's role, and the default StorageClass."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.components import declared
from tests.components.declared import World, goes_before
from tests.stack.words import plan

ARM64 = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def configured(found: World, name: str = "vpc-cni") -> dict[str, Any]:
    values: dict[str, Any] = json.loads(found.inputs(declared.ADDON, name)["configurationValues"])
    return values


def test_all_five_add_ons_are_eks_add_ons_of_pinned_or_default_versions(small: World, changed: World) -> None:
    addons = {addon.name: addon.inputs for addon in small.all(declared.ADDON)}
    assert set(addons) == {"aws-ebs-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"}
    for inputs in addons.values():
        assert inputs["resolveConflictsOnCreate"] == inputs["resolveConflictsOnUpdate"] == "OVERWRITE"
        assert "addonVersion" not in inputs
    # What is omitted, the provider would keep.
    assert addons["kube-proxy"]["configurationValues"] == "{}"
    assert changed.inputs(declared.ADDON, "coredns")["addonVersion"] == "v1.12.4-eksbuild.1"
    assert ARM64 in configured(small, "coredns")["tolerations"]
    assert ARM64 in configured(small, "aws-ebs-csi-driver")["controller"]["tolerations"]


def test_the_ebs_drivers_role_is_for_its_service_account_in_this_cluster_alone(small: World) -> None:
    addon = small.one(declared.ADDON, "aws-ebs-csi-driver")
    association = addon.inputs["podIdentityAssociations"]
    assert association == [
        {"roleArn": "arn:aws:iam::111122223333:<Role:aws-ebs-csi-driver>", "serviceAccount": "ebs-csi-controller-sa"}
    ]
    statement = json.loads(small.inputs(declared.ROLE, "aws-ebs-csi-driver")["assumeRolePolicy"])["Statement"][0]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert statement["Condition"]["StringEquals"] == {
        "aws:RequestTag/eks-cluster-name": "shop-dev",
        "aws:RequestTag/kubernetes-namespace": "kube-system",
        "aws:RequestTag/kubernetes-service-account": "ebs-csi-controller-sa",
        "aws:SourceAccount": "111122223333",
    }
    assert statement["Condition"]["ArnEquals"] == {
        "aws:SourceArn": "arn:aws:eks:eu-west-1:111122223333:cluster/shop-dev"
    }
    attachment = small.one(declared.ATTACHMENT, "aws-ebs-csi-driver")
    assert attachment.urn in addon.dependencies
    assert str(attachment.inputs["policyArn"]).endswith(":policy/AmazonEBSCSIDriverEKSClusterScopedPolicy")


@pytest.mark.parametrize(
    ("version", "policy"),
    [
        ("v1.58.0-eksbuild.1", "AmazonEBSCSIDriverEKSClusterScopedPolicy"),
        ("v1.100.0-eksbuild.1", "AmazonEBSCSIDriverEKSClusterScopedPolicy"),
        ("v1.57.9-eksbuild.2", "AmazonEBSCSIDriverPolicyV2"),
        ("v1.9.0-eksbuild.1", "AmazonEBSCSIDriverPolicyV2"),
    ],
)
def test_the_ebs_driver_reaches_volumes_of_its_own_cluster_if_it_tags_them_so(version: str, policy: str) -> None:
    addons = {each.name: each for each in plan({"addons": {"ebsCsi": {"version": version}}}).addons}
    (given,) = addons["aws-ebs-csi-driver"].policies
    assert given.rpartition("/")[2] == policy


def test_add_ons_of_a_stack_s_choice_come_after_the_nodes_each_with_its_role(changed: World, auto: World) -> None:
    dns = changed.one(declared.ADDON, "external-dns")
    assert dns.inputs["addonVersion"] == "v0.19.0-eksbuild.1"
    (association,) = changed.inputs(declared.ADDON, "external-dns")["podIdentityAssociations"]
    assert association["serviceAccount"] == "external-dns"
    trust = json.loads(changed.inputs(declared.ROLE, "external-dns")["assumeRolePolicy"])["Statement"][0]
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == "external-dns"
    attachment = changed.one(declared.ATTACHMENT, "external-dns-111122223333-dns")
    assert attachment.inputs["policyArn"] == "arn:aws:iam::111122223333:policy/dns"
    assert attachment.urn in dns.dependencies
    changed.one(declared.ATTACHMENT, "amazon-cloudwatch-observability-CloudWatchAgentServerPolicy")
    long = "aws-privateca-connector-for-kubernetes"
    assert changed.inputs(declared.ROLE, long)["namePrefix"] == "shop-aws-privateca-connector-for-kube-"
    (statement,) = json.loads(changed.inputs(declared.ROLE_POLICY, long)["policy"])["Statement"]
    assert statement["Action"] == ["acm-pca:Get*"]
    parents = {each.name: each.parent.rpartition("::")[2] for each in changed.all(declared.ADDON)}
    assert (parents["external-dns"], parents["my-agent"]) == ("addons-extra", "addons-before-nodes")
    group = changed.one(declared.MANAGED, "web")
    assert goes_before(changed, dns, group)
    assert goes_before(changed, group, changed.one(declared.ADDON, "my-agent"))
    # EKS Auto Mode has NodePools in the place of groups.
    (server,) = auto.all(declared.ADDON)
    pools = {each.urn for each in auto.resources if each.type.endswith(":NodePool")}
    assert pools
    assert pools <= set(server.dependencies)


def test_the_vpc_cni_enforces_network_policies_and_learns_the_subnets_of_pods_by_zone(
    small: World, changed: World, with_own_network: World
) -> None:
    assert configured(small) == {"enableNetworkPolicy": "true"}
    values = configured(changed)
    assert values["enableNetworkPolicy"] == "false"
    assert values["env"] == {
        "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
        "ENABLE_PREFIX_DELEGATION": "true",
        "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
        "WARM_PREFIX_TARGET": "1",
    }
    new = {f"eu-west-1{zone}": f"<Subnet:pods-{index}>" for index, zone in enumerate("cab")}
    for found, subnets in ((changed, new), (with_own_network, declared.OWN_NETWORK["podSubnets"])):
        expected = {zone: {"id": subnet} for zone, subnet in subnets.items()}
        assert configured(found)["eniConfig"] == {"create": True, "region": "eu-west-1", "subnets": expected}


def test_the_default_storage_class_encrypts_and_waits_for_the_pods_node(small: World, bare: World) -> None:
    inputs = small.inputs(declared.STORAGE_CLASS)
    assert inputs["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert inputs["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert inputs["volumeBindingMode"] == "WaitForFirstConsumer"
    assert (inputs["apiVersion"], inputs["kind"]) == ("storage.k8s.io/v1", "StorageClass")
    assert small.one(declared.ADDON, "aws-ebs-csi-driver").urn in small.one(declared.STORAGE_CLASS).dependencies
    # Without it the Kubernetes API is not needed; an add-on that is turned off leaves nothing.
    for each in bare.resources:
        assert "kubernetes" not in each.type
        assert each.name != "aws-ebs-csi-driver"
