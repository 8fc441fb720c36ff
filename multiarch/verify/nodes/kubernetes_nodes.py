"""Nodes as the API server shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from multiarch.kubernetes.source import LoadedObject, placed
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.observed.cluster import omission_notes, why_omitted
from multiarch.scheduling.tolerations import taint_from
from multiarch.verify.nodes.model import KubernetesNode


def read_nodes(objects: Iterable[LoadedObject]) -> tuple[tuple[KubernetesNode, ...], tuple[str, ...]]:
    """The Nodes, and notes about those that are omitted: Windows and Fargate.

    Raises MultiarchError for a Node that the API server would refuse.
    """
    found, omitted = [], Counter[str]()
    for each in objects:
        try:
            node = _read(Value(each.value, ObjectReference(1, "Node")))
        except ManifestError as error:
            raise placed(error, [each]) from error
        if why := why_omitted(node.labels):
            omitted[why] += 1
        else:
            found.append(node)
    return tuple(found), omission_notes(omitted)


def _read(value: Value) -> KubernetesNode:
    info, meta = value["status"]["nodeInfo"], value["metadata"]
    ready, why = _readiness(value)
    # aws:///ZONE/INSTANCE; other providers and Fargate have no instance.
    identifier = value["spec"]["providerID"].text().rpartition("/")[2]
    return KubernetesNode(
        name=meta["name"].text(),
        instance=identifier if identifier.startswith("i-") else "",
        labels=dict(meta["labels"].pairs()),
        taints=tuple(sorted(taint_from(each) for each in value["spec"]["taints"].items())),
        ready=ready,
        why_not_ready=why,
        architecture=info["architecture"].text(),
        kubelet=info["kubeletVersion"].text(),
        runtime=info["containerRuntimeVersion"].text(),
        os_image=info["osImage"].text(),
        kernel=info["kernelVersion"].text(),
        version=meta["resourceVersion"].text(),
    )


def _readiness(value: Value) -> tuple[str, str]:
    for condition in value["status"]["conditions"].items():
        if condition["type"].text() == "Ready":
            said = condition["message"].text() or condition["reason"].text()
            return condition["status"].text(), said
    return "Unknown", "the Node has no condition Ready"
