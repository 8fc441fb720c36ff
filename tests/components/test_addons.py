"""Add-ons, the EBS CSI driver's role, and the default StorageClass."""

from __future__ import annotations

import json

from tests.components import declared
from tests.components.declared import World, world
from tests.stack.test_network import BY_ZONE
from tests.stack.words import AUTO_MODE


def test_all_five_add_ons_are_eks_add_ons_and_what_is_declared_runs(small: World) -> None:
    addons = {addon.name: addon.inputs for addon in small.all(declared.ADDON)}
    assert set(addons) == {"aws-ebs-csi-driver", "coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni"}
    for inputs in addons.values():
        assert inputs["resolveConflictsOnCreate"] == inputs["resolveConflictsOnUpdate"] == "OVERWRITE"


def test_a_version_is_given_where_the_team_pinned_one(small: World) -> None:
    assert "addonVersion" not in small.inputs(declared.ADDON, "coredns")
    assert small.inputs(declared.ADDON, "kube-proxy")["configurationValues"] == "{}"
    pinned = world({"addons": {"coredns": {"version": "v1.12.4-eksbuild.1"}}})
    assert pinned.inputs(declared.ADDON, "coredns")["addonVersion"] == "v1.12.4-eksbuild.1"


def test_coredns_and_the_ebs_controller_tolerate_the_arm64_taint(small: World) -> None:
    wanted = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
    coredns = json.loads(small.inputs(declared.ADDON, "coredns")["configurationValues"])
    ebs = json.loads(small.inputs(declared.ADDON, "aws-ebs-csi-driver")["configurationValues"])
    assert wanted in coredns["tolerations"]
    assert wanted in ebs["controller"]["tolerations"]


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
    assert small.one(declared.ATTACHMENT, "aws-ebs-csi-driver").urn in addon.dependencies


def test_the_ebs_driver_reaches_volumes_of_its_own_cluster_if_it_tags_them_so() -> None:
    def policy(version: str | None) -> object:
        found = world({"addons": {"ebsCsi": {"version": version}}} if version else None)
        return found.inputs(declared.ATTACHMENT, "aws-ebs-csi-driver")["policyArn"]

    of_the_cluster = "arn:aws:iam::aws:policy/AmazonEBSCSIDriverEKSClusterScopedPolicy"
    of_every_driver = "arn:aws:iam::aws:policy/AmazonEBSCSIDriverPolicyV2"
    assert policy(None) == policy("v1.58.0-eksbuild.1") == policy("v1.100.0-eksbuild.1") == of_the_cluster
    assert policy("v1.57.9-eksbuild.2") == policy("v1.9.0-eksbuild.1") == of_every_driver


def test_add_ons_of_a_stack_s_choice_come_after_the_nodes_each_with_its_role() -> None:
    own = "arn:aws:iam::111122223333:policy/dns"
    extra = {
        "amazon-cloudwatch-observability": {"policies": ["arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"]},
        "aws-privateca-connector-for-kubernetes": {
            "statements": [{"actions": ["acm-pca:Get*"], "resources": ["*"]}],
            "serviceAccount": "aws-privateca-issuer",
            "namespace": "aws-privateca-issuer",
        },
        "external-dns": {"policies": [own], "version": "v0.19.0-eksbuild.1"},
        "my-agent": {"beforeNodes": True},
    }
    found = world({"environment": "prod", "addons": {"extra": extra}})
    dns = found.one(declared.ADDON, "external-dns")
    assert dns.inputs["addonVersion"] == "v0.19.0-eksbuild.1"
    (association,) = found.inputs(declared.ADDON, "external-dns")["podIdentityAssociations"]
    assert association["serviceAccount"] == "external-dns"
    trust = json.loads(found.inputs(declared.ROLE, "external-dns")["assumeRolePolicy"])["Statement"][0]
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == "external-dns"
    attachment = found.one(declared.ATTACHMENT, "external-dns-111122223333-dns")
    assert attachment.inputs["policyArn"] == own
    assert attachment.urn in dns.dependencies
    found.one(declared.ATTACHMENT, "amazon-cloudwatch-observability-CloudWatchAgentServerPolicy")
    long = "aws-privateca-connector-for-kubernetes"
    assert found.inputs(declared.ROLE, long)["namePrefix"] == "shop-aws-privateca-connector-for-kube-"
    assert json.loads(found.inputs(declared.ROLE_POLICY, long)["policy"])["Statement"][0]["Action"] == ["acm-pca:Get*"]
    parents = {each.name: each.parent.rpartition("::")[2] for each in found.all(declared.ADDON)}
    assert (parents["external-dns"], parents["my-agent"]) == ("addons-extra", "addons-before-nodes")
    group = found.one(declared.MANAGED, "web")
    assert declared.goes_before(found, dns, group)
    assert declared.goes_before(found, group, found.one(declared.ADDON, "my-agent"))


def test_on_a_cluster_of_eks_auto_mode_they_come_after_its_node_pools() -> None:
    found = world({**AUTO_MODE, "addons": {"extra": {"metrics-server": {}}}})
    (server,) = found.all(declared.ADDON)
    pools = {each.urn for each in found.resources if each.type.endswith(":NodePool")}
    assert pools
    assert pools <= set(server.dependencies)


def test_network_policies_are_enforced_unless_turned_off(small: World) -> None:
    def configured(found: World) -> object:
        return json.loads(found.inputs(declared.ADDON, "vpc-cni")["configurationValues"])

    assert configured(small) == {"enableNetworkPolicy": "true"}
    dense = world({"addons": {"vpcCni": {"networkPolicy": False, "prefixDelegation": True}}})
    assert configured(dense) == {
        "enableNetworkPolicy": "false",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    }


def test_the_vpc_cni_learns_the_subnets_of_pods_by_zone() -> None:
    pods = {"eu-west-1a": "subnet-00000008", "eu-west-1b": "subnet-00000009"}
    new, existing = (
        world({"network": each}) for each in ({"podCidr": "100.64.0.0/16"}, {**BY_ZONE, "podSubnets": pods})
    )
    for found, subnets in ((new, ["<Subnet:pods-0>", "<Subnet:pods-1>"]), (existing, [*pods.values()])):
        values = json.loads(found.inputs(declared.ADDON, "vpc-cni")["configurationValues"])
        assert values["env"] == {
            "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true",
            "ENI_CONFIG_LABEL_DEF": "topology.kubernetes.io/zone",
        }
        assert values["eniConfig"] == {
            "create": True,
            "region": "eu-west-1",
            "subnets": {zone: {"id": subnet} for zone, subnet in zip(pods, subnets, strict=True)},
        }


def test_an_add_on_that_is_turned_off_leaves_nothing() -> None:
    found = world({"addons": {"ebsCsi": {"enabled": False}}, "storageClass": False})
    assert "aws-ebs-csi-driver" not in {resource.name for resource in found.resources}


def test_the_default_storage_class_encrypts_and_waits_for_the_pods_node(small: World) -> None:
    inputs = small.inputs(declared.STORAGE_CLASS)
    assert inputs["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert inputs["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert inputs["volumeBindingMode"] == "WaitForFirstConsumer"
    assert (inputs["apiVersion"], inputs["kind"]) == ("storage.k8s.io/v1", "StorageClass")
    assert small.one(declared.ADDON, "aws-ebs-csi-driver").urn in small.one(declared.STORAGE_CLASS).dependencies


def test_without_a_storage_class_the_kubernetes_api_is_not_needed() -> None:
    found = world({"storageClass": False})
    assert not [r for r in found.resources if "kubernetes" in r.type]
