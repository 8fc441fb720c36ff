"""A real node: containerd, a kubelet, and what they need of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from multiarch.facts.architectures import Architecture
from sandbox.cluster import addresses, cgroups, containerd, images, kubelet, machine
from sandbox.cluster.containerd import Settings
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object, condition, is_true
from sandbox.cluster.programs import ClusterError, Program, Programs, wait_for

READY_SECONDS = 90.0


class Node:
    """A node whose containerd runs. Its kubelet can be started, stopped, and started otherwise."""

    def __init__(self, programs: Programs, plane: ControlPlane, settings: Settings, runtime: Program) -> None:
        """Use :func:`start`."""
        self.settings = settings
        self.runtime = runtime
        self.kubelet: Program | None = None
        self._programs, self._plane = programs, plane

    @property
    def name(self) -> str:
        """The Node's name."""
        return self.settings.node

    @property
    def architecture(self) -> Architecture:
        """The node's architecture."""
        return self.settings.architecture

    def object(self) -> Object | None:
        """Return the Node as the API server has it."""
        return self._plane.kube.get("v1", "Node", self.name)

    def start_kubelet(
        self, flags: Sequence[str] = (), config: Mapping[str, Any] | None = None, *, provider_id: str = ""
    ) -> None:
        """Start the kubelet; a Node of this name must not exist, or it keeps the labels and taints that it has.

        ``flags`` and ``config`` are what user data says (``KubeletStart``). ``provider_id`` is ``aws:///ZONE/INSTANCE``
        for a node that stands for an EC2 instance.
        """
        fields = {**(config or {}), "providerID": provider_id}
        self.kubelet = kubelet.start(self._programs, self._plane, self.settings, flags=flags, config=fields)

    def stop_kubelet(self) -> None:
        """Stop the kubelet, and delete the Node; pods go on."""
        if self.kubelet is not None:
            self._programs.stop(self.kubelet, grace=0.5)
            self.kubelet = None
        self._plane.kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}})

    def registered(self) -> Object:
        """Wait for the kubelet to register, and return the Node. Raises ClusterError."""
        return wait_for(self._living, f"{self.name} to register", timeout=READY_SECONDS, pause=0.05)

    def ready(self) -> Object:
        """Wait for the Node to be ready, and return it. Raises ClusterError, with what the kubelet says."""
        try:
            return wait_for(self._ready, f"{self.name} to be ready", timeout=READY_SECONDS)
        except ClusterError as error:
            said = condition(self.object() or {}, "Ready").get("message", "")
            tail = self.kubelet.tail() if self.kubelet else ""
            raise ClusterError(f"{error}: {said}\n{tail}") from error

    def _living(self) -> Object | None:
        self.runtime.still_running()
        if self.kubelet is not None:
            self.kubelet.still_running()
        return self.object()

    def _ready(self) -> Object | None:
        found = self._living()
        return found if found and is_true(found, "Ready") else None

    def ctr(self, *arguments: str) -> str:
        """Run ``ctr`` on the node's containerd; return what it prints."""
        done = containerd.ctr(self.settings, *arguments, check=False)
        if done.returncode:
            raise ClusterError(f"ctr {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def start(
    programs: Programs, plane: ControlPlane, architecture: Architecture, *, emulated: bool, registries: Path
) -> Node:
    """Start a node's containerd, and return when it answers.

    Raises:
        ClusterError: containerd ended, or did not answer in time.
        BuildError: a tool could not be built.
        OSError: no control group could be made.
    """
    name = f"node-{architecture}"
    cgroups.create(f"{programs.folder.name}/{name}")
    settings = Settings(
        folder=programs.folder,
        node=name,
        architecture=architecture,
        emulated=emulated,
        subnet=addresses.of_pods(programs.folder, architecture),
        pause=images.PAUSE,
        registries=registries,
        # ``native`` works on every file system, and copies an image's files for each of its layers and containers.
        snapshotter="overlayfs" if machine.overlay_works_in(programs.folder) else "native",
    )
    return Node(programs, plane, settings, containerd.start(programs, settings))
