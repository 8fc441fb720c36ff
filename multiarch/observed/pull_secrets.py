"""The credentials that the pods of a live cluster have for their images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import SECRETS, SERVICE_ACCOUNTS
from multiarch.registry.credentials.pull_secrets import PodCredentials, PullSecrets, read_secret


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


def read_pull_secrets(cluster: KubernetesCluster, users: Iterable[ImageUser]) -> PodCredentials:
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
    found = read_secrets(cluster, sorted(wanted))
    return PodCredentials(found.credentials, (*notes, *found.notes))


def read_secrets(
    cluster: KubernetesCluster, names: Iterable[tuple[str, str]], *, note_missing: bool = False
) -> PodCredentials:
    """Read the pull secrets of these namespaces and names; those that can't be used are noted."""
    found, notes = [], []
    for namespace, name in names:
        try:
            if (secret := cluster.get(SECRETS, namespace, name)) is not None:
                pair = read_secret(secret)
                PullSecrets([pair])
                found.append(pair)
            elif note_missing:
                notes.append(f"Secret {namespace}/{name} does not exist.")
        except MultiarchError as error:
            notes.append(str(error))
    return PodCredentials(PullSecrets(found) if found else None, tuple(notes))


def _read_accounts(cluster: KubernetesCluster, accounts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the secrets of these ServiceAccounts, as (namespace, name) pairs."""
    names = sorted({namespace for namespace, _ in accounts})
    found: set[tuple[str, str]] = set()
    for each in cluster.objects([SERVICE_ACCOUNTS], namespaces=names):
        namespace = each.value["metadata"].get("namespace", "")
        if (namespace, each.value["metadata"]["name"]) in accounts:
            secrets = each.value.get("imagePullSecrets") or ()
            found.update((namespace, secret["name"]) for secret in secrets if secret.get("name"))
    return found
