"""Nodes and pods on the demo's control plane, and their machines' SSM agents."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.aws.controls import Remote
from sandbox.cluster.kube import Kube
from sandbox.verify_demo.machines import Machine
from sandbox.verify_demo.pods import NAMESPACE, RunningPod, running_pods
from sandbox.verify_demo.reports import target


def populate(kube: Kube, remote: Remote, machines: Sequence[Machine]) -> None:
    """Let all machines join, with pods on each."""
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    pods = running_pods(list(machines))
    for machine in machines:
        join(kube, remote, machine, [pod for pod in pods if pod.machine is machine])


def join(kube: Kube, remote: Remote, machine: Machine, pods: Sequence[RunningPod], *, with_taints: bool = True) -> None:
    """Register a machine's Node, run pods there, and let its SSM agent answer for them."""
    node = machine.object(with_taints=with_taints)
    kube.create(node)
    kube.patch(node, {"status": machine.status()}, part="status")
    for pod in pods:
        made = pod.object()
        kube.create(made)
        kube.patch(made, {"status": pod.status()}, part="status")
    remote.register(machine.id, target(machine, [pod.process for pod in pods], with_taints=with_taints))
