"""EKS Auto Mode: what the plan makes of a team's words, which types it launches, and the labels of its nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.autoscaling.karpenter import build_auto_mode_class, build_node_pool
from multiarch.autoscaling.model import Autoscaler, AutoscalingPlan
from multiarch.autoscaling.node_labels import build_node_labels
from multiarch.facts.auto_mode import NOT_GIVEN, compute_auto_mode_pods, explain_not_launched
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.schema.autoscaling import AutoMode, AutoModeNodePool
from multiarch.stack.model import Plan
from tests.stack.files import CONFIG, Project
from tests.stack.words import AUTO_MODE, merged, plan


def stack(**words: object) -> Plan:
    return plan(merged(AUTO_MODE, {"autoscaling": {"autoMode": words}}))


def autoscaling(**pool: object) -> AutoscalingPlan:
    return stack(nodePools={"general": pool}).autoscaling


def test_a_stack_needs_neither_node_groups_nor_add_ons() -> None:
    made = stack()
    assert made.autoscaling.use is Autoscaler.AUTO_MODE
    assert (made.node_groups, made.addons, made.autoscaling.karpenter) == ((), (), None)
    both = plan({"autoscaling": {"use": "auto-mode"}})
    assert [each.name for each in both.addons][:2] == ["vpc-cni", "kube-proxy"]
    assert both.autoscaling.pools == made.autoscaling.pools


def test_pools_prefer_arm64_with_the_taint_and_have_auto_modes_class_and_labels() -> None:
    made = autoscaling(cpuLimit=64)
    assert [(each.name, each.weight, [str(taint) for taint in each.taints]) for each in made.pools] == [
        ("general-arm64-spot", 90, ["arch=arm64:NoSchedule"]),
        ("general-arm64-on-demand", 70, ["arch=arm64:NoSchedule"]),
        ("general-amd64-spot", 50, []),
        ("general-amd64-on-demand", 30, []),
    ]
    assert build_node_pool(made.pools[0]) == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general-arm64-spot"},
        "spec": {
            "disruption": {
                "budgets": [{"nodes": "10%"}],
                "consolidateAfter": "1m",
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
            },
            "limits": {"cpu": "64"},
            "template": {
                "spec": {
                    "expireAfter": "336h",
                    "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "shop-dev"},
                    "requirements": [
                        {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                        {"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": ["c", "m", "r"]},
                        {"key": "eks.amazonaws.com/instance-generation", "operator": "Gt", "values": ["5"]},
                        {"key": "eks.amazonaws.com/instance-hypervisor", "operator": "In", "values": ["nitro", "xen"]},
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                    ],
                    "taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}],
                },
            },
            "weight": 90,
        },
    }


def test_the_node_class_names_subnets_and_security_group_by_their_ids() -> None:
    owner = stack().autoscaling.auto_mode
    assert owner is not None
    subnets, tags = [{"id": "subnet-0a"}], (("team", "shop"),)
    made = build_auto_mode_class(
        owner.node_class, role="nodes", subnet_ids=subnets, security_groups=["sg-0a"], tags=tags
    )
    assert made == {
        "apiVersion": "eks.amazonaws.com/v1",
        "kind": "NodeClass",
        "metadata": {"name": "shop-dev"},
        "spec": {
            "role": "nodes",
            "securityGroupSelectorTerms": [{"id": "sg-0a"}],
            "subnetSelectorTerms": subnets,
            "tags": {"team": "shop"},
        },
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("m7g.large", ""),
        ("t4g.medium", ""),
        ("g5g.xlarge", ""),
        ("m7g.medium", "none of one vCPU"),
        ("t4g.small", "none of one vCPU, nano, micro or small"),
        ("a1.large", "does not launch the family of a1.large"),
        ("m9g.large", "does not launch the family of m9g.large"),
    ],
)
def test_only_types_that_aws_lists_are_launched(name: str, why: str) -> None:
    found = explain_not_launched(get_instance_type(name)) or ""
    assert why in found
    assert bool(found) is bool(why)


def test_no_node_takes_more_than_110_pods() -> None:
    assert [compute_auto_mode_pods(get_instance_type(each)) for each in ("m7g.large", "m7g.16xlarge")] == [29, 110]


def test_a_node_has_auto_modes_labels_and_belongs_to_no_node_group() -> None:
    pool = autoscaling(labels={"team": "shop"}).pools[0]
    found = build_node_labels(pool, get_instance_type("m7g.large"), zone="eu-west-1a")
    wanted = {
        "eks.amazonaws.com/compute-type": "auto",
        "eks.amazonaws.com/instance-cpu": "2",
        "eks.amazonaws.com/instance-family": "m7g",
        "eks.amazonaws.com/nodeclass": "shop-dev",
        "karpenter.sh/capacity-type": "spot",
        "karpenter.sh/nodepool": "general-arm64-spot",
        "kubernetes.io/os": "linux",
        "team": "shop",
    }
    assert wanted.items() <= found.known.items()
    assert not [key for key in found.known if key.startswith("karpenter.k8s.aws/")]
    assert found.is_unknown("eks.amazonaws.com/instance-gpu-name")
    assert EKS_NODE_GROUP not in found.known


def test_keys_that_auto_mode_does_not_have_are_rejected_with_the_reason(tmp_path: Path) -> None:
    """None of them is a key of Auto Mode, else the reason would never be seen."""
    keys = {field.alias for model in (AutoMode, AutoModeNodePool) for field in model.model_fields.values()}
    assert not keys & NOT_GIVEN.keys()
    written = "{use: auto-mode, autoMode: {amiAlias: al2023@latest, nodePools: {general: {kubelet: {}}}}}"
    found = Project(tmp_path).problems(f"{CONFIG}  multiarch-eks:autoscaling: {written}\n")
    assert {problem.key: (problem.rule, problem.hint) for problem in found} == {
        "autoscaling.autoMode.amiAlias": ("unknown-key", NOT_GIVEN["amiAlias"]),
        "autoscaling.autoMode.nodePools.general.kubelet": ("unknown-key", NOT_GIVEN["kubelet"]),
    }
