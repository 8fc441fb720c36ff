"""``multiarch verify pods`` on two real nodes: by tag, by digest, imported, lying, and of another architecture.

What it says of an imageID, and what the node's script says of a container, is compared with the node's containerd.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import build_node_script
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube
from sandbox.cluster.node import Node
from sandbox.cluster.pods import end_pods
from sandbox.cluster.programs import ClusterError, wait_for
from sandbox.registry import server
from sandbox.registry.images import Repository
from tests.cli.running import Ran, type_of_run
from tests.cluster.reading import namespace as namespace_object
from tests.real_nodes.on_node import command_prefix
from tests.real_nodes.pods import SHORT
from tools import build

_AMD64, _ARM64 = Architecture
_SPACE: Final = "verify-pods"
_HOST: Final = "verify.example.com"
_IMPORTED: Final = "verify/imported"
_CASES: Final[Mapping[str, tuple[Architecture, str, str]]] = {
    "tag-amd64": (_AMD64, "index", "consistent"),
    "tag-arm64": (_ARM64, "index", "consistent"),
    "by-index-amd64": (_AMD64, "index", "consistent"),
    "by-index-arm64": (_ARM64, "index", "consistent"),
    "by-manifest-amd64": (_AMD64, "platform manifest", "proven"),
    "by-manifest-arm64": (_ARM64, "platform manifest", "proven"),
    "imported-amd64": (_AMD64, "config", "cannot tell"),
    "imported-arm64": (_ARM64, "config", "cannot tell"),
    "lying-arm64": (_ARM64, "index", "consistent"),
    "only-amd64-arm64": (_ARM64, "platform manifest", "wrong"),
    "only-arm64-amd64": (_AMD64, "platform manifest", "wrong"),
    "foreign-amd64": (_AMD64, "platform manifest", "wrong"),
    "in-log-amd64": (_AMD64, "index", "cannot tell"),
    "in-message-amd64": (_AMD64, "index", "cannot tell"),
}
"""Pods: their node, what the imageID is, and the verdict by the registry."""
_PROGRAMS: Final = {"lying-arm64": _AMD64, "only-amd64-arm64": _AMD64, "only-arm64-amd64": _ARM64}
"""Pods whose program is for another architecture than their node's; where that is arm64, the kernel emulates it."""
_FAILING: Final = ("foreign-amd64", "in-log-amd64", "in-message-amd64")
"""Pods that crash-loop, the last one with the other policy for termination messages."""


def _repositories() -> dict[str, Repository]:
    """Repositories whose images differ, so that containerd keeps one name for each."""
    programs = {name: build.ensure(f"machine-{name}").read_bytes() for name in ("amd64", "arm64", "s390x")}
    failing = ("in-log", "in-message")
    names = ("tag", "by-index", "by-manifest", "imported", "lying", "only-amd64", "only-arm64", "foreign", *failing)
    made = {
        f"verify/{name}": Repository(program=lambda each, name=name: programs[each] + name.encode())  # type: ignore[misc]
        for name in names
    }
    both = {"amd64": "amd64", "arm64": "arm64"}
    for name in ("tag", "by-index", "by-manifest", "imported"):
        made[f"verify/{name}"].index("1", both)
    made["verify/lying"].index("1", {"amd64": "amd64", "arm64": "amd64"})
    for name in failing:
        made[f"verify/{name}"].index("1", {"amd64": "s390x", "arm64": "arm64"})
    for name in ("amd64", "arm64"):
        made[f"verify/only-{name}"].single("1", name)
    made["verify/foreign"].single("1", "s390x")
    return made


@dataclass(frozen=True)
class World:
    """Nodes with the pods of the cases, and the registry that has their images."""

    nodes: Nodes
    kube: Kube

    def node_of(self, case: str) -> Node:
        return self.nodes.by_architecture[_CASES[case][0]]

    def status(self, case: str) -> Mapping[str, Any]:
        found = self.kube.get("v1", "Pod", case, _SPACE) or {}
        return dict((found.get("status", {}).get("containerStatuses") or [{}])[0])


@pytest.fixture(scope="module")
def world(real_nodes: Nodes) -> Iterator[World]:
    kube, repositories = real_nodes.plane.kube, _repositories()
    served = {name: each for name, each in repositories.items() if name != _IMPORTED}
    with server.running(served) as url:
        mirror = real_nodes.hosts / _HOST / "hosts.toml"
        mirror.parent.mkdir()
        mirror.write_text(f'server = "{url}"\n')
        made = World(real_nodes, kube)
        for node in real_nodes.by_architecture.values():
            node.stop_kubelet()
            node.start_kubelet()
            node.ready()
            _import(node, repositories[_IMPORTED])
        kube.apply(namespace_object(_SPACE))
        wait_for(lambda: kube.get("v1", "ServiceAccount", "default", _SPACE), "the service account", timeout=20)
        for case in _CASES:
            kube.create(_pod(case, _image(case, repositories)))
        try:
            wait_for(lambda: all(_settled(made, case) for case in _CASES), "the pods to start", timeout=90)
        except ClusterError as error:
            states = {case: made.status(case).get("state") for case in _CASES if not _settled(made, case)}
            raise ClusterError(f"{error}: {states}") from error
        yield made
        end_pods(kube, _SPACE)
        for node in real_nodes.by_architecture.values():
            node.stop_kubelet()


def _settled(world: World, case: str) -> bool:
    status = world.status(case)
    running = "running" in status.get("state", {})
    failed = bool(status.get("lastState", {}).get("terminated"))
    return bool(status.get("imageID")) and (failed if case in _FAILING else running)


def _image(case: str, repositories: Mapping[str, Repository]) -> str:
    name, _, architecture = case.rpartition("-")
    repository, prefix = repositories[f"verify/{name}"], f"{_HOST}/verify/{name}"
    if name == "by-index":
        return f"{prefix}@{repository.tags['1'].digest}"
    if name == "by-manifest":
        rows = json.loads(repository.tags["1"].body)["manifests"]
        return f"{prefix}@{next(row['digest'] for row in rows if row['platform']['architecture'] == architecture)}"
    return f"{prefix}:1"


def _pod(case: str, image: str) -> dict[str, Any]:
    policy = "Never" if case.startswith("imported") else "IfNotPresent"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": case, "namespace": _SPACE},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": image,
                    "imagePullPolicy": policy,
                    "terminationMessagePolicy": "FallbackToLogsOnError" if "message" in case else "File",
                }
            ],
            "nodeSelector": {"kubernetes.io/arch": str(_CASES[case][0])},
            **SHORT,
        },
    }


def _import(node: Node, repository: Repository) -> None:
    """Import an image from an archive, under the name of a registry that does not have it."""
    top = repository.tags["1"].described(annotations={"io.containerd.image.name": f"{_HOST}/{_IMPORTED}:1"})
    files = {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [top]}).encode(),
    }
    files |= {f"blobs/sha256/{each.digest.partition(':')[2]}": each.body for each in repository.contents.values()}
    archive = node.settings.folder / f"{node.name}.tar"
    with tarfile.open(archive, "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    node.ctr("images", "import", "--local", "--snapshotter", node.settings.snapshotter, "--all-platforms", str(archive))


def _verify(run: type_of_run, world: World, *more: str) -> Ran:
    nodes = world.nodes
    where = ("--kubeconfig", str(nodes.plane.kubeconfig), "-n", _SPACE, "--hosts-dir", str(nodes.hosts))
    return run("verify", "pods", *where, "-o", "json", *more)


def _containers(ran: Ran) -> dict[str, dict[str, Any]]:
    assert ran.code == 1, ran.err
    return {each["pod"]: each for row in ran.json["workloads"] for each in row["containers"]}


def _held(node: Node, digest: str) -> str:
    """What the node's containerd holds under a digest."""
    content = json.loads(node.ctr("content", "get", digest))
    return "index" if "manifests" in content else "platform manifest" if "layers" in content else "config"


def test_the_verdicts_by_the_registry_are_as_containerd_holds_the_images(run: type_of_run, world: World) -> None:
    found = _containers(_verify(run, world))
    assert {case: each["verdict"] for case, each in found.items()} == {case: row[2] for case, row in _CASES.items()}
    for case, (architecture, kind, _) in _CASES.items():
        each = found[case]
        assert each["imageId"] == world.status(case)["imageID"]
        assert _held(world.node_of(case), each["imageId"].rpartition("@")[2]) == kind, case
        # No registry has the imported image.
        assert each["digestKind"] == ("unknown" if case.startswith("imported") else kind), case
        assert each["node"]["architecture"] == str(architecture)
        assert ("exec format error" in each["reason"]) is (case in _FAILING), case


def test_the_nodes_script_names_the_manifest_and_the_program_of_each_container(world: World) -> None:
    for architecture, node in world.nodes.by_architecture.items():
        command = [*command_prefix(node), "/bin/sh", "-c", build_node_script(containers=True)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        assert done.stderr == ""
        found = {each.container_id: each for each in parse_report(done.stdout).containers}
        for case, (own, kind, _) in _CASES.items():
            if own is not architecture or case in _FAILING:
                continue
            status, program = world.status(case), _PROGRAMS.get(case, architecture)
            each = found[status["containerID"].removeprefix("containerd://")]
            digest = status["imageID"].rpartition("@")[2]
            if kind == "index":
                rows = json.loads(node.ctr("content", "get", digest))["manifests"]
                digest = next(row["digest"] for row in rows if row["platform"]["architecture"] == str(architecture))
            if kind != "config":
                assert each.manifest == digest, case
                digest = json.loads(node.ctr("content", "get", digest))["config"]["digest"]
            assert (each.config, each.executable, each.fault) == (digest, "/bin/service", ""), case
            assert each.elf is not None, case
            assert each.elf.architecture is program, case
            assert each.emulator == ("qemu-aarch64-static" if program is _ARM64 else ""), case
