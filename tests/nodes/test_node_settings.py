"""Settings of the kubelet, mirrors and local disks: what is rejected, what nodes read, what is left for pods."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.autoscaling.karpenter import build_node_class
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.facts.node_resources import GIB, MIB
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.resources import get_node_resources
from multiarch.nodes.user_data import render_user_data
from multiarch.simulate.shapes import build_pool_shape
from tests.nodes.builders import CLUSTER
from tests.nodes.user_data import reading
from tests.stack.words import AUTO_MODE, Case, check_contradiction, plan

MIRRORS = {"docker.io": ["https://mirror.example.com"]}
HARD = {"memory.available": "300Mi"}
EVERYTHING = {
    "evictionHard": HARD,
    "evictionSoft": {"memory.available": "1Gi"},
    "evictionSoftGracePeriod": {"memory.available": "90s"},
    "kubeReserved": {"memory": "1Gi"},
    "systemReserved": {"cpu": "100m"},
    "imageGCHighThresholdPercent": 70,
    "imageGCLowThresholdPercent": 50,
    "containerLogMaxSize": "20Mi",
    "containerLogMaxFiles": 3,
}
TOLD = EVERYTHING | {"evictionHard": {**HARD, "nodefs.available": "10%", "nodefs.inodesFree": "5%"}}


def web(**change: Any) -> NodeGroupPlan:
    return plan({"nodeGroups": {"web": change}, "registryMirrors": MIRRORS}).node_groups[0]


def karpenter(alias: str, kubelet: dict[str, Any]) -> KarpenterPlan:
    settings = {
        "kubelet": kubelet,
        "amiAlias": alias,
        "controllerGroup": "web",
        "nodePools": {"general": {"cpuLimit": 64}},
    }
    change = {
        "nodeGroups": {"web": {"minSize": 2}},
        "autoscaling": {"use": "karpenter", "karpenter": settings},
        "apiEndpoint": {"public": True, "publicCidrs": ["192.0.2.1/32"]},
        "registryMirrors": MIRRORS,
    }
    return plan(change).autoscaling.karpenter or pytest.fail("no Karpenter")


def web_kubelet(**kubelet: Any) -> dict[str, Any]:
    return {"nodeGroups": {"web": {"kubelet": kubelet}}}


WEB = "nodeGroups.web.kubelet"
# fmt: off
CASES: list[Case] = [
    ("kubelet-value", web_kubelet(evictionHard={"memory.available": "110%"}), f"{WEB}.evictionHard.memory.available",
     "110% is above 100 %"),
    ("kubelet-value", web_kubelet(kubeReserved={"memory": "1Gx"}), f"{WEB}.kubeReserved.memory", "'1Gx'"),
    *(("not-valid", web_kubelet(containerLogMaxSize=size), f"{WEB}.containerLogMaxSize", f"'{size}'")
      for size in ("big", "1.5Gi", "0", "100m")),
    ("kubelet-value", web_kubelet(evictionSoft=HARD, evictionSoftGracePeriod={"memory.available": "2 minutes"}),
     f"{WEB}.evictionSoftGracePeriod.memory.available", "'2 minutes' is not a duration"),
    ("kubelet-eviction", web_kubelet(evictionSoft=HARD), f"{WEB}.evictionSoft.memory.available",
     "evictionSoftGracePeriod has not"),
    ("kubelet-images", web_kubelet(imageGCHighThresholdPercent=80), f"{WEB}.imageGCHighThresholdPercent", "(80)"),
    ("kubelet-no-room", web_kubelet(kubeReserved={"memory": "8Gi"}), WEB, "nothing of memory is left"),
    ("kubelet-family", {"kubernetesVersion": "1.32", "nodeGroups": {
        "web": {"amiFamily": "AL2", "kind": "self-managed", "kubelet": {"kubeReserved": {"cpu": "1"}}}}},
     WEB, "AL2"),
    ("kubelet-own-flag", {"nodeGroups": {"web": {"kubelet": {"imageGCHighThresholdPercent": 90},
                                                "bootstrap": {"kubeletExtraArgs": ["--image-gc-high-threshold=9"]}}}},
     "nodeGroups.web.bootstrap.kubeletExtraArgs[0]", "kubelet.imageGCHighThresholdPercent"),
    ("no-instance-store", {"nodeGroups": {"web": {"instanceStorePolicy": "RAID0"}}},
     "nodeGroups.web.instanceStorePolicy", "m7i.large has no local NVMe disks"),
    ("instance-store-family", {"kubernetesVersion": "1.32", "nodeGroups": {"web": {
        "amiFamily": "AL2", "instanceStorePolicy": "RAID0", "instanceTypes": ["m7gd.large"]}}},
     "nodeGroups.web.instanceStorePolicy", "AL2"),
    ("registry-mirror", {"registryMirrors": {"index.docker.io": ["https://m.example.com"]}},
     "registryMirrors.index.docker.io", "Hub"),
    ("not-valid", {"registryMirrors": {"docker.io/library": ["https://m.example.com"]}},
     "registryMirrors.docker.io/library", "host"),
    *(("not-valid", {"registryMirrors": {"docker.io": [mirror]}}, "registryMirrors.docker.io[0]", "https")
      for mirror in ("http://m.example.com", "https://m.example.com/v2/hub", "https://m.example.com:99999", "https://a..b")),
    ("registry-mirrors-auto-mode", {"registryMirrors": MIRRORS, **AUTO_MODE}, "registryMirrors", "user data"),
]
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_what_nodes_do_not_start_with_is_rejected(case: Case) -> None:
    check_contradiction(*case)


def test_a_setting_that_is_null_is_the_kubelets_own() -> None:
    assert web(kubelet={"containerLogMaxSize": None}).kubelet == web().kubelet


def test_pods_get_what_the_settings_leave() -> None:
    by_default, left = get_node_resources(web()), get_node_resources(web(kubelet=EVERYTHING))
    # m7i.large: 29 pods, for which EKS reserves 574 MiB.
    assert by_default["memory"] - left["memory"] == (1024 - 574) * MIB + (300 - 100) * MIB
    assert by_default["cpu"] - left["cpu"] == 100
    disk = get_node_resources(web(kubelet={"evictionHard": {"nodefs.available": "20%"}}))
    assert by_default["ephemeral-storage"] - disk["ephemeral-storage"] == 5 * GIB
    off = get_node_resources(web(kubelet={"evictionHard": {"nodefs.available": "0%"}}))
    assert off["ephemeral-storage"] - by_default["ephemeral-storage"] == 5 * GIB
    made = [karpenter("al2023@v20260715", each) for each in ({}, EVERYTHING)]
    instance = made[0].pools[0].instance_types[0]
    shapes = [build_pool_shape(each.pools[0], each.node_class, instance, ()) for each in made]
    assert shapes[0].allocatable.cpu - shapes[1].allocatable.cpu == 100


@pytest.mark.tools
@pytest.mark.parametrize("kind", ["managed", "self-managed"])
@pytest.mark.parametrize("family", ["AL2023", "Bottlerocket"])
def test_local_disks_hold_what_pods_write(family: str, kind: str) -> None:
    types = ["m7gd.large", "m6gd.large"]  # 118 GB each
    group = web(instanceTypes=types, kind=kind, amiFamily=family, instanceStorePolicy="RAID0")
    disk = 118 * 10**9
    assert get_node_resources(group)["ephemeral-storage"] == disk - disk // 10 - GIB
    text = render_user_data(group, CLUSTER)
    if family == "AL2023":
        spec = reading.node_config(reading.part(text, reading.NODE_CONFIG), partial=kind == "managed")["spec"]
        assert spec["instance"]["localStorage"]["strategy"] == "RAID0"
    else:
        command = reading.settings(text)["bootstrap-commands"]["local-disks"]
        assert command["commands"][0] == ["apiclient", "ephemeral-storage", "init"]
        assert (command["mode"], command["essential"]) == ("always", True)


@pytest.mark.tools
@pytest.mark.parametrize("more", [{}, {"kind": "self-managed"}])
def test_al2023_hands_the_settings_to_nodeadm(more: dict[str, Any]) -> None:
    group = web(kubelet=EVERYTHING, **more)
    text = render_user_data(group, CLUSTER)
    spec = reading.node_config(reading.part(text, reading.NODE_CONFIG), partial=not more)["spec"]
    assert spec["kubelet"]["config"] == TOLD
    assert "cat >/etc/containerd/certs.d/docker.io/hosts.toml" in reading.part(text, reading.SCRIPT)


@pytest.mark.parametrize("kind", ["managed", "self-managed"])
def test_bottlerocket_reads_the_settings(kind: str) -> None:
    settings = reading.settings(render_user_data(web(kubelet=EVERYTHING, amiFamily="Bottlerocket", kind=kind), CLUSTER))
    assert settings["container-registry"]["mirrors"] == [
        {"registry": "docker.io", "endpoint": ["https://mirror.example.com"]}
    ]
    kubernetes = settings["kubernetes"]
    assert kubernetes["eviction-hard"] == TOLD["evictionHard"]
    assert kubernetes["kube-reserved"] == {"memory": "1Gi"}
    assert kubernetes["image-gc-high-threshold-percent"] == "70"
    assert (kubernetes["container-log-max-size"], kubernetes["container-log-max-files"]) == ("20Mi", 3)


@pytest.mark.parametrize("alias", ["al2023@v20260715", "bottlerocket@v1.50.0"])
def test_karpenter_gets_its_own_fields_and_the_rest_as_user_data(alias: str) -> None:
    spec: Any = build_node_class(karpenter(alias, EVERYTHING).node_class, cluster="shop", role="nodes", tags=())["spec"]
    rest = {"containerLogMaxSize", "containerLogMaxFiles"}
    assert spec["kubelet"] == {key: value for key, value in TOLD.items() if key not in rest}
    if alias.startswith("al2023"):
        assert 'containerLogMaxSize: "20Mi"' in reading.part(spec["userData"], reading.NODE_CONFIG)
        assert reading.part(spec["userData"], reading.SCRIPT)
    else:
        read = reading.settings(spec["userData"])
        assert read["kubernetes"] == {"container-log-max-size": "20Mi", "container-log-max-files": 3}
        assert read["container-registry"]["mirrors"]
