"""Pods of the demo's images on the machines, as their kubelets would report them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

from multiarch.facts.architectures import Architecture
from sandbox.registry.images import HOST, repositories

NAMESPACE: Final = "payments"
API: Final = "payments/api:2.4.0"
LEDGER: Final = "payments/ledger:1.19.3"
LYING: Final = "payments/gateway:1.8.0"
"""Its index lists linux/arm64, and that image holds an amd64 program."""


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod of one container on an instance. ``image`` is a repository with its tag in the demo's registry."""

    image: str
    instance: str
    architecture: Architecture

    @property
    def name(self) -> str:
        """The application and the instance."""
        return f"{self.image.rpartition('/')[2].partition(':')[0]}-{self.instance.removeprefix('i-')[:8]}"

    @property
    def reference(self) -> str:
        """The image with its registry."""
        return f"{HOST}/{self.image}"

    @property
    def container_id(self) -> str:
        """The container's ID, the same in every run."""
        return hashlib.sha256(self.name.encode()).hexdigest()

    @property
    def program(self) -> Architecture:
        """The architecture of the image's program."""
        return Architecture.AMD64 if self.image in (LEDGER, LYING) else self.architecture

    def digests(self) -> tuple[str, str]:
        """Return the digests of the config and of the manifest that the node has pulled."""
        name, _, tag = self.image.partition(":")
        repository = repositories()[name]
        content = repository.tags[tag]
        for row in json.loads(content.body).get("manifests", ()):
            if row["platform"]["architecture"] == self.architecture:
                content = repository.contents[row["digest"]]
        return str(json.loads(content.body)["config"]["digest"]), content.digest

    def object(self, node: str) -> dict[str, Any]:
        """Return the Pod, bound to its node."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "nodeName": node,
                "automountServiceAccountToken": False,
                "containers": [{"name": "service", "image": self.reference}],
                "tolerations": [{"operator": "Exists"}],
            },
        }

    def status(self) -> dict[str, Any]:
        """Return its status: running."""
        name, _, tag = self.image.partition(":")
        container = {
            "name": "service",
            "image": self.reference,
            "imageID": f"{HOST}/{name}@{repositories()[name].tags[tag].digest}",
            "containerID": f"containerd://{self.container_id}",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }
        return {"phase": "Running", "containerStatuses": [container]}


def run_pods(instance: str, architecture: Architecture) -> list[RunningPod]:
    """Return the pods on an instance: an API, and on amd64 a ledger, whose image is amd64 only."""
    images = (API, LEDGER) if architecture is Architecture.AMD64 else (API,)
    return [RunningPod(image, instance, architecture) for image in images]
