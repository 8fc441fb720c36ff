"""Pods of the demo's images on the machines, as their kubelets would report them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from multiarch.facts.architectures import Architecture
from sandbox.aws.controls import Remote
from sandbox.cluster.kube import Kube
from sandbox.registry.images import HOST, Content, Repository, repositories
from sandbox.verify_demo.machines import Machine
from sandbox.verify_demo.reports import Process, target

NAMESPACE: Final = "payments"
API: Final = "payments/api:2.4.0"
LEDGER: Final = "payments/ledger:1.19.3"
LYING: Final = "payments/gateway:1.8.0"
"""Its index lists linux/arm64, and that image holds an amd64 program."""


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod of one container on a machine. ``image`` is a repository with its tag in the demo's registry."""

    image: str
    machine: Machine

    @property
    def name(self) -> str:
        """The application and the machine."""
        return f"{self.image.rpartition('/')[2].partition(':')[0]}-{self.machine.id.removeprefix('i-')[:8]}"

    @property
    def process(self) -> Process:
        """Its process on the machine."""
        manifest, config = _of_platform(*self._tagged, self.machine.architecture)
        program = Architecture.AMD64 if self.image in (LEDGER, LYING) else self.machine.architecture
        container_id = hashlib.sha256(self.name.encode()).hexdigest()
        return Process(container_id, f"{HOST}/{self.image}", config, manifest, program)

    def object(self) -> dict[str, Any]:
        """The Pod, bound to its node."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "nodeName": self.machine.node,
                "automountServiceAccountToken": False,
                "containers": [{"name": "service", "image": f"{HOST}/{self.image}"}],
                "tolerations": [{"operator": "Exists"}],
            },
        }

    def status(self) -> dict[str, Any]:
        """Its status: running."""
        image = f"{HOST}/{self.image}"
        digest = self._tagged[1].digest
        container = {
            "name": "service",
            "image": image,
            "imageID": f"{image.rpartition(':')[0]}@{digest}",
            "containerID": f"containerd://{self.process.container_id}",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
        return {"phase": "Running", "containerStatuses": [container]}

    @property
    def _tagged(self) -> tuple[Repository, Content]:
        name, _, tag = self.image.partition(":")
        repository = repositories()[name]
        return repository, repository.tags[tag]


def running_pods(machines: list[Machine]) -> list[RunningPod]:
    """An API on every machine, and a ledger, which is amd64 only, on the amd64 ones."""
    ledgers = [RunningPod(LEDGER, each) for each in machines if each.architecture is Architecture.AMD64]
    return [*(RunningPod(API, each) for each in machines), *ledgers]


def _of_platform(repository: Repository, tagged: Content, architecture: Architecture) -> tuple[str, str]:
    """The digests of the manifest that a node of this architecture pulls, and of its config."""
    manifest = json.loads(tagged.body)
    digest = tagged.digest
    for row in _entries(manifest):
        if row["platform"]["architecture"] == architecture:
            digest = row["digest"]
            manifest = json.loads(repository.contents[digest].body)
    return digest, str(manifest["config"]["digest"])


def _entries(manifest: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from manifest.get("manifests", ())


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
