"""The node bridge: a ready Node for every running instance, and the little of a kubelet that the API server waits for.

It stands in for EC2 booting an image and for the kubelet on it; everything else in a test cluster is the real part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Event, Lock

from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.pods import POD_RUNS
from sandbox.cluster.programs import ClusterError
from tests.cluster import nodes
from tests.cluster.aws import Aws, Instance
from tests.cluster.threads import in_thread

PAUSE_SECONDS = 0.3


class Bridge:
    """Looks at AWS and the API server several times a second. ``pause`` in seconds."""

    def __init__(self, kube: Kube, aws: Aws, *, pause: float = PAUSE_SECONDS) -> None:
        """Nothing runs yet; see :meth:`running`."""
        self._kube, self._aws, self._pause = kube, aws, pause
        self._known: dict[str, str] = {}  # instance id: name of its Node
        self._controls = aws.controls
        self._changes = -1
        self._lock = Lock()
        self._stop = Event()
        self._failure: BaseException | None = None

    @contextlib.contextmanager
    def running(self) -> Iterator[Bridge]:
        """Run in a thread; on leaving, end it."""
        with in_thread("node bridge", self._run, self._stop):
            yield self

    def still_running(self) -> None:
        """Raise ClusterError if the bridge broke down."""
        if self._failure is not None:
            raise ClusterError(f"the node bridge broke down: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._pause):
                self.step()
        except Exception as error:  # noqa: BLE001 (told by still_running, in the tests' own thread)
            self._failure = error

    def step(self) -> None:
        """Bring Nodes and pods up to what EC2 and the scheduler say."""
        with self._lock:
            # Requests that come after this number was read are looked at in the next step.
            changes = self._controls.changes()
            if changes != self._changes:
                self._follow_instances()
                self._changes = changes
            self._play_kubelet()

    def _follow_instances(self) -> None:
        """Let the Nodes of instances that are gone leave, and those of new ones join."""
        instances = {row["InstanceId"]: row for row in self._aws.running_instances()}
        # Those that leave come first: a new instance may have the address, and so the name, of an old one.
        for identifier in sorted(self._known.keys() - instances.keys()):
            self._leave(self._known.pop(identifier))
        for identifier in sorted(instances.keys() - self._known.keys()):
            self._join(instances[identifier])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let the bridge do nothing for a while."""
        with self._lock:
            yield

    def _join(self, instance: Instance) -> None:
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        node_class = self._kube.get("karpenter.k8s.aws/v1", "EC2NodeClass", tags["karpenter.k8s.aws/ec2nodeclass"])
        if node_class is None:
            return  # being deleted
        made = nodes.node(instance, nodes.for_karpenter(node_class["spec"]))
        try:
            self._kube.create(made)
        except KubeError as error:
            if error.reason != "AlreadyExists":
                raise
            with _unless_gone():
                self._kube.patch(made, {"status": made["status"]}, part="status")
        self._known[instance["InstanceId"]] = made["metadata"]["name"]

    def _leave(self, name: str) -> None:
        """Do as the cloud controller does with the Node of an instance that is gone."""
        self._kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})

    def _play_kubelet(self) -> None:
        """Start pods that were bound to a node; let go of those that are to end."""
        for pod in self._kube.list("v1", "Pod"):
            if not pod["spec"].get("nodeName"):
                continue
            named: Object = {"apiVersion": "v1", "kind": "Pod", **pod}
            if "deletionTimestamp" in pod["metadata"]:
                self._kube.delete(named, grace=0)
            elif pod.get("status", {}).get("phase") == "Pending":
                with _unless_gone():
                    self._kube.patch(named, POD_RUNS, part="status")


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    """Let an object go that somebody deleted meanwhile."""
    try:
        yield
    except KubeError as error:
        if error.reason != "NotFound":
            raise
