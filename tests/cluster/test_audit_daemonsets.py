"""``multiarch audit daemonsets`` against a real API server, whose DaemonSet controller answers the same question.

The nodes are written as a kubelet of EKS would; nothing starts on them, so that an image fails is the registry's word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cli.running import Ran, type_of_run
from tests.cluster.nodes import Joining, node
from tests.cluster.reading import namespace
from tests.cluster.temporary import applied
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository
from tests.scheduling.manifests import expression, required

__all__ = ["images_registry", "repository"]

SPACE = "daemons"
TAINT = {"key": "arch", "value": "arm64", "effect": "NoSchedule"}
GPU = {"key": "nvidia.com/gpu", "value": "", "effect": "NoSchedule"}
ARM_POOL = Joining({"karpenter.sh/nodepool": "arm", "karpenter.sh/registered": "true"}, (TAINT,), 20)
ARCH = "kubernetes.io/arch"


def instance(name: str, kind: str, architecture: str) -> dict[str, Any]:
    return {
        "InstanceId": f"i-{name}",
        "InstanceType": kind,
        "Architecture": architecture,
        "Placement": {"AvailabilityZone": "eu-west-1a"},
        "PrivateDnsName": f"ip-{name}.ec2.internal",
    }


def managed(name: str, *taints: Mapping[str, str], **labels: str) -> Joining:
    return Joining({"eks.amazonaws.com/nodegroup": name, **labels}, taints, 20)


NODES = [
    (instance("amd-1", "m7i.large", "x86_64"), managed("base")),
    (instance("amd-2", "m7i.large", "x86_64"), managed("base")),
    (instance("gpu-1", "g5.xlarge", "x86_64"), managed("gpu", GPU, gpu="true")),
    (instance("arm-1", "m7g.large", "arm64"), managed("graviton", TAINT)),
    (instance("arm-2", "m7g.large", "arm64"), ARM_POOL),
]
EVERYTHING = {"operator": "Exists"}
TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
SPECS: dict[str, dict[str, Any]] = {
    "everywhere": {"tolerations": [EVERYTHING]},
    "crashes": {"tolerations": [EVERYTHING], "image": "amd64-only"},
    "untolerant": {},
    "bound": {
        "tolerations": [TOLERATION],
        "affinity": required([expression(ARCH, "In", "amd64"), expression("kubernetes.io/os", "In", "linux")]),
    },
    "not-arm": {"tolerations": [EVERYTHING], "affinity": required([expression(ARCH, "NotIn", "arm64")])},
    "for-gpu": {"tolerations": [EVERYTHING], "nodeSelector": {"gpu": "true"}},
    "either": {
        "tolerations": [EVERYTHING],
        "affinity": required([expression("gpu", "Exists")], [expression("karpenter.sh/nodepool", "In", "arm")]),
    },
}
EXPECTED = {
    "everywhere": {"base": "runs", "gpu": "runs", "graviton": "runs", "arm": "runs"},
    "crashes": {"base": "runs", "gpu": "runs", "graviton": "fails!", "arm": "fails!"},
    "untolerant": {"base": "runs", "gpu": "excluded", "graviton": "does not run!", "arm": "does not run!"},
    "bound": {"base": "runs", "gpu": "excluded", "graviton": "does not run!", "arm": "does not run!"},
    "not-arm": {"base": "runs", "gpu": "runs", "graviton": "does not run!", "arm": "does not run!"},
    "for-gpu": {"base": "excluded", "gpu": "runs", "graviton": "excluded", "arm": "excluded"},
    "either": {"base": "excluded", "gpu": "runs", "graviton": "excluded", "arm": "runs"},
}


def daemon_set(name: str, root: str, *, image: str = "both", **spec: Any) -> Object:
    containers = [{"name": "agent", "image": f"{root}:{image}"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"team": "agents"}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": containers, **spec},
            },
        },
    }


@pytest.fixture
def plane(control_plane: ControlPlane, repository: Repository) -> Iterator[ControlPlane]:
    """Nodes of two architectures, and DaemonSets that the controller has judged."""
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    repository.image("linux/amd64", tag="amd64-only")
    root = f"{repository.server.host}/{repository.name}"
    daemons = [daemon_set(name, root, **spec) for name, spec in SPECS.items()]
    with applied(control_plane.kube, [namespace(SPACE), *(node(*each) for each in NODES), *daemons]):
        wait_for(lambda: observed(control_plane.kube), "the controller to judge all DaemonSets", timeout=60, pause=0.3)
        yield control_plane


def observed(kube: Kube) -> bool:
    """Whether the controller has made the pods that it wants on these nodes, of every DaemonSet."""
    taints = {each["metadata"]["name"]: each["spec"].get("taints", []) for each in kube.list("v1", "Node")}
    if any(len(taints[node(each, joining)["metadata"]["name"]]) != len(joining.taints) for each, joining in NODES):
        return False  # not ready yet, in the node controller's eyes
    for item in kube.list("apps/v1", "DaemonSet", SPACE):
        found = item.get("status", {})
        wanted = sum(_meant(EXPECTED[item["metadata"]["name"]][_group(joining)]) for _, joining in NODES)
        made = kube.list("v1", "Pod", SPACE, selector=f"app={item['metadata']['name']}")
        if found.get("observedGeneration") != item["metadata"]["generation"] or len(made) < wanted:
            return False
    return True


def _meant(outcome: str) -> bool:
    return outcome.rstrip("!") in ("runs", "fails")


def _group(joining: Joining) -> str:
    return joining.labels.get("eks.amazonaws.com/nodegroup") or joining.labels["karpenter.sh/nodepool"]


def pods_by_group(kube: Kube, name: str) -> dict[str, int]:
    """How many pods the real controller has made for the nodes of each group: each is bound to its node by affinity."""
    groups = {node(each, joining)["metadata"]["name"]: _group(joining) for each, joining in NODES}
    found = dict.fromkeys(groups.values(), 0)
    for item in kube.list("v1", "Pod", SPACE, selector=f"app={name}"):
        affinity = item["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (target,) = affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"]
        if target in groups:
            found[groups[target]] += 1
    return found


def outcomes(ran: Ran, columns: tuple[str, ...]) -> dict[str, dict[str, str]]:
    return {
        row["name"]: {
            cell["column"]: cell["outcome"] + ("!" if cell["finding"] else "")
            for cell in row["cells"]
            if cell["column"] in columns
        }
        for row in ran.json["daemonSets"]
    }


def test_the_matrix_says_of_live_nodes_what_the_daemon_set_controller_does(
    plane: ControlPlane, run: type_of_run
) -> None:
    arguments = ("audit", "daemonsets", "--kubeconfig", str(plane.kubeconfig), "-n", SPACE)
    ran = run(*arguments, "-o", "json")
    assert ran.code == 0
    columns = {each["name"]: each for each in ran.json["columns"]}
    names = ("base", "gpu", "graviton", "arm")
    assert [(columns[name]["kind"], columns[name]["architecture"], columns[name]["nodes"]) for name in names] == [
        ("node group", "amd64", 2),
        ("node group", "amd64", 1),
        ("node group", "arm64", 1),
        ("NodePool", "arm64", 1),
    ]
    found = outcomes(ran, names)
    assert found == EXPECTED
    for name, cells in found.items():
        made = pods_by_group(plane.kube, name)
        for group, outcome in cells.items():
            assert made[group] == (columns[group]["nodes"] if _meant(outcome) else 0), (name, group)
    assert run(*arguments, "--fail-on", "finding").code == 1
