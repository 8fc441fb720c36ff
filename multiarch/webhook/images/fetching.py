"""One look-up: query the registry, and judge what it answers."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_manifest
from multiarch.registry.answers import RefusalError
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import one_image
from multiarch.registry.reference import Reference
from multiarch.webhook.images.clients import Clients
from multiarch.webhook.images.statistics import Statistics
from multiarch.webhook.images.verdicts import Verdicts, verdicts_of
from multiarch.webhook.model import NotFound, PullSecretNames, Reason

LOOK_UP_SECONDS = 20.0
"""Maximum seconds of one look-up. The client's own deadlines are shorter; querying AWS or a helper has none."""


class Fetched(NamedTuple):
    """An image was read."""

    digest: str
    verdicts: Verdicts


class Failure(NamedTuple):
    """An image could not be read. ``gone``: the registry says that it does not exist.

    ``retry_after`` are the seconds that the registry demands to wait.
    """

    answer: NotFound
    gone: bool = False
    retry_after: float = 0.0


class Fetcher:
    """Reads images that are not in memory."""

    def __init__(self, clients: Clients, architectures: Sequence[Architecture], statistics: Statistics) -> None:
        """``statistics`` counts what fails."""
        self._clients = clients
        self._architectures = tuple(architectures)
        self._statistics = statistics

    async def fetch(
        self, reference: Reference, secrets: PullSecretNames, known: Fetched | None = None
    ) -> Fetched | Failure:
        """Read an image. ``known`` is what was read of its tag before: its digest may not have changed."""
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                return await self._read(reference, secrets, known)
        except RegistryError as error:
            failure = await self._failure(error, secrets)
            _release(error)
            return failure
        except TimeoutError as error:
            _release(error)
            self._statistics.failures[RegistryReason.TIMEOUT.value] += 1
            text = f"timed out: the look-up did not end within {LOOK_UP_SECONDS:g} s"
            return Failure(NotFound(Reason.UNREADABLE_IMAGE, text))

    async def _read(self, reference: Reference, secrets: PullSecretNames, known: Fetched | None) -> Fetched:
        async with self._clients.client(secrets) as client:
            with one_image():
                if known is not None and reference.digest is None:
                    digest = await client.resolve(reference)
                    if digest == known.digest:
                        return known
                    reference = reference.at(digest)
                manifest = await client.manifest(reference)
                inspected = await inspect_manifest(client, reference, manifest)
                return Fetched(manifest.digest, verdicts_of(inspected, self._architectures))

    async def _failure(self, error: RegistryError, secrets: PullSecretNames) -> Failure:
        self._statistics.failures[error.reason.value] += 1
        if error.reason is RegistryReason.NOT_ALLOWED:
            # Both name the key to change.
            text = "; ".join(filter(None, (error.detail, f"{error.hint[:1].lower()}{error.hint[1:]}".rstrip("."))))
            return Failure(NotFound(Reason.REGISTRY_NOT_ALLOWED, text))
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        if error.reason is RegistryReason.DENIED and secrets.names:
            text = "; ".join((text, *(await self._clients.read_secrets(secrets)).faults))
        cause = error if isinstance(error, RefusalError) else error.__cause__
        wanted = cause.retry_after if isinstance(cause, RefusalError) else None
        gone = error.reason is RegistryReason.NOT_FOUND
        return Failure(NotFound(Reason.UNREADABLE_IMAGE, text), gone, wanted or 0.0)


def _release(error: BaseException) -> None:
    """Free what the frames of an error hold: bodies of up to 1 MiB, in cycles that wait for the garbage collector."""
    left: list[BaseException | None] = [error]
    for each in left:
        if each is not None and each.__traceback__ is not None:
            traceback.clear_frames(each.__traceback__)
            each.__traceback__ = None
            left += (each.__cause__, each.__context__)
