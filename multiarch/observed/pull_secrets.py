"""The credentials that the pods of a live cluster have for their images."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.resources import Kind
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.credentials.pull_secrets import PullSecrets, from_secret


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


@dataclass(frozen=True, slots=True)
class PodCredentials:
    """Pull secrets, None if there are none. ``notes`` name the secrets that can't be read, or have no credentials."""

    credentials: Credentials | None = None
    notes: tuple[str, ...] = ()


def read_pull_secrets(cluster: Cluster, users: Iterable[ImageUser]) -> PodCredentials:
    """Read the pull secrets of pods and of their ServiceAccounts.

    A secret that can't be read is noted: the images that need it are unknown, with that reason.
    """
    wanted: set[tuple[str, str]] = set()
    accounts: set[tuple[str, str]] = set()
    for each in users:
        wanted.update((each.namespace, name) for name in each.pull_secrets)
        accounts.add((each.namespace, each.service_account))
    notes: list[str] = []
    try:
        wanted |= _read_accounts(cluster, accounts)
    except MultiarchError as error:
        notes.append(str(error))
    found = []
    for namespace, name in sorted(wanted):
        try:
            if (secret := cluster.secret(namespace, name)) is not None:
                pair = from_secret(secret)
                PullSecrets([pair])
                found.append(pair)
        except MultiarchError as error:
            notes.append(str(error))
    return PodCredentials(PullSecrets(found) if found else None, tuple(notes))


def _read_accounts(cluster: Cluster, accounts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the secrets of these ServiceAccounts, as (namespace, name) pairs."""
    names = sorted({namespace for namespace, _ in accounts})
    found: set[tuple[str, str]] = set()
    for each in cluster.objects([Kind.SERVICE_ACCOUNT], namespaces=names):
        namespace = each.value["metadata"].get("namespace", "")
        if (namespace, each.value["metadata"]["name"]) in accounts:
            secrets = each.value.get("imagePullSecrets") or ()
            found.update((namespace, secret["name"]) for secret in secrets if secret.get("name"))
    return found
