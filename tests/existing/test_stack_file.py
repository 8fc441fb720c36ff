"""The text of a stack file on a cluster, in the parts that no cluster of the sandbox has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import yaml

from multiarch.existing.proposal import plan_addition
from multiarch.existing.stack_file import write_stack_file
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.observed.eks.inside import read_inside
from multiarch.observed.eks.model import InCluster, NodeSettings, ObservedCluster, ObservedPool
from tests.existing.clusters import cluster, group, taint


def write(found: ObservedCluster) -> dict[str, Any]:
    text = write_stack_file(plan_addition(found, date(2026, 11, 21)), "shop", "prod", owner="o", cost_center="c")
    assert max(map(len, text.splitlines())) <= 140
    config = yaml.safe_load(text)["config"]
    return {key.removeprefix("multiarch-eks:"): value for key, value in config.items()}


def test_a_bottlerocket_group_with_settings_of_its_own() -> None:
    own = group(
        family=AmiFamily.BOTTLEROCKET,
        fips=True,
        taints=("team=a:NoSchedule",),
        labels={"quote": "a", "version": "1.30"},
        subnets=("subnet-a",),
        settings=NodeSettings(disk_size=10, hop_limit=2),
        update={"maxUnavailablePercentage": 20},
    )
    assert write(cluster(own))["nodeGroups"]["general-arm64"] == {
        "instanceTypes": ["m7g.large"],
        "minSize": 1,
        "maxSize": 4,
        "amiFamily": "Bottlerocket",
        "amiType": "BOTTLEROCKET_ARM_64_FIPS",
        "diskSize": 20,
        "imdsHopLimit": 2,
        "labels": {"quote": "a", "version": "1.30"},
        "taints": ["team=a:NoSchedule"],
        "zones": ["eu-west-1a"],
        "updateStrategy": {"maxUnavailablePercentage": 20},
    }


@pytest.mark.parametrize("auto_mode", [False, True])
def test_node_pools_of_an_installed_karpenter_and_of_auto_mode(auto_mode: bool) -> None:  # noqa: FBT001 (a row)
    pool = ObservedPool(
        name="web",
        architectures=(Architecture.AMD64,),
        capacity_types=(CapacityType.SPOT, CapacityType.ON_DEMAND),
        labels={"tier": "web", "cpu": "amd64"},
        taints=(taint("tier=web:NoSchedule"),),
        cpu_limit=64,
        auto_mode=auto_mode,
        others=("karpenter.k8s.aws/instance-family",),
    )
    inside = InCluster("here", karpenters=("karpenter/karpenter",), karpenter_roles=("nodes",), pools=(pool,))
    found = cluster(inside=inside, auto_mode=auto_mode, auto_mode_role="nodes")
    pools = {
        "web": {
            "architectures": ["arm64"],
            "capacityTypes": ["spot", "on-demand"],
            "labels": {"tier": "web"},
            "taints": ["tier=web:NoSchedule"],
            "cpuLimit": 64,
        }
    }
    made = write(found)
    assert made["nodeGroups"] == {}
    assert made["autoscaling"] == (
        {"use": "auto-mode", "autoMode": {"nodeRole": "nodes", "nodePools": pools}}
        if auto_mode
        else {"use": "karpenter", "karpenter": {"installed": True, "nodeRole": "nodes", "nodePools": pools}}
    )


@pytest.mark.parametrize(("spec", "isolated"), [({"instanceProfile": "nodes"}, True), ({"role": "nodes"}, None)])
def test_karpenter_that_makes_no_instance_profiles_gets_one_of_the_stack(
    spec: Mapping[str, str], isolated: object
) -> None:
    objects: Mapping[str, Any] = {"deployments": [], "autoscalers": [], "nodes": [], "pools": [], "vpc_cni": None}
    inside = replace(read_inside("here", classes=[{"spec": spec}], **objects), karpenters=("karpenter/karpenter",))
    made = write(cluster(inside=inside, karpenter_roles=("nodes",)))["autoscaling"]["karpenter"]
    assert (made["nodeRole"], made.get("isolatedVPC")) == ("nodes", isolated)


def test_prefix_delegation_and_custom_networking_are_those_of_the_daemon_set() -> None:
    """Set by hand, they are not in the add-on's configuration."""
    inside = InCluster("here", prefix_delegation=True, custom_networking=True)
    made = write(cluster(group(), inside=inside))["cluster"]
    assert (made["prefixDelegation"], made["customNetworking"]) == (True, True)
    assert "customNetworking" not in write(cluster(group()))["cluster"]
