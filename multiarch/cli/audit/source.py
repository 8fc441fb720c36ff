"""What an audit looks at: manifests, a live cluster, or a list of images; one source at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from multiarch.cli.output import say
from multiarch.errors import MultiarchError
from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME, read_manifests, standard_input

if TYPE_CHECKING:
    from multiarch.audit.uses import ImageUse, Lines
    from multiarch.kubernetes.access import ClusterAccess
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.credentials.model import Credentials

Result = TypeVar("Result")


GroupByOption = Annotated[
    str | None,
    typer.Option("--group-by", metavar="LABEL", help="Group by this label of workloads or their pods, such as team."),
]


def group_label(written: str | None) -> str:
    """The label to group by, empty for none. Raises MultiarchError for an empty one that was given."""
    if written is None:
        return ""
    if not written.strip():
        raise MultiarchError("--group-by names no label.", hint="Name one, such as team, or leave the option out.")
    return written


@dataclass(frozen=True, slots=True)
class Sources:
    """What the arguments and options of an audit said."""

    paths: tuple[str, ...]
    access: ClusterAccess
    namespaces: tuple[str, ...] | None = None
    selector: str = ""
    images: str | None = None

    def check(self, cluster_options: Sequence[str], *, lists: bool = True) -> None:
        """Refuse more than one source. Raises MultiarchError that names them all; ``lists``: --images is one."""
        hint = "Give files, folders or -; or none of them, for a live cluster."
        if lists:
            hint = "Give files, folders or -; or --images FILE; or neither of them, for a live cluster."
        if self.paths and self.images is not None:
            raise MultiarchError("Manifests and --images exclude each other.", hint=hint)
        if cluster_options and (self.paths or self.images is not None):
            given = "manifests" if self.paths else "--images"
            raise MultiarchError(f"{', '.join(cluster_options)} is for a live cluster, not for {given}.", hint=hint)


def from_manifests(paths: Sequence[str]) -> list[ImageUse]:
    """The images in manifests, each with the line that names it. Raises MultiarchError as ``read_manifests`` does."""
    from multiarch.audit.uses import uses_in

    return uses_in(*manifest_objects(paths))


def manifest_objects(paths: Sequence[str]) -> tuple[Iterator[LoadedObject], Lines]:
    """The objects in manifests, and what reads the lines that they stand on. Raises while they are read."""
    # Standard input is read here, once, because its lines are wanted after its objects.
    stdin = standard_input() if STANDARD_INPUT in paths else ""

    @cache
    def lines(where: str) -> tuple[str, ...]:
        text = stdin if where == STANDARD_INPUT_NAME else Path(where).read_text(encoding="utf-8")
        return tuple(text.splitlines())

    return _some(read_manifests(paths, stdin=stdin), paths), lines


def _some(objects: Iterator[LoadedObject], paths: Sequence[str]) -> Iterator[LoadedObject]:
    """The objects. Raises MultiarchError if there is none: an audit of nothing would find nothing wrong."""
    empty = True
    for each in objects:
        empty = False
        yield each
    if empty:
        names = ", ".join(STANDARD_INPUT_NAME if path == STANDARD_INPUT else path for path in paths)
        raise MultiarchError(f"{names}: no Kubernetes object is there.", hint="Did what writes the manifests fail?")


def from_list(name: str) -> list[ImageUse]:
    """A list of images, one on a line; blank lines and what comes after ``#`` are passed over.

    Raises MultiarchError for a file that can't be read, or that names none.
    """
    from multiarch.audit.uses import ContainerRole, FileLine, ImageUse, WorkloadKey

    try:
        text = standard_input() if name == STANDARD_INPUT else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MultiarchError(f"{name} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    file = STANDARD_INPUT_NAME if name == STANDARD_INPUT else name
    found = [
        ImageUse(
            image,
            "",
            ContainerRole.CONTAINER,
            WorkloadKey("", "List", Path(file).name),
            "",
            location=FileLine(file, number),
        )
        for number, line in enumerate(text.splitlines(), start=1)
        if (image := line.partition("#")[0].strip())
    ]
    if not found:
        raise MultiarchError(f"{file} names no image.", hint="Write one image on a line.")
    return found


def from_cluster(cluster: Cluster, namespaces: Sequence[str] | None, selector: str) -> list[ImageUse]:
    """The images of a cluster's workloads and pods. Raises MultiarchError for a namespace that is not there."""
    from multiarch.audit.uses import uses_in

    return uses_in(cluster_objects(cluster, namespaces, selector))


def cluster_objects(cluster: Cluster, namespaces: Sequence[str] | None, selector: str) -> Iterator[LoadedObject]:
    """A cluster's workloads and pods, as they are read. Raises MultiarchError for a namespace that is not there."""
    from multiarch.kubernetes.resources import WORKLOADS, Kind

    if missing := cluster.missing_namespaces(namespaces or ()):
        raise MultiarchError(f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}.")
    return cluster.objects((*WORKLOADS, Kind.POD), namespaces=namespaces, selector=selector)


def pull_secrets(cluster: Cluster, uses: Sequence[ImageUse]) -> Credentials | None:
    """The pull secrets that pods and their ServiceAccounts name, as far as they can be read.

    A secret that may not be read, or holds no credentials, is said on stderr, and the audit goes on without it: its
    images are then unknown for lack of credentials, if they need any.
    """
    from multiarch.registry.credentials.pull_secrets import PullSecrets, from_secret

    wanted = {(use.workload.namespace, name) for use in uses for name in use.pull_secrets}
    wanted |= _of_accounts(cluster, {(use.workload.namespace, use.service_account) for use in uses})
    found = []
    for namespace, name in sorted(wanted):
        secret = _told(partial(cluster.secret, namespace, name))
        pair = None if secret is None else _told(partial(from_secret, secret))
        if pair is not None and _told(partial(PullSecrets, [pair])) is not None:
            found.append(pair)
    return PullSecrets(found) if found else None


def _of_accounts(cluster: Cluster, accounts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The secrets of these ServiceAccounts, as (namespace, name) pairs."""
    from multiarch.kubernetes.resources import Kind

    def listed() -> Iterator[tuple[str, str]]:
        names = sorted({namespace for namespace, _ in accounts})
        for found in cluster.objects([Kind.SERVICE_ACCOUNT], namespaces=names):
            metadata = found.value["metadata"]
            if (metadata["namespace"], metadata["name"]) in accounts:
                for secret in found.value.get("imagePullSecrets") or ():
                    if secret.get("name"):
                        yield metadata["namespace"], secret["name"]

    return _told(lambda: set(listed())) or set()


def _told(read: Callable[[], Result]) -> Result | None:
    """What ``read`` returns; None where it fails, and the failure said."""
    try:
        return read()
    except MultiarchError as error:
        say(f"note: {error}")
        return None
