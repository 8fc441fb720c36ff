"""The demo itself: a cluster with a node of each architecture and the webhook; three pods, and what became of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multiarch.errors import OutsideError
from multiarch.facts.admission import DECISION_ANNOTATION, MODE_LABEL, AdmissionMode
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ZONE
from sandbox.cluster import cluster, images
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube, Object, is_true
from sandbox.cluster.programs import wait_for
from sandbox.webhook_demo.installed import UNREACHABLE_HOST, Installed, installed
from sandbox.webhook_image import image

Say = Callable[[str], None]
TAINTED: Final = ("--register-with-taints=arch=arm64:NoSchedule",)
"""How the kubelet of the arm64 node is started, as by a stack's user data."""
NAMESPACE: Final = "shop"
PODS: Final[Mapping[str, str]] = {
    "api": images.BOTH,
    "ledger": images.ONLY_AMD64,
    "reports": f"{UNREACHABLE_HOST}/payments/reports:1.0",
}
_ZONES: Final = ("eu-west-1a", "eu-west-1b")
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_SETTLED_SECONDS: Final = 90.0
_WIDTH: Final = 80
_NOT_PULLED: Final = ("ErrImagePull", "ImagePullBackOff")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a pod: ``decision`` and ``why`` are the webhook's, ``state`` the kubelet's."""

    pod: str
    image: str
    node: str
    state: str
    decision: str
    why: str


def show(say: Say, console: Console) -> None:
    """Start everything, show the pods, and leave nothing.

    Raises OutsideError if nodes can't run here, or a part did not start.
    """
    layout = image.ensure(say)
    say("starting a control plane and a node of each architecture; arm64 with the taint arch=arm64:NoSchedule")
    with cluster.complete() as nodes:
        if nodes.missing:
            raise OutsideError(f"The demo needs an arm64 node: {nodes.missing}.")
        start_nodes(nodes)
        say("installing the webhook: a pod of its image on each node (the emulated one takes a minute)")
        with installed(nodes, layout) as webhook:
            webhook.wait()
            say(f"creating three pods in a namespace with the label {MODE_LABEL}={AdmissionMode.PREFER}")
            print_rows(run(webhook), console)
            say("stopping everything")
    say("nothing is left running")


def start_nodes(nodes: Nodes) -> None:
    """Start both kubelets, the arm64 node's with its taint, and wait until both take pods.

    Each is in a zone of its own: kube-scheduler spreads pods over zones only where all nodes have one, as those of EKS.
    """
    for zone, (architecture, node) in zip(_ZONES, nodes.by_architecture.items(), strict=True):
        labels = f"--node-labels={ZONE}={zone}"
        node.start_kubelet((labels, *TAINTED) if architecture is Architecture.ARM64 else (labels,))
    for node in nodes.by_architecture.values():
        node.ready()
    for node in nodes.by_architecture.values():
        # The node controller takes the taint away some time after the condition; all replicas would go to one node.
        wait_for(lambda node=node: _NOT_READY not in str(node.object()), f"pods on {node.name}", timeout=30)  # type: ignore[misc]


def run(webhook: Installed) -> list[Row]:
    """Create the three pods, wait until each runs or can't be pulled, say what became of them, and delete them."""
    kube = webhook.kube
    with _namespace(kube):
        for name, reference in PODS.items():
            kube.create(_pod(name, reference))
        return [wait_for(lambda name=name: _row(kube, name), name, timeout=_SETTLED_SECONDS) for name in PODS]  # type: ignore[misc]


def print_rows(rows: list[Row], console: Console) -> None:
    """Show the rows as a table that fits 80 columns."""
    table = Table(width=min(_WIDTH, console.width), box=None, pad_edge=False, header_style="bold")
    table.add_column("POD", width=7)
    table.add_column("NODE", width=10)
    table.add_column("IMAGE, WHAT BECAME OF IT, AND THE WEBHOOK'S DECISION", ratio=1, overflow="fold")
    for row in rows:
        decision = Text.assemble((row.decision, "bold"), f": {row.why}")
        table.add_row()
        table.add_row(row.pod, row.node, Text("\n").join([Text(row.image), Text(row.state), decision]))
    console.print(table)


@contextlib.contextmanager
def _namespace(kube: Kube) -> Iterator[None]:
    own = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {MODE_LABEL: str(AdmissionMode.PREFER)}},
    }
    wait_for(lambda: kube.get("v1", "Namespace", NAMESPACE) is None, "the last namespace to end", timeout=60)
    kube.apply(own)
    wait_for(lambda: kube.get("v1", "ServiceAccount", "default", NAMESPACE), "the service account", timeout=20)
    try:
        yield
    finally:
        for name in PODS:
            kube.delete(_pod(name, ""), grace=1)
        wait_for(lambda: not kube.list("v1", "Pod", NAMESPACE), "the pods to end", timeout=60)
        kube.delete(own)


def _pod(name: str, reference: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "containers": [{"name": "main", "image": reference}],
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
        },
    }


def _row(kube: Kube, name: str) -> Row | None:
    """Return no row as long as the pod neither runs nor fails to be pulled."""
    pod = kube.get("v1", "Pod", name, NAMESPACE) or {}
    state = _state(kube, name, pod)
    if not state:
        return None
    decision, _, why = (
        pod["metadata"].get("annotations", {}).get(DECISION_ANNOTATION, "none: not reviewed").partition(": ")
    )
    return Row(name, PODS[name], pod["spec"]["nodeName"], state, decision, why)


def _state(kube: Kube, name: str, pod: Object) -> str:
    if is_true(pod, "Ready"):
        printed = str(kube.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/log")["text"]).strip()
        return f"running: {printed}" if printed else ""
    statuses = pod.get("status", {}).get("containerStatuses") or [{}]
    reason = str(statuses[0].get("state", {}).get("waiting", {}).get("reason", ""))
    return f"{reason}: the node can't pull the image either" if reason in _NOT_PULLED else ""
