"""``simulate`` takes the pods away that kube-scheduler takes: those that no budget keeps, then the least important."""

from __future__ import annotations

from typing import Any

from multiarch.facts.labels import EKS_NODE_GROUP
from multiarch.manifests.disruption_budgets import read_disruption_budgets
from multiarch.simulate.preemption import Guard
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.kubelets import group_node
from tests.cluster.objects import pod
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.simulate.simulated import pods
from tests.simulate.test_preemption import STATIC, started, then, unplaced

NAMESPACE = "shop"  # of the simulated pods
CPU = "1800m"  # one fits on a node
PRIORITIES = {"guarded": -5, "low": 5, "high": 1000}
BUDGET: Object = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "guard", "namespace": NAMESPACE},
    "spec": {"selector": {"matchLabels": {"app": "guarded"}}, "minAvailable": 1},
}

NODES = [group_node(f"preemption-{name}", "preemption", "m7i.large", "amd64") for name in "ab"]


def scheduled(name: str) -> Object:
    labels = NODES[0]["metadata"]["labels"]
    more: Object = {
        "nodeSelector": {EKS_NODE_GROUP: labels[EKS_NODE_GROUP]},
        "tolerations": [{"operator": "Exists"}],
    }
    made = pod(name, cpu=CPU, priorityClassName=f"{NAMESPACE}-{name}", **more)
    made["metadata"]["namespace"] = NAMESPACE
    return made


def simulated(name: str) -> dict[str, Any]:
    # Its Deployment creates it again, and it would take the place of the less important one.
    policy = "PreemptLowerPriority" if name == "high" else "Never"
    return pods(name, cpu=CPU, priority=PRIORITIES[name], preemptionPolicy=policy)


def test_the_scheduler_takes_the_same_pod_away(control_plane: ControlPlane) -> None:
    kube = control_plane.kube
    classes = [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"{NAMESPACE}-{name}"},
            "value": value,
        }
        for name, value in PRIORITIES.items()
    ]
    with applied(kube, [*classes, *NODES, namespace(NAMESPACE), BUDGET]):

        def bound() -> set[str]:
            return {
                each["metadata"]["name"] for each in kube.list("v1", "Pod", NAMESPACE) if "nodeName" in each["spec"]
            }

        kube.create(scheduled("guarded"))
        kube.create(scheduled("low"))
        wait_for(lambda: bound() == {"guarded", "low"}, "both pods to be bound", timeout=30)
        kube.create(scheduled("high"))
        wait_for(lambda: "high" in bound(), "the important pod to be bound", timeout=30)
        assert {"guarded", "low"} - bound() == {"low"}
    guards = [Guard(each, 1) for each in read_disruption_budgets([BUDGET])]
    there = started(STATIC, simulated("guarded"), simulated("low"))
    assert unplaced(then(STATIC, there, simulated("high"), guards=guards)) == ["low-0"]
