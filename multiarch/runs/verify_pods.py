"""Which architecture runs in every container: pods, their nodes, and what registries and nodes say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.facts.labels import REGION
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError, ForbiddenError
from multiarch.kubernetes.resources import JOBS, NODES, PODS, REPLICA_SETS
from multiarch.observed.images import Progress, RegistryAccess, use_registry
from multiarch.observed.objects import ObjectSource, check_namespaces, read_manifest_objects
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.ssm.model import InstanceAnswer
from multiarch.verify.on_node.collect import collect_reports
from multiarch.verify.on_node.model import NodeReport
from multiarch.verify.pods.containers import PodReader
from multiarch.verify.pods.model import PodContainer, Pods, PodVerification
from multiarch.verify.pods.verification import list_instances, verify_pods

OpenRegionalClient = Callable[..., Any]
"""Opens a client of an AWS service, in ``region`` unless the user chose another one."""
ShowProgress = Callable[[str], AbstractContextManager[Progress]]
"""Shows the progress of what it names."""
_MOST_LOGS = 200


def verify_containers(
    source: ObjectSource, registries: RegistryAccess, *, on_node: OpenRegionalClient | None, progress: ShowProgress
) -> PodVerification:
    """Verify the containers of live pods, or of their manifests; with ``on_node`` the nodes are queried through SSM.

    Raises MultiarchError and OutsideError.
    """
    found, secrets, notes = _read(source)
    reports = None
    if on_node is not None:
        reports = {}
        if wanted := list_instances(found):
            with progress("querying nodes") as step:
                reports = collect_reports(
                    on_node("ssm", region=_find_region(found)), wanted, containers=True, progress=step
                )
    verified = _verify(found, reports, registries, secrets, progress)
    return replace(verified, notes=(*notes, *secrets.notes, *verified.notes))


def _verify(
    found: Pods,
    reports: Mapping[str, NodeReport | InstanceAnswer] | None,
    registries: RegistryAccess,
    secrets: PodCredentials,
    progress: ShowProgress,
) -> PodVerification:
    with progress("reading digests") as step:
        return use_registry(
            registries,
            lambda registry: verify_pods(registry, found, reports, looked_up=step),
            credentials=secrets.credentials,
        )


def _read(source: ObjectSource) -> tuple[Pods, PodCredentials, list[str]]:
    """Return the containers and their nodes, the cluster's credentials for their images, and notes."""
    reader = PodReader()
    if source.files:
        reader.read(read_manifest_objects(source.files)[0])
        if not reader.pods:
            hint = "It reads the status of live Pods: kubectl get pods,nodes,replicasets -A -o yaml"
            raise MultiarchError(f"{', '.join(source.files)}: no Pods found.", hint=hint)
        return reader.result(), PodCredentials(), []
    with KubernetesCluster(source.access) as cluster:
        check_namespaces(cluster, source.namespaces)
        namespaces = source.namespaces or None
        reader.read(cluster.objects([PODS], namespaces=namespaces, selector=source.selector))
        reader.read(cluster.objects([NODES]))
        notes = [*_read_logs(reader, cluster), *_read_owners(reader, cluster, namespaces)]
        found = reader.result()
        return found, read_pull_secrets(cluster, found.containers), notes


def _read_logs(reader: PodReader, cluster: KubernetesCluster) -> list[str]:
    """Read the ends of the logs of containers that failed; return notes about what kept others from being read."""
    notes: list[str] = []
    silent: set[str] = set()  # nodes whose kubelets do not answer
    forbidden: set[str] = set()  # namespaces
    remaining = _MOST_LOGS

    def read(container: PodContainer) -> str | None:
        nonlocal remaining
        if not remaining or container.node in silent or container.namespace in forbidden:
            return None
        remaining -= 1
        if not remaining:
            notes.append(f"No more than {_MOST_LOGS} logs of containers that failed are read: name namespaces.")
        running = container.running
        try:
            return cluster.read_log_end(container.namespace, container.pod, container.name, previous=running)
        except ForbiddenError as error:
            if not forbidden:
                notes.append(str(error))
            forbidden.add(container.namespace)
        except ClusterError as error:
            notes.append(str(error))
            silent.add(container.node)
        except MultiarchError:
            # The pod, or the log of this run, is gone; the verdict says that it was not read.
            pass
        return None

    reader.read_logs(read)
    return notes


def _read_owners(reader: PodReader, cluster: KubernetesCluster, namespaces: Sequence[str] | None) -> list[str]:
    """Read what owns the owners of pods. Without permission for it, pods are grouped by their direct owners."""
    notes = []
    for resource in (REPLICA_SETS, JOBS):
        if resource.kind in reader.owner_kinds():
            try:
                reader.read(cluster.objects([resource], namespaces=namespaces))
            except ForbiddenError as error:
                notes.append(str(error))
    return notes


def _find_region(found: Pods) -> str | None:
    """Return the region that the labels of all nodes name, if they name one."""
    named = {node.labels[REGION] for node in found.nodes.values() if node.labels.get(REGION)}
    return named.pop() if len(named) == 1 else None
