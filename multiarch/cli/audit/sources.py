"""What an audit reads: manifests, a live cluster, or a list of images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from multiarch.cli.terminal import counted, say
from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, read_text
from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME, read_manifests, standard_input

if TYPE_CHECKING:
    from multiarch.audit.uses import ImageUse, Lines, NotRead
    from multiarch.cli.options.cluster import ClusterOptions
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.credentials.model import Credentials

Result = TypeVar("Result")
_SHOWN, _SHOWN_PATHS = 20, 5
"""Objects that notes name, one line each, and fields in such a line; the others are counted."""


def check(paths: Sequence[str], cluster: ClusterOptions, images: str | None = None) -> None:
    """Raise MultiarchError if more than one source is given: manifests, a list of images, or a live cluster."""
    if paths and images is not None:
        raise MultiarchError("Manifests and --images exclude each other.", hint="Give one of them.")
    if cluster.given and (paths or images is not None):
        other = "manifests" if paths else "--images"
        raise MultiarchError(f"{cluster.given} can't be combined with {other}.", hint="It is for a live cluster.")


def manifest_objects(paths: Sequence[str]) -> tuple[Iterator[LoadedObject], Lines]:
    """The objects in manifests, and a function that reads a file's lines. Raises MultiarchError while iterating."""
    # Standard input is read once, because its lines are needed after its objects.
    stdin = standard_input() if STANDARD_INPUT in paths else ""

    @cache
    def lines(where: str) -> tuple[str, ...]:
        text = stdin if where == STANDARD_INPUT_NAME else read_text(Path(where), MANIFESTS)
        return tuple(text.splitlines())

    return _some(read_manifests(paths, stdin=stdin), paths), lines


def _some(objects: Iterator[LoadedObject], paths: Sequence[str]) -> Iterator[LoadedObject]:
    """The objects. Raises MultiarchError if there are none: an audit of nothing would pass."""
    empty = True
    for each in objects:
        empty = False
        yield each
    if empty:
        names = ", ".join(STANDARD_INPUT_NAME if path == STANDARD_INPUT else path for path in paths)
        raise MultiarchError(
            f"{names}: no Kubernetes objects found.", hint="Did the command that writes the manifests fail?"
        )


def from_list(name: str) -> list[ImageUse]:
    """A list of images, one per line; blank lines and comments (``#``) are skipped.

    Raises MultiarchError for a file that can't be read, or that lists no image.
    """
    from multiarch.audit.uses import ContainerRole, FileLine, ImageUse, WorkloadKey

    try:
        text = standard_input() if name == STANDARD_INPUT else read_text(Path(name))
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
        raise MultiarchError(f"{file} lists no images.", hint="Write one image per line.")
    return found


def cluster_objects(cluster: Cluster, options: ClusterOptions) -> Iterator[LoadedObject]:
    """A cluster's workloads and pods, read while iterating. Raises MultiarchError for a missing namespace."""
    from multiarch.kubernetes.resources import WORKLOADS, Kind

    check_namespaces(cluster, options)
    return cluster.objects((*WORKLOADS, Kind.POD), namespaces=options.namespace or None, selector=options.selector)


def check_namespaces(cluster: Cluster, options: ClusterOptions) -> None:
    """Raise MultiarchError for a namespace that the cluster does not have."""
    if missing := cluster.missing_namespaces(options.namespace or ()):
        raise MultiarchError(f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}.")


def pull_secrets(cluster: Cluster, uses: Sequence[ImageUse]) -> Credentials | None:
    """The pull secrets of pods and of their ServiceAccounts.

    A secret that can't be read, or has no credentials, is noted on stderr, and the audit goes on without it: images
    that need it are unknown, with that reason.
    """
    from multiarch.registry.credentials.pull_secrets import PullSecrets, from_secret

    wanted = {(use.workload.namespace, name) for use in uses for name in use.pull_secrets}
    wanted |= _of_accounts(cluster, {(use.workload.namespace, use.service_account) for use in uses})
    found = []
    for namespace, name in sorted(wanted):
        secret = _or_noted(partial(cluster.secret, namespace, name))
        pair = None if secret is None else _or_noted(partial(from_secret, secret))
        if pair is not None and _or_noted(partial(PullSecrets, [pair])) is not None:
            found.append(pair)
    return PullSecrets(found) if found else None


def _of_accounts(cluster: Cluster, accounts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The secrets of these ServiceAccounts, as (namespace, name) pairs."""
    from multiarch.kubernetes.resources import Kind

    def listed() -> Iterator[tuple[str, str]]:
        names = sorted({namespace for namespace, _ in accounts})
        for found in cluster.objects([Kind.SERVICE_ACCOUNT], namespaces=names):
            metadata = found.value["metadata"]
            namespace = metadata.get("namespace", "")
            if (namespace, metadata["name"]) in accounts:
                for secret in found.value.get("imagePullSecrets") or ():
                    if secret.get("name"):
                        yield namespace, secret["name"]

    return _or_noted(lambda: set(listed())) or set()


def _or_noted(read: Callable[[], Result]) -> Result | None:
    """The result of ``read``; ``None`` if it fails, with a note on stderr."""
    try:
        return read()
    except MultiarchError as error:
        say(f"note: {error}")
        return None


def say_not_read(not_read: NotRead) -> None:
    """Print to stderr in which objects no image was found, and where there may be some that were not read."""
    if not_read.without_images:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(not_read.without_images.items()))
        say(f"note: no image found in {counted(not_read.without_images.total(), 'object')}: {kinds}.")
    possible = sorted(not_read.possible.items())
    for title, paths in possible[:_SHOWN]:
        more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
        say(f"note: {title} may hold images that were not read: {', '.join(paths[:_SHOWN_PATHS])}{more}.")
    if len(possible) > _SHOWN:
        say(f"note: {len(possible) - _SHOWN} more objects may hold images that were not read; see --output json.")


def not_read_data(not_read: NotRead) -> dict[str, object]:
    """The same in JSON."""
    return {
        "withoutImages": [{"kind": kind, "objects": count} for kind, count in sorted(not_read.without_images.items())],
        "possibleImages": [
            {"object": title, "paths": list(paths)} for title, paths in sorted(not_read.possible.items())
        ],
    }
