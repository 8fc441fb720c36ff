"""Containers and nodes of objects as the API server has them: what runs, what has just ended, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from multiarch.kubernetes.source import LoadedObject, add_object_source
from multiarch.manifests.containers import ContainerRole, get_role
from multiarch.manifests.owners import WorkloadKey, find_top_owner, get_owner, get_workload_key
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.observed.nodes import ObservedNode, read_node
from multiarch.verify.pods.model import PodContainer, Pods, StartFailure

_STATUSES = {
    "initContainerStatuses": "initContainers",
    "containerStatuses": "containers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}
_ENDED = ("Succeeded", "Failed")
_ROLES = tuple(ContainerRole)


@dataclass(slots=True)
class PodReader:
    """Reads objects of any kind in any order; of them only containers, nodes and owners are kept."""

    containers: list[PodContainer] = field(default_factory=list)
    ended: list[PodContainer] = field(default_factory=list)
    """Of pods that have ended, those that failed: they stay for long, and are news if their architecture was why."""
    nodes: dict[str, ObservedNode] = field(default_factory=dict)
    owners: dict[WorkloadKey, WorkloadKey] = field(default_factory=dict)
    not_started: int = 0
    pods: int = 0

    def read(self, objects: Iterable[LoadedObject]) -> None:
        """Read objects. Raises MultiarchError for one that no API server would have."""
        for each in objects:
            if each.value.get("kind") == "Node" and each.value.get("apiVersion") == "v1":
                node = read_node(each)
                self.nodes[node.name] = node
                continue
            try:
                self._read(each.value)
            except ManifestError as error:
                raise add_object_source(error, (each,)) from None

    def owner_kinds(self) -> set[str]:
        """Return the kinds of the objects that own pods."""
        return {each.workload.kind for each in (*self.containers, *self.ended)}

    def read_logs(self, read: Callable[[PodContainer], str | None]) -> None:
        """Look for the cause in the logs of containers whose latest run failed; ``read`` returns None for no log."""
        for found in (self.containers, self.ended):
            for at, each in enumerate(found):
                if each.exit_code and each.failure is None and (log := read(each)) is not None:
                    found[at] = replace(each, failure=find_failure(log), log_read=True)

    def result(self) -> Pods:
        """Return what was read, by workload."""
        kept = [*self.containers, *(each for each in self.ended if each.failure is not None)]
        found = [replace(each, workload=find_top_owner(each.workload, self.owners)) for each in kept]
        found.sort(key=lambda each: (each.workload, each.pod, _ROLES.index(each.role), each.name))
        return Pods(tuple(found), self.nodes, self.not_started)

    def _read(self, content: Mapping[str, object]) -> None:
        key = get_workload_key(content)
        value = Value(content, ObjectReference(1, key.kind, f"{key.namespace}/{key.name}"))
        if key.kind == "Pod" and content.get("apiVersion") == "v1":
            self.pods += 1
            found = list(_containers(value, get_owner(content) or key))
            if value["status"]["phase"].text() in _ENDED:
                self.ended += [each for each in found if each.failure is not None or each.exit_code]
            else:
                kept = [each for each in found if each.failure is not None or each.image_id]
                self.containers += kept
                self.not_started += _declared(value["spec"]) - len(kept)
        elif (owner := get_owner(content)) is not None:
            self.owners[key] = owner


def _declared(spec: Value) -> int:
    return sum(len(list(spec[key].items())) for key in _STATUSES.values())


def _containers(pod: Value, workload: WorkloadKey) -> Iterator[PodContainer]:
    """Yield the containers that the pod's status shows."""
    spec, status = pod["spec"], pod["status"]
    shared = PodContainer(
        workload,
        pod["metadata"]["name"].text(),
        "",
        ContainerRole.CONTAINER,
        spec["nodeName"].text(),
        image="",
        reported="",
        image_id="",
        container_id="",
        state="",
        running=False,
        service_account=spec["serviceAccountName"].text() or "default",
        pull_secrets=tuple(each["name"].text() for each in spec["imagePullSecrets"].items()),
    )
    for key, listed in _STATUSES.items():
        written = {each["name"].text(): each for each in spec[listed].items()}
        for each in status[key].items():
            yield _container(shared, listed, written.get(each["name"].text()), each)


def _container(shared: PodContainer, listed: str, written: Value | None, status: Value) -> PodContainer:
    state, reported = status["state"], status["image"].text()
    running = not state["running"].missing
    waiting, ended, before = state["waiting"], state["terminated"], status["lastState"]["terminated"]
    reason = "running" if running else waiting["reason"].text() or ended["reason"].text() or "not running"
    messages = (waiting["message"], ended["message"], before["message"])
    return replace(
        shared,
        name=status["name"].text(),
        role=get_role(listed, {} if written is None else written.mapping()),
        image=reported if written is None else written["image"].text() or reported,
        reported=reported,
        image_id=status["imageID"].text(),
        container_id=status["containerID"].text().partition("://")[2],
        state=reason,
        running=running,
        failure=find_failure(" ".join(each.text() for each in messages)),
        exit_code=(before if ended.missing else ended)["exitCode"].whole(0, least=-(2**31)),
    )


def find_failure(text: str) -> StartFailure | None:
    """Return what messages or a log say of the architecture; a shell writes ``Exec format error``."""
    lower = text.lower()
    return next((each for each in StartFailure if each in lower), None)
