"""NodePools and the EC2NodeClass: what the plan makes of a team's words, and the manifests of it."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.autoscaling.controller import get_queue_name
from multiarch.autoscaling.karpenter import build_discovery_tags, build_node_class, build_node_pool
from multiarch.autoscaling.model import KarpenterPlan, NodePoolPlan
from tests.stack.words import merged, plan

BASE: dict[str, Any] = {
    "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
    "autoscaling": {"use": "karpenter", "karpenter": {"amiAlias": "al2023@v20260715"}},
}


def karpenter(change: dict[str, Any] | None = None, **words: object) -> KarpenterPlan:
    made = plan(merged(merged(BASE, {"autoscaling": {"karpenter": words}}), change or {})).autoscaling.karpenter
    assert made is not None
    return made


def pools(**words: object) -> tuple[NodePoolPlan, ...]:
    return karpenter(nodePools={"general": words}).pools


def test_a_request_becomes_one_pool_per_architecture_and_capacity_type_in_order() -> None:
    assert [(each.name, each.weight) for each in karpenter().pools] == [
        ("general-arm64-spot", 90),
        ("general-arm64-on-demand", 70),
        ("general-amd64-spot", 50),
        ("general-amd64-on-demand", 30),
    ]


def test_several_requests_keep_the_order_of_kinds_and_differ_in_weight() -> None:
    made = karpenter(nodePools={"batch": {"architectures": ["arm64"]}, "general": {}}).pools
    assert [(each.name, each.weight) for each in made] == [
        ("batch-arm64-spot", 90),
        ("general-arm64-spot", 89),
        ("batch-arm64-on-demand", 70),
        ("general-arm64-on-demand", 69),
        ("general-amd64-spot", 49),
        ("general-amd64-on-demand", 29),
    ]


def test_only_arm64_pools_carry_the_arm64_taint() -> None:
    taints = {each.name: [str(taint) for taint in each.taints] for each in pools(taints=["batch=yes:NoSchedule"])}
    assert taints["general-arm64-spot"] == ["arch=arm64:NoSchedule", "batch=yes:NoSchedule"]
    assert taints["general-amd64-spot"] == ["batch=yes:NoSchedule"]
    assert all(each.taints == () for each in pools(arm64Taint=False))


def test_a_pool_of_both_architectures_has_both_and_the_taint_on_all_of_its_nodes() -> None:
    made = pools(multiArchitecture=True)
    assert [(each.name, each.weight) for each in made] == [("general-spot", 90), ("general-on-demand", 70)]
    for each in made:
        assert {t.architecture.value for t in each.instance_types} == {"amd64", "arm64"}
        assert [str(taint) for taint in each.taints] == ["arch=arm64:NoSchedule"]


def test_the_default_selection_is_virtual_c_m_and_r_of_the_sixth_generation_or_later() -> None:
    arm = next(each for each in pools() if each.name == "general-arm64-spot")
    names = {each.name for each in arm.instance_types}
    assert {"m7g.large", "c6g.medium", "r8g.2xlarge"} <= names
    assert not {"m7g.metal", "t4g.large", "a1.large", "m7i.large", "g5g.xlarge"} & names


def test_families_sizes_and_types_narrow_the_selection() -> None:
    by_family = pools(families=["m7g"], sizes=["large", "metal"], architectures=["arm64"])
    assert [t.name for t in by_family[0].instance_types] == ["m7g.large", "m7g.metal"]
    by_type = pools(instanceTypes=["m7g.large", "c7i.xlarge"])
    assert {each.name: [t.name for t in each.instance_types] for each in by_type} == {
        "general-arm64-spot": ["m7g.large"],
        "general-arm64-on-demand": ["m7g.large"],
        "general-amd64-spot": ["c7i.xlarge"],
        "general-amd64-on-demand": ["c7i.xlarge"],
    }


def test_a_written_order_says_which_kinds_are_bought_and_in_what_order() -> None:
    made = karpenter({"autoscaling": {"order": ["amd64-on-demand", "arm64-spot"]}}).pools
    assert [(each.name, each.weight) for each in made] == [("general-amd64-on-demand", 90), ("general-arm64-spot", 70)]


def test_prefix_delegation_tells_karpenter_how_many_pods_fit() -> None:
    assert karpenter().node_class.max_pods is None
    prefixes = {"addons": {"vpcCni": {"prefixDelegation": True}}}
    # c7g.medium, m7g.medium …: two interfaces of four addresses.
    assert karpenter(prefixes).node_class.max_pods == 98
    assert (
        karpenter(
            prefixes, nodePools={"large": {"families": ["m7g"], "sizes": ["xlarge"], "architectures": ["arm64"]}}
        ).node_class.max_pods
        == 110
    )
    assert karpenter({**prefixes, "network": {"podCidr": "100.64.0.0/16"}}).node_class.max_pods == 50
    rows = {row.key: row.value for row in plan(merged(BASE, prefixes)).autoscaling.derived}
    assert rows["maxPods of the nodes"] == "98"


def test_the_manifest_of_a_node_pool() -> None:
    made = pools(
        labels={"example.com/tier": "general"},
        zones=["eu-west-1a"],
        cpuLimit=64,
        memoryLimit="256Gi",
        budget="20%",
        quietHours={"schedule": "0 7 * * mon-fri", "duration": "10h"},
        consolidateAfter="5m",
    )
    assert build_node_pool(made[0]) == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general-arm64-spot"},
        "spec": {
            "disruption": {
                "budgets": [{"nodes": "20%"}, {"nodes": "0", "schedule": "0 7 * * mon-fri", "duration": "10h"}],
                "consolidateAfter": "5m",
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
            },
            "limits": {"cpu": "64", "memory": "256Gi"},
            "template": {
                "metadata": {"labels": {"example.com/tier": "general"}},
                "spec": {
                    "expireAfter": "720h",
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [
                        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
                        {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
                        {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["5"]},
                        {"key": "karpenter.k8s.aws/instance-hypervisor", "operator": "In", "values": ["nitro", "xen"]},
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-west-1a"]},
                    ],
                    "taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}],
                },
            },
            "weight": 90,
        },
    }


def test_a_node_waits_for_its_pods_as_long_as_it_takes_unless_a_time_is_written() -> None:
    def node(**words: object) -> Any:  # noqa: ANN401
        manifest: Any = build_node_pool(pools(**words)[0])
        return manifest["spec"]["template"]["spec"]

    assert "terminationGracePeriod" not in node()
    assert node(terminationGracePeriod="48h") == {**node(), "terminationGracePeriod": "48h"}


def test_the_manifest_of_the_node_class() -> None:
    made = build_node_class(karpenter().node_class, cluster="shop-dev", role="nodes", tags=(("team", "shop"),))
    assert made == {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "amiFamily": "AL2023",
            "amiSelectorTerms": [{"alias": "al2023@v20260715"}],
            "blockDeviceMappings": [
                {
                    "deviceName": "/dev/xvda",
                    "ebs": {"deleteOnTermination": True, "encrypted": True, "volumeSize": "50Gi", "volumeType": "gp3"},
                }
            ],
            "metadataOptions": {
                "httpEndpoint": "enabled",
                "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 1,
                "httpTokens": "required",
            },
            "role": "nodes",
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "shop-dev"}}],
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "shop-dev"}}],
            "tags": {"team": "shop"},
        },
    }
    assert build_discovery_tags("shop-dev") == (("karpenter.sh/discovery", "shop-dev"),)


def test_bottlerocket_has_a_volume_of_its_own_for_images_and_pods() -> None:
    made: Any = build_node_class(
        karpenter(amiAlias="bottlerocket@1.50.0", diskSize=80).node_class, cluster="c", role="r", tags=()
    )
    volumes = {each["deviceName"]: each["ebs"]["volumeSize"] for each in made["spec"]["blockDeviceMappings"]}
    assert volumes == {"/dev/xvda": "4Gi", "/dev/xvdb": "80Gi"}
    assert made["spec"]["amiFamily"] == "Bottlerocket"


@pytest.mark.parametrize("length", [1, 70, 71, 100])
def test_a_queue_has_a_name_that_sqs_takes_and_no_other_cluster_has(length: int) -> None:
    name = get_queue_name("c" * length)
    assert len(name) <= 80
    assert name.endswith("-karpenter")
    assert name != get_queue_name("c" * (length - 1) + "d")
