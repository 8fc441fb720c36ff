"""Kubernetes objects that a command reads, from manifests or from a live cluster, and the credentials of their pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError
from multiarch.files import MANIFESTS, read_text
from multiarch.kubernetes.manifests import STANDARD_INPUT, STANDARD_INPUT_NAME, names_of, read_manifests, standard_input
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.cli.options.cluster import ClusterOptions
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.credentials.model import Credentials

Result = TypeVar("Result")


class ImageUser(Protocol):
    """What pulls an image with the credentials of its pod."""

    @property
    def namespace(self) -> str:
        """The pod's."""
        ...

    @property
    def service_account(self) -> str:
        """The name of the pod's ServiceAccount."""
        ...

    @property
    def pull_secrets(self) -> tuple[str, ...]:
        """The names of the pod's own pull secrets."""
        ...


def check(paths: Sequence[str], cluster: ClusterOptions, images: str | None = None) -> None:
    """Raise MultiarchError if more than one source is given: manifests, a list of images, or a live cluster."""
    if paths and images is not None:
        raise MultiarchError("Manifests and --images exclude each other.", hint="Give one of them.")
    if cluster.given and (paths or images is not None):
        other = "manifests" if paths else "--images"
        raise MultiarchError(f"{cluster.given} can't be combined with {other}.", hint="It is for a live cluster.")


def manifest_objects(paths: Sequence[str]) -> tuple[Iterator[LoadedObject], Callable[[str], Sequence[str]]]:
    """The objects in manifests, and a function that reads a file's lines. Raises MultiarchError while iterating."""
    # Standard input is read once, because its lines are needed after its objects.
    stdin = standard_input() if STANDARD_INPUT in paths else ""

    @cache
    def lines(where: str) -> tuple[str, ...]:
        text = stdin if where == STANDARD_INPUT_NAME else read_text(Path(where), MANIFESTS)
        return tuple(text.splitlines())

    return _some(read_manifests(paths, stdin=stdin), paths), lines


def describe_without_pods(kinds: Sequence[tuple[str, int]]) -> str:
    """``3 objects create no pods: ConfigMap 2, Service 1``."""
    total = sum(count for _, count in kinds)
    create = "creates" if total == 1 else "create"
    return f"{counted(total, 'object')} {create} no pods: {', '.join(f'{kind} {count}' for kind, count in kinds)}"


def _some(objects: Iterator[LoadedObject], paths: Sequence[str]) -> Iterator[LoadedObject]:
    """The objects. Raises MultiarchError if there are none: a check of nothing would pass."""
    empty = True
    for each in objects:
        empty = False
        yield each
    if empty:
        raise MultiarchError(
            f"{names_of(paths)}: no Kubernetes objects found.", hint="Did the command that writes the manifests fail?"
        )


def cluster_objects(cluster: Cluster, options: ClusterOptions) -> Iterator[LoadedObject]:
    """A cluster's workloads and pods, read while iterating. Raises MultiarchError for a missing namespace."""
    from multiarch.kubernetes.resources import WORKLOADS, Kind

    check_namespaces(cluster, options)
    return cluster.objects((*WORKLOADS, Kind.POD), namespaces=options.namespace or None, selector=options.selector)


def check_namespaces(cluster: Cluster, options: ClusterOptions) -> None:
    """Raise MultiarchError for a namespace that the cluster does not have."""
    if missing := cluster.missing_namespaces(options.namespace or ()):
        raise MultiarchError(f"There is no namespace {', '.join(missing)} in the cluster of context {cluster.name}.")


def pull_secrets(cluster: Cluster, users: Iterable[ImageUser]) -> Credentials | None:
    """The pull secrets of pods and of their ServiceAccounts.

    A secret that can't be read, or has no credentials, is noted on stderr, and the command goes on without it: images
    that need it are unknown, with that reason.
    """
    from multiarch.registry.credentials.pull_secrets import PullSecrets, from_secret

    wanted: set[tuple[str, str]] = set()
    accounts: set[tuple[str, str]] = set()
    for each in users:
        wanted.update((each.namespace, name) for name in each.pull_secrets)
        accounts.add((each.namespace, each.service_account))
    wanted |= _of_accounts(cluster, accounts)
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
