"""The audits: which images, workloads and DaemonSets are ready for arm64 nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multiarch.audit.daemonset_model import DaemonSetAudit
from multiarch.audit.daemonset_sources import list_image_uses
from multiarch.audit.daemonsets import audit_objects, merge_by_architecture
from multiarch.audit.subjects import ARM, Subject, gather_subjects
from multiarch.audit.workloads import WorkloadAudit, audit_workloads, is_system
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.files import read_text
from multiarch.images.model import Verdict
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME, read_manifests, read_standard_input
from multiarch.kubernetes.resources import DAEMON_SETS, NODES
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up, look_up_newest_tags
from multiarch.observed.newest_tags import LOOK_UPS
from multiarch.observed.objects import ObjectSource, check_namespaces, read_manifest_objects, read_workload_objects
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.observed.verdicts import ImageVerdicts
from multiarch.observed.workloads import FileLine, ImageUse, NotRead, list_uses
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.stack.model import Plan

_NODES_HINT = "Give --stack NAME for a stack's node groups, or manifests with Nodes: kubectl get nodes,daemonsets -A."


@dataclass(frozen=True, slots=True)
class ImageAudit:
    """The images in use; ``not_read`` is what was passed over, ``notes`` say what could not be read."""

    images: ImageVerdicts
    not_read: NotRead
    notes: tuple[str, ...] = ()


def audit_images(
    source: ObjectSource,
    access: RegistryAccess,
    architectures: Iterable[Architecture] = tuple(Architecture),
    *,
    image_list: str | None = None,
    progress: Progress = ignore_progress,
) -> ImageAudit:
    """Judge the images of objects, or of the file ``image_list`` with one image per line.

    Raises MultiarchError for input that can't be read.
    """
    not_read, found = NotRead(), PodCredentials()
    if image_list is not None:
        uses = read_image_list(image_list)
    elif source.files:
        uses = list_uses(*read_manifest_objects(source.files), not_read)
    else:
        with KubernetesCluster(source.access) as cluster:
            uses = list_uses(read_workload_objects(cluster, source), not_read=not_read)
            found = read_pull_secrets(cluster, uses)
    images = look_up(uses, architectures, access, credentials=found.credentials, progress=progress)
    return ImageAudit(images, not_read, found.notes)


def read_image_list(name: str) -> list[ImageUse]:
    """Read a list of images, one per line, without blank lines and comments (``#``); ``-`` is standard input.

    Raises MultiarchError for a file that can't be read, or that lists no image.
    """
    try:
        text = read_standard_input() if name == STANDARD_INPUT else read_text(Path(name))
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    file = STANDARD_INPUT_NAME if name == STANDARD_INPUT else name
    listed = WorkloadKey("", "List", Path(file).name)
    found = [
        ImageUse(image, "", ContainerRole.CONTAINER, listed, "", location=FileLine(file, number))
        for number, line in enumerate(text.splitlines(), start=1)
        if (image := line.partition("#")[0].strip())
    ]
    if not found:
        raise MultiarchError(f"{file} lists no images.", hint="Write one image per line.")
    return found


@dataclass(frozen=True, slots=True)
class WorkloadsAudit:
    """The audit of workloads; ``not_read`` is what was passed over, ``notes`` say what could not be read."""

    audit: WorkloadAudit
    not_read: NotRead = field(default_factory=NotRead)
    notes: tuple[str, ...] = ()


def audit_workload_objects(
    source: ObjectSource,
    access: RegistryAccess,
    taint: Taint | None,
    *,
    look_ups: int = LOOK_UPS,
    progress: Progress = ignore_progress,
) -> WorkloadsAudit:
    """Judge workloads. ``taint`` is that of arm64 nodes, ``look_ups`` the maximum number of tags per image to look up.

    Raises MultiarchError for input that can't be read.
    """
    not_read, found = NotRead(), PodCredentials()
    if source.files:
        objects, lines = read_manifest_objects(source.files)
        subjects = gather_subjects(objects, taint, lines, not_read)
    else:
        with KubernetesCluster(source.access) as cluster:
            subjects = gather_subjects(read_workload_objects(cluster, source), taint, not_read=not_read)
            found = read_pull_secrets(cluster, [use for each in subjects for use in each.uses])
    uses = [use for each in subjects if not is_system(each.workload) for use in each.uses]
    images = look_up(uses, (ARM,), access, credentials=found.credentials, progress=progress)
    audit = audit_with_tags(subjects, images, taint, access, look_ups=look_ups, credentials=found.credentials)
    return WorkloadsAudit(audit, not_read, found.notes)


def audit_with_tags(
    subjects: Sequence[Subject],
    images: ImageVerdicts,
    taint: Taint | None,
    access: RegistryAccess,
    *,
    look_ups: int = LOOK_UPS,
    credentials: Credentials | None = None,
) -> WorkloadAudit:
    """Audit workloads whose images were judged, after looking up other tags of those without arm64."""
    lacking = {row.image for row in images.rows if row.judged(ARM).verdict is Verdict.UNSUPPORTED}
    wanted = lacking if look_ups else ()
    newest = look_up_newest_tags(wanted, ARM, access, look_ups=look_ups, credentials=credentials)
    return audit_workloads(subjects, images, newest, taint)


def audit_daemon_sets(
    source: ObjectSource | None,
    access: RegistryAccess,
    plan: Plan | None = None,
    *,
    taints: Sequence[Taint] = (),
    per_architecture: bool = False,
    progress: Progress = ignore_progress,
) -> tuple[DaemonSetAudit, tuple[str, ...]]:
    """Judge DaemonSets on the nodes of the same source, or on the groups of ``plan``; return notes too.

    Without a source, only the DaemonSets of the plan are judged. ``taints`` stand for an architecture though their key
    and value don't name it. Raises MultiarchError if there are no DaemonSets, or no nodes to compare them with.
    """
    daemon_sets: tuple[LoadedObject, ...] = ()
    nodes: tuple[LoadedObject, ...] = ()
    found = PodCredentials()
    if source is not None and source.files:
        daemon_sets, nodes = _read_files(source.files, plan)
    elif source is not None:
        with KubernetesCluster(source.access) as cluster:
            check_namespaces(cluster, source.namespaces)
            namespaces = source.namespaces or None
            daemon_sets = tuple(cluster.objects([DAEMON_SETS], namespaces=namespaces, selector=source.selector))
            nodes = () if plan is not None else tuple(cluster.objects([NODES]))
            if plan is None and not nodes:
                raise MultiarchError(f"The cluster of context {cluster.name} has no nodes.", hint=_NODES_HINT)
            found = read_pull_secrets(cluster, list_image_uses(daemon_sets))
    uses = list_image_uses(daemon_sets)
    images = look_up(uses, Architecture, access, credentials=found.credentials, progress=progress)
    audit = audit_objects(daemon_sets, images, plan=plan, nodes=nodes, taints=taints)
    return merge_by_architecture(audit) if per_architecture else audit, found.notes


def _read_files(files: Sequence[str], plan: Plan | None) -> tuple[tuple[LoadedObject, ...], tuple[LoadedObject, ...]]:
    found = list(read_manifests(files))
    daemon_sets = tuple(each for each in found if each.value["kind"] == DAEMON_SETS.kind)
    nodes = tuple(each for each in found if each.value["kind"] == NODES.kind)
    if not daemon_sets:
        raise MultiarchError(f"{', '.join(files)}: no DaemonSets found.")
    if plan is None and not nodes:
        raise MultiarchError("The manifests have DaemonSets and no Nodes.", hint=_NODES_HINT)
    return daemon_sets, nodes
