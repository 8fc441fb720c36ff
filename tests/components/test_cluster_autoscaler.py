"""The cluster autoscaler: chart and values, role and rights, tags on Auto Scaling Groups, order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ruamel.yaml import YAML

from components.in_cluster import cluster_autoscaler
from tests.components import autoscaled, declared
from tests.components.declared import World

NAME = "cluster-autoscaler"


ARM64 = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def values(found: World) -> dict[str, Any]:
    release: Any = found.inputs(autoscaled.RELEASE, NAME)
    return dict(release["values"])


def made(**change: Any) -> Any:  # noqa: ANN401  (the chart's)
    """The values for a changed plan, without an arm64 taint."""
    plan = replace(autoscaled.CLUSTER_AUTOSCALER, **change)
    return cluster_autoscaler.values(plan, cluster="shop", region="eu-west-1", arm64_taint=None, image={})


def test_chart_and_image_are_pinned_and_find_this_clusters_groups(with_cluster_autoscaler: World) -> None:
    release = with_cluster_autoscaler.inputs(autoscaled.RELEASE, NAME)
    assert (release["chart"], release["version"]) == ("cluster-autoscaler", "9.59.0")
    assert release["repositoryOpts"] == {"repo": "https://kubernetes.github.io/autoscaler"}
    assert (release["name"], release["namespace"]) == ("cluster-autoscaler", "kube-system")
    found = values(with_cluster_autoscaler)
    assert found["image"] == {"tag": autoscaled.CLUSTER_AUTOSCALER.image_tag}
    assert found["autoDiscovery"] == {"clusterName": "shop-dev"}
    assert (found["cloudProvider"], found["awsRegion"]) == ("aws", "eu-west-1")
    assert YAML(typ="safe", pure=True).load(found["expanderPriorities"]) == {
        priority.priority: [priority.regex] for priority in autoscaled.CLUSTER_AUTOSCALER.priorities
    }


def test_scale_down_follows_the_plan_and_every_argument_is_a_string(with_cluster_autoscaler: World) -> None:
    arguments = values(with_cluster_autoscaler)["extraArgs"]
    assert arguments["scale-down-unneeded-time"] == "12m"
    assert arguments["scale-down-delay-after-add"] == "7m"
    assert arguments["scale-down-utilization-threshold"] == "0.45"
    assert arguments["balance-similar-node-groups"] == "true"
    ignored = [value for key, value in arguments.items() if key.partition("_")[0] == "balancing-ignore-label"]
    assert "eks.amazonaws.com/sourceLaunchTemplateId" in ignored
    # The label of the tag eks:nodegroup-name, which is all that differs between similar groups without nodes.
    assert "nodegroup-name" in ignored
    assert "eks.amazonaws.com/capacityType" not in ignored
    assert {type(value) for value in arguments.values()} == {str}
    # Groups that would share what another is preferred for are not balanced.
    assert made(not_balanced=(("a", "b"),))["extraArgs"]["balance-similar-node-groups"] == "false"
    # An autoscaler that is being left looks at pods later than the new one.
    assert "new-pod-scale-up-delay" not in arguments
    assert made(scale_up_delay_seconds=180)["extraArgs"]["new-pod-scale-up-delay"] == "180s"


def test_its_pods_run_on_arm64_nodes_too_and_have_no_rights(with_cluster_autoscaler: World) -> None:
    found = values(with_cluster_autoscaler)
    critical = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    assert found["tolerations"] == [critical, ARM64]
    assert made()["tolerations"] == [critical]
    assert found["securityContext"]["runAsNonRoot"] is True
    assert found["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert found["containerSecurityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert found["priorityClassName"] == "system-cluster-critical"
    assert found["podDisruptionBudget"] == {"maxUnavailable": 1}
    assert found["replicaCount"] == 2
    assert found["resources"]["requests"]["memory"] == found["resources"]["limits"]["memory"]


def test_the_role_is_for_its_service_account_and_changes_tagged_groups_alone(with_cluster_autoscaler: World) -> None:
    association = with_cluster_autoscaler.inputs(autoscaled.ASSOCIATION, NAME)
    assert (association["namespace"], association["serviceAccount"]) == ("kube-system", NAME)
    assert association["roleArn"].endswith("<Role:cluster-autoscaler>")
    assert values(with_cluster_autoscaler)["rbac"]["serviceAccount"]["name"] == NAME
    policy = json.loads(with_cluster_autoscaler.inputs(declared.ROLE_POLICY, NAME)["policy"])
    writes = [s for s in policy["Statement"] if "autoscaling:SetDesiredCapacity" in s["Action"]]
    assert len(writes) == 1
    assert "k8s.io/cluster-autoscaler/shop-dev" in json.dumps(writes[0]["Condition"])
    attached = [a for a in with_cluster_autoscaler.all(declared.ATTACHMENT) if a.name == NAME]
    assert attached == []


def test_auto_scaling_groups_are_tagged_and_instances_are_not(with_cluster_autoscaler: World) -> None:
    tags: list[Any] = [tag.inputs for tag in with_cluster_autoscaler.all(autoscaled.GROUP_TAG)]
    found = {(tag["autoscalingGroupName"], tag["tag"]["key"], tag["tag"]["value"]) for tag in tags}
    assert found == {
        *((("eks-web-RENDERED-RENDERED"), *pair) for pair in autoscaled.FOUND_BY),
        *((("eks-web-arm-RENDERED-RENDERED"), *pair) for pair in autoscaled.FOUND_BY),
        ("eks-web-arm-RENDERED-RENDERED", *autoscaled.ARM64_TAINT_TAG),
    }
    assert len(tags) == len(found)
    assert {tag["tag"]["propagateAtLaunch"] for tag in tags} == {False}
    # A group of our own carries its tags itself.
    group: Any = with_cluster_autoscaler.inputs(declared.SCALING_GROUP, "own-arm")
    own = {tag["key"]: tag for tag in group["tags"]}
    for key, value in (*autoscaled.FOUND_BY, autoscaled.ARM64_TAINT_TAG):
        assert own[key] == {"key": key, "value": value, "propagateAtLaunch": False}
    assert own["kubernetes.io/cluster/shop-dev"]["propagateAtLaunch"] is True
