"""The webhook installed in a cluster of real nodes: its image in a registry, its objects, its pods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from multiarch.facts.admission import INSTALLATION_NAME as NAME
from sandbox.cluster import helm
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Kube, Object, is_true
from sandbox.cluster.pods import end_pods
from sandbox.cluster.programs import ClusterError, wait_for
from sandbox.registry import server
from sandbox.registry.images import HOST, read_layout
from sandbox.webhook_image import image

IMAGE_HOST: Final = "webhook.example.com"
IMAGE: Final = f"{IMAGE_HOST}/{NAME}:{image.TAG}"
UNREACHABLE_HOST: Final = "unreachable.example.com"
"""A registry whose address rejects connections, for the nodes and for the webhook."""
READY_SECONDS: Final = 180.0
"""Until all replicas are ready; under the emulator Python takes half a minute to start."""
_MIRRORS: Final = "multiarch-webhook-mirrors"
_FOLDER: Final = "/etc/multiarch/mirrors"
_REPLICAS: Final = 2
_CLOSED: Final = 1  # a port on which nothing listens


@dataclass(frozen=True, slots=True)
class Installed:
    """A running installation."""

    nodes: Nodes

    @property
    def kube(self) -> Kube:
        """The API server's client."""
        return self.nodes.plane.kube

    def pods(self) -> list[Object]:
        """Return the server's pods that are not ending, sorted by their names."""
        found = self.kube.list("v1", "Pod", NAME)
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def wait(self) -> None:
        """Wait until all replicas are ready. Raises ClusterError with what they say."""

        def ready() -> bool:
            found = self.pods()
            return len(found) == _REPLICAS and all(is_true(each, "Ready") for each in found)

        try:
            wait_for(ready, "the webhook's pods", timeout=READY_SECONDS, pause=0.3)
        except ClusterError as error:
            said = "\n".join(f"{name}: {text}" for name, text in self.logs().items())
            raise ClusterError(f"{error}:\n{said}") from error

    def logs(self) -> dict[str, str]:
        """Return the logs of all pods in the webhook's namespace, by their names; a state for a pod without one."""
        found = {}
        for each in self.kube.list("v1", "Pod", NAME):
            name = each["metadata"]["name"]
            path = f"/api/v1/namespaces/{NAME}/pods/{name}/log"
            try:
                found[name] = str(self.kube.request("GET", path)["text"])
            except Exception as error:  # noqa: BLE001  # the container may not have started
                found[name] = f"{error}; {each.get('status')}"
        return found


@contextlib.contextmanager
def served(nodes: Nodes, layout: Path) -> Iterator[None]:
    """Let the nodes pull the webhook's image from a registry on this machine."""
    with server.running({NAME: read_layout(layout, NAME, image.TAG)}) as url:
        server.write_hosts(nodes.hosts, url, IMAGE_HOST)
        server.write_hosts(nodes.hosts, f"http://127.0.0.1:{_CLOSED}", UNREACHABLE_HOST)
        yield


@contextlib.contextmanager
def installed(nodes: Nodes, layout: Path) -> Iterator[Installed]:
    """Install the webhook, and remove it at the end. Wait for its pods with :meth:`Installed.wait`."""
    address = nodes.gateway.address
    reached = {HOST: f"http://{address}:{nodes.registry_port}", UNREACHABLE_HOST: f"http://{address}:{_CLOSED}"}
    namespace, *rendered = helm.render_webhook(_values(address, reached), NAME)
    everything = [namespace, _mirrors(reached), *rendered]
    kube = nodes.plane.kube
    with served(nodes, layout):
        for each in everything:
            kube.apply(each)
        try:
            yield Installed(nodes)
        finally:
            end_pods(kube, NAME)
            for each in reversed(everything):
                kube.delete(each)


def _values(address: str, mirrors: Mapping[str, str]) -> Mapping[str, object]:
    registries = {"allowedNetworks": [f"{address}/32"], "hostsDir": _FOLDER, "ecr": False}
    names = [{"key": name, "path": f"{name}/hosts.toml"} for name in mirrors]
    return {
        "image": IMAGE,
        "replicas": _REPLICAS,
        "maxReplicas": _REPLICAS,
        # Under the emulator a process takes more memory than on its own architecture.
        "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "512Mi"}},
        "extraVolumes": [{"name": "mirrors", "configMap": {"name": _MIRRORS, "items": names}}],
        "extraVolumeMounts": [{"name": "mirrors", "mountPath": _FOLDER, "readOnly": True}],
        "configuration": {"annotate": True, "registries": registries},
    }


def _mirrors(mirrors: Mapping[str, str]) -> Object:
    """Return the ``hosts.toml`` files: pods have no DNS here."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _MIRRORS, "namespace": NAME},
        "data": {name: f'server = "{url}"\n' for name, url in mirrors.items()},
    }
