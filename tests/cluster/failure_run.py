"""A case on the real control plane: its nodes and pods, and what kube-scheduler makes of them, stage by stage.

Cases share the cluster. Each has a namespace, and a label on its nodes that all its pods select.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from multiarch.facts.architectures import format_ami_architecture
from multiarch.facts.taints import Taint
from multiarch.scheduling.fit import runs_on
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.settled import NodeState
from sandbox.cluster.kube import Kube, KubeError, Object, condition
from sandbox.cluster.programs import ClusterError, wait_for
from tests.cluster import nodes
from tests.cluster.failure_cases import Case
from tests.cluster.failure_workloads import PRIORITY_CLASSES

CASE = "example.com/case"
QUIET_SECONDS = 1.2
"""After this long without any change kube-scheduler has decided on all pods: it takes milliseconds for each."""
LONGEST_SECONDS = 180.0
"""Beside the other tests of a gate everything takes several times as long as alone."""
THREADS = 8


class Run:
    """One case on the cluster. ``nodes`` are those that are there, by name, without pods."""

    def __init__(self, kube: Kube, case: Case) -> None:
        """Create nothing yet."""
        self.kube = kube
        self.case = case
        self.nodes: dict[str, NodeState] = {}
        self.pods: dict[str, Pod] = {}
        self.bound: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        self._evicted: list[tuple[Pod, str]] = []
        self.daemons = [pod for pod in case.pods() if pod.per_node]
        self._templates = {each["metadata"]["name"]: each["spec"]["template"] for each in case.manifests}

    def begin(self) -> None:
        """Create the namespace and the DaemonSets."""
        name = self.case.namespace
        gone = "an earlier namespace to be gone"
        wait_for(lambda: self.kube.get("v1", "Namespace", name) is None, gone, timeout=LONGEST_SECONDS)
        self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        with contextlib.suppress(KubeError):  # the controller may have been faster
            self.kube.create(account)
        for each in self.case.of_kind("Deployment", "StatefulSet"):
            # kube-scheduler spreads the pods of a Service as it does those of a ReplicaSet, which are bare pods here.
            ports = [{"port": 80}]
            spec = {"clusterIP": "None", "selector": each["spec"]["selector"]["matchLabels"], "ports": ports}
            metadata = {"name": each["metadata"]["name"], "namespace": name}
            self.kube.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        for each in self.case.of_kind("DaemonSet"):
            template = each["spec"]["template"]
            self.kube.create({**each, "spec": {**each["spec"], "template": _selecting(template, name)}})

    def named(self, node: str, stage: str) -> str:
        """The name of a simulated node on the cluster."""
        return f"{self.case.namespace}-{stage}-{node}"

    def add_nodes(self, states: Iterable[NodeState], stage: str) -> list[str]:
        """Create nodes and return their names. Those of a case with DaemonSets are cordoned: see :meth:`uncordon`."""
        names = []
        for state in states:
            name = self.named(state.name, stage)
            node = _node(replace(state, name=name), self.case)
            if self.case.of_kind("DaemonSet"):
                node["spec"]["unschedulable"] = True
            self.kube.create(node)
            self.nodes[name] = replace(state, name=name, pods=())
            names.append(name)
        return names

    def uncordon(self, names: Iterable[str]) -> None:
        """Let pods come to nodes, after the pods of DaemonSets: these go to a real node before it is ready."""
        if self.case.of_kind("DaemonSet"):
            for name in names:
                node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
                self.kube.patch(node, {"spec": {"unschedulable": None}})

    def create(self, pods: Iterable[Pod]) -> None:
        """Create pods in their order, for kube-scheduler to place."""
        for pod in pods:
            self.pods[pod.name] = pod
            assert pod.owner is not None
            template = _selecting(self._templates[pod.owner.name], self.case.namespace)
            metadata = {"name": pod.name, "namespace": self.case.namespace, "labels": template["metadata"]["labels"]}
            self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})

    def lose(self, names: Iterable[str]) -> None:
        """Delete nodes with their pods."""
        lost = []
        for name in names:
            self.kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            del self.nodes[name]
            lost += [pod for pod, node in self.bound.items() if node == name]
        for name in lost:
            self._delete(name)
            del self.pods[name], self.bound[name]

    def _delete(self, pod: str) -> None:
        metadata = {"name": pod, "namespace": self.case.namespace}
        self.kube.delete({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, grace=0)

    def in_order(self, pods: Iterable[Pod]) -> list[Pod]:
        """Sort pods as the manifests are."""
        places = list(self._templates)
        return sorted(pods, key=lambda pod: (places.index(owner(pod)), int(pod.name.rpartition("-")[2])))

    def look(self, found: Mapping[str, Object]) -> None:
        """Take note of where the pods are, by name, and create those again that kube-scheduler has evicted.

        Also those that it bound to a node in the moment in which that was deleted: their controllers would.
        """
        nodes = {name: item["spec"].get("nodeName") for name, item in found.items()}
        late = [name for name in self.pods if nodes.get(name) and nodes[name] not in self.nodes]
        for name in late:
            self._delete(name)
        gone = [pod for name, pod in self.pods.items() if name not in found or name in late]
        self._evicted += [(pod, self.bound[pod.name]) for pod in gone if self.bound.get(pod.name) in self.nodes]
        for name in self.pods:
            if nodes.get(name) != self.bound.get(name):
                self._steps[name] = int(found[name]["metadata"]["resourceVersion"]) if name in found else 0
        self.bound = {name: nodes[name] for name in self.pods if nodes.get(name) and name not in late}
        self.create(self.in_order(gone))

    def states(self) -> list[NodeState]:
        """The nodes with the pods that kube-scheduler has put there."""
        on: dict[str, list[Pod]] = {name: [] for name in self.nodes}
        for pod, node in self.bound.items():
            on[node].append(self.pods[pod])
        return [replace(state, pods=tuple(self.in_order(on[name]))) for name, state in self.nodes.items()]

    def steps(self) -> tuple[list[tuple[Pod, str]], list[tuple[Pod, str]]]:
        """What kube-scheduler has done since the last call: the pods that it placed, in its order, with their nodes.

        Then those that it evicted, with the nodes that they were on.
        """
        names = sorted((name for name in self._steps if name in self.bound), key=lambda name: self._steps[name])
        evicted = self._evicted
        self._steps, self._evicted = {}, []
        return [(self.pods[name], self.bound[name]) for name in names], evicted

    def waiting(self) -> list[Pod]:
        """The pods without a node."""
        return self.in_order(pod for name, pod in self.pods.items() if name not in self.bound)

    def end(self) -> None:
        """Delete the namespace with everything in it."""
        name = self.case.namespace
        for kind, root in (("daemonsets", "/apis/apps/v1"), ("pods", "/api/v1")):
            options = {"kind": "DeleteOptions", "gracePeriodSeconds": 0}
            if kind == "pods" or self.daemons:
                self.kube.request("DELETE", f"{root}/namespaces/{name}/{kind}", body=options)
        self.kube.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


class Runs:
    """All cases of a session, side by side: at each stage one wait for all of them."""

    def __init__(self, kube: Kube, cases: Sequence[Case]) -> None:
        """Create nothing yet."""
        self.kube = kube
        self.all = [Run(kube, case) for case in cases]
        self._threads = ThreadPoolExecutor(THREADS)

    def begin(self) -> None:
        """Create what the cases need."""
        for each in PRIORITY_CLASSES:
            self.kube.create(each)
        self.each(Run.begin)

    def end(self) -> None:
        """Delete everything again."""
        self.kube.request("DELETE", "/api/v1/nodes", query={"labelSelector": CASE})
        self.each(Run.end)
        for each in PRIORITY_CLASSES:
            self.kube.delete(each)
        self._threads.shutdown()

    def each(self, what: Callable[[Run], object]) -> None:
        """Do something with every run, several at a time."""
        list(self._threads.map(what, self.all))

    def add_nodes(self, wanted: Mapping[Run, Sequence[NodeState]], stage: str) -> None:
        """Create nodes, wait until they are ready and have the pods of DaemonSets, and let other pods come."""
        names: dict[Run, list[str]] = {}
        self.each(lambda run: names.update({run: run.add_nodes(wanted.get(run, ()), stage)}))
        daemons = sum(len(run.case.of_kind("DaemonSet")) for run in self.all)
        if daemons:
            wait_for(self._daemons_placed, "the DaemonSets' pods", timeout=LONGEST_SECONDS, pause=0.6)
        self.each(lambda run: run.uncordon(names[run]))
        wait_for(self._ready, "the nodes to be ready", timeout=LONGEST_SECONDS, pause=0.2)

    def decided(self) -> None:
        """Wait until kube-scheduler has decided on all pods; recreate those that it evicts, as controllers do."""
        runs = {run.case.namespace: run for run in self.all}
        last: object = None
        since = began = time.monotonic()
        while time.monotonic() - since < QUIET_SECONDS:
            found: dict[str, dict[str, Object]] = {name: {} for name in runs}
            for item in self.kube.list("v1", "Pod"):
                found.get(item["metadata"]["namespace"], {})[item["metadata"]["name"]] = item
            for name, run in runs.items():
                run.look(found[name])
            now = {
                (name, pod): item["spec"].get("nodeName") or item["metadata"]["resourceVersion"]
                for name, pods in found.items()
                for pod, item in pods.items()
            }
            undecided = any(
                not item["spec"].get("nodeName") and not condition(item, "PodScheduled")
                for pods in found.values()
                for item in pods.values()
            )
            if undecided or now != last:
                since = time.monotonic()
            if since - began > LONGEST_SECONDS:
                raise ClusterError("kube-scheduler does not come to an end")
            last = now
            time.sleep(0.3)

    def _daemons_placed(self) -> bool:
        nodes = {name for run in self.all for name in run.nodes}
        found: Counter[tuple[str, str]] = Counter()
        for item in self.kube.list("v1", "Pod"):
            for owner in item["metadata"].get("ownerReferences", ()):
                found[item["metadata"]["namespace"], owner["name"]] += item["spec"].get("nodeName") in nodes
        return all(
            found[run.case.namespace, daemon.name] == sum(runs_on(daemon, each.shape) for each in run.nodes.values())
            for run in self.all
            for daemon in run.daemons
        )

    def _ready(self) -> bool:
        """Whether no node of a case has a taint that a controller is to take off."""
        return not any(
            taint["key"].startswith("node.kubernetes.io/")
            for item in self.kube.list("v1", "Node", selector=CASE)
            for taint in item["spec"].get("taints", ())
        )


def _selecting(template: Mapping[str, Any], namespace: str) -> dict[str, Any]:
    """A pod template for the nodes of its case alone."""
    spec = template["spec"]
    return {**template, "spec": {**spec, "nodeSelector": {**spec.get("nodeSelector", {}), CASE: namespace}}}


def owner(pod: Pod) -> str:
    """The name of a pod's workload."""
    assert pod.owner is not None
    return pod.owner.name


def _node(state: NodeState, case: Case) -> Object:
    """The Node of an instance, with the labels, taints and amounts that the model expects of it."""
    shape: NodeShape = state.shape
    joining = nodes.Joining({**dict(shape.labels), CASE: case.namespace}, [_taint(each) for each in shape.taints], 50)
    instance = {
        "InstanceId": "i-00000000000000000",
        "InstanceType": state.instance_type,
        "Architecture": format_ami_architecture(shape.architecture),
        "Placement": {"AvailabilityZone": state.zone},
        "PrivateDnsName": state.name,
    }
    made = nodes.node(instance, joining)
    made["status"] |= {"capacity": _amounts(shape.allocatable), "allocatable": _amounts(shape.allocatable)}
    return made


def _taint(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, "value": taint.value, "effect": str(taint.effect)}


def _amounts(resources: ResourceAmounts) -> dict[str, str]:
    amounts = {name: str(amount) for name, amount in resources.items()}
    return amounts | {"cpu": f"{resources.cpu}m", "pods": str(resources.pods)}
