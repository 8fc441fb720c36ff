"""Previews made by hand, in the shapes that the real engine writes: see the recorded ones beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import date
from typing import Any

from multiarch.review.model import Operation, Preview, StackChange, StackVersion, State, Step
from multiarch.rules import Finding
from multiarch.scheduling.pods import read_pods
from multiarch.stack.model import Plan
from tests.stack.words import TODAY, merged

GROUP = "aws:eks/nodeGroup:NodeGroup"
SCALING_GROUP = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
CLUSTER = "aws:eks/cluster:Cluster"
ADD_ON = "aws:eks/addon:Addon"
RELEASE = "kubernetes:helm.sh/v3:Release"
POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"

MANAGED: Mapping[str, Any] = {
    "amiType": "AL2023_ARM_64_STANDARD",
    "capacityType": "ON_DEMAND",
    "clusterName": "checkout-dev",
    "forceUpdateVersion": False,
    "instanceTypes": ["m7g.large"],
    "labels": {"checkout.example.com/tier": "graviton"},
    "launchTemplate": {"id": "lt-e0536f16c8d436d18", "version": "1"},
    "nodeGroupName": "graviton-a10fc5e",
    "nodeGroupNamePrefix": "graviton-",
    "scalingConfig": {"desiredSize": 2, "maxSize": 4, "minSize": 1},
    "subnetIds": ["subnet-87dcb85ad09f86de1", "subnet-7cd2707d1ef091535"],
    "taints": [{"effect": "NO_SCHEDULE", "key": "arch", "value": "arm64"}],
    "updateConfig": {"maxUnavailable": 1},
    "version": "1.35",
}
SELF_MANAGED: Mapping[str, Any] = {
    "desiredCapacity": 8,
    "instanceRefresh": {"preferences": {"minHealthyPercentage": 88}, "strategy": "Rolling"},
    "maxSize": 8,
    "minSize": 0,
    "mixedInstancesPolicy": {
        "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
        "launchTemplate": {
            "launchTemplateSpecification": {"launchTemplateId": "lt-ac7e846d71c66f611", "version": "1"},
            "overrides": [{"instanceType": "m7g.large"}, {"instanceType": "m6g.large"}],
        },
    },
    "name": "checkout-dev-batch-193d8e8",
    "tags": [
        {"key": "k8s.io/cluster-autoscaler/enabled", "propagateAtLaunch": False, "value": "true"},
        {
            "key": "k8s.io/cluster-autoscaler/node-template/taint/arch",
            "propagateAtLaunch": False,
            "value": "arm64:NoSchedule",
        },
    ],
}
NODE_POOL: Mapping[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "general-arm64-spot"},
    "spec": {
        "disruption": {
            "budgets": [{"nodes": "10%"}],
            "consolidateAfter": "1m",
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
        },
        "template": {
            "spec": {
                "expireAfter": "720h",
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]},
                    {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
                    {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["5"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                ],
                "taints": [{"effect": "NoSchedule", "key": "arch", "value": "arm64"}],
            }
        },
        "weight": 90,
    },
}
EC2_NODE_CLASS: Mapping[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "amiFamily": "AL2023",
        "amiSelectorTerms": [{"alias": "al2023@v20260715"}],
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "50Gi"}}],
        "role": "checkout-dev-karpenter-nodes-c87148d",
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "checkout-dev"}}],
        "tags": {"team": "checkout"},
    },
}


def made(
    kind: str,
    name: str,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    *,
    operation: Operation | None = None,
    outputs: Mapping[str, Any] | None = None,
    causes: Sequence[str] = (),
    id_: str = "",
    deletes_first: bool | None = None,
) -> Step:
    """A step from the inputs before and after; ``outputs`` are those before, the inputs if there are none."""
    changed = tuple(sorted(_paths(old, new))) if old is not None and new is not None else ()
    if operation is None:
        operation = Operation.CREATE if old is None else Operation.DELETE if new is None else _in_place(changed)
    return Step(
        operation,
        f"urn:pulumi:checkout-dev::multiarch-eks::multiarch-eks:components:Platform${kind}::{name}",
        kind,
        name,
        "",
        None if old is None else State(deepcopy(dict(old)), dict(old if outputs is None else outputs), id_),
        None if new is None else State(deepcopy(dict(new)), {}),
        changed,
        tuple(causes),
        deletes_first,
    )


def changed(
    kind: str,
    name: str,
    base: Mapping[str, Any],
    change: Mapping[str, Any],
    **more: Any,
) -> Step:
    """A step that merges ``change`` into the inputs."""
    return made(kind, name, base, merged(base, change), **more)


def change(
    *steps: Step,
    plans: tuple[Plan | None, Plan | None] | None = None,
    manifests: Iterable[object] = (),
    succeeded: bool = True,
    today: date = TODAY,
) -> StackChange:
    """The change of one stack with these steps."""
    before, after = (StackVersion("old.yaml", plans[0]), StackVersion("new.yaml", plans[1])) if plans else (None, None)
    preview = Preview("checkout-dev", "multiarch-eks", "preview.json", steps, (), (), succeeded)
    return StackChange(preview, before, after, today, tuple(read_pods(manifests)))


def by_rule(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings by their rule's name."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.rule.name, []).append(finding)
    return found


def said(findings: Iterable[Finding]) -> str:
    """Everything that findings say, one line each."""
    return "\n".join(f"{each.subject}: {' '.join((each.text, *each.details))}" for each in findings)


def _in_place(paths: Sequence[str]) -> Operation:
    return Operation.UPDATE if paths else Operation.SAME


def _paths(old: Any, new: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """The paths that the engine's detailed diff would name."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f'{path}["{key}"]' if "." in key or "/" in key else f"{path}.{key}" if path else key
            yield from _paths(old.get(key), new.get(key), below)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            one, other = (each[index] if index < len(each) else None for each in (old, new))
            yield from _paths(one, other, f"{path}[{index}]")
    else:
        yield path
