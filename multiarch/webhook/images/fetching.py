"""One look-up: ask the cache that replicas share, then the registry, and tell the others."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_manifest
from multiarch.registry.answers import RefusalError
from multiarch.registry.client import RegistryClient
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import one_image
from multiarch.registry.reference import Reference
from multiarch.webhook.images.clients import Clients
from multiarch.webhook.images.fetched import Failure, Fetched
from multiarch.webhook.images.memory import Key, Memory
from multiarch.webhook.images.statistics import Statistics
from multiarch.webhook.images.verdicts import verdicts_of
from multiarch.webhook.model import NotFound, PullSecretNames, Reason

if TYPE_CHECKING:  # the shared cache's client is not installed everywhere
    from multiarch.webhook.images.shared import Shared

_FAILING = frozenset(
    {
        RegistryReason.RATE_LIMITED,
        RegistryReason.SERVER,
        RegistryReason.TIMEOUT,
        RegistryReason.TRUNCATED,
        RegistryReason.UNREACHABLE,
    }
)
"""The reasons of a registry that is in trouble; others are about the image, or about who may read it."""
LOOK_UP_SECONDS = 20.0
"""The most seconds of one look-up. The client's own deadlines are shorter; asking AWS or a helper has none."""


class Fetcher:
    """Reads images that are not in memory."""

    def __init__(
        self,
        clients: Clients,
        memory: Memory,
        architectures: Sequence[Architecture],
        statistics: Statistics,
        shared: Shared | None,
        *,
        believed: float,
    ) -> None:
        """``memory`` is only asked for verdicts of digests. A tag is ``believed`` so many seconds at most."""
        self._believed = believed
        self._clients = clients
        self._memory = memory
        self._architectures = tuple(architectures)
        self._statistics = statistics
        self._shared = shared

    async def fetch(
        self, key: Key, reference: Reference, identity: PullSecretNames, *, refresh: bool, known: bool
    ) -> Fetched | Failure:
        """Read an image. ``known``: its tag was read before, so its digest may not have changed."""
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                if self._shared is None:
                    return await self._asked(reference, identity, refresh=refresh, known=known)
                return await self._shared_or_asked(self._shared, key, reference, identity, refresh=refresh, known=known)
        except TimeoutError as error:
            _release(error)
            self._statistics.failures[RegistryReason.TIMEOUT.value] += 1
            text = f"timed out: the look-up did not end within {LOOK_UP_SECONDS:g} s"
            return Failure(NotFound(Reason.UNREADABLE_IMAGE, text))

    async def _shared_or_asked(
        self,
        shared: Shared,
        key: Key,
        reference: Reference,
        identity: PullSecretNames,
        *,
        refresh: bool,
        known: bool,
    ) -> Fetched | Failure:
        """As ``_asked``, unless another replica has the answer, or is about to have it."""
        found = await shared.image(key, newer=refresh)
        if found is None and not await shared.claim(key):
            found = await shared.awaited(key)
        if found is not None and reference.digest in (None, found.digest):
            return found
        result = await self._asked(reference, identity, refresh=refresh, known=known)
        if isinstance(result, Fetched) and result.verdicts.lasting:
            await shared.keep(key, result, tag=reference.digest is None)
        else:
            await shared.give_back(key, gone=isinstance(result, Failure) and result.gone)
        return result

    async def _asked(
        self, reference: Reference, identity: PullSecretNames, *, refresh: bool, known: bool
    ) -> Fetched | Failure:
        """Ask the registry; once more if it refuses secrets that have changed since they were read."""
        self._statistics.fetches += 1
        self._statistics.refreshes += refresh
        try:
            return await self._from_registry(reference, identity, known=known)
        except RegistryError as error:
            denied = error.reason is RegistryReason.DENIED and identity.names
            if not denied or not await self._clients.renewed(identity):
                return await self._failure(error, identity)
        try:
            return await self._from_registry(reference, identity, known=known)
        except RegistryError as error:
            return await self._failure(error, identity)

    async def _from_registry(self, reference: Reference, identity: PullSecretNames, *, known: bool) -> Fetched:
        async with self._clients.client(identity) as (client, _):
            try:
                with one_image():
                    return await self._read(client, reference, known=known)
            except RegistryError as error:
                if known or error.reason not in _FAILING:
                    raise
                found = await self._from_cache(client, reference)
                if found is None:
                    raise
                self._statistics.failures[error.reason.value] += 1
                return found

    async def _read(self, client: RegistryClient, reference: Reference, *, known: bool) -> Fetched:
        if known and reference.digest is None:
            digest = await client.resolve(reference)
            verdicts = self._memory.verdicts(digest)
            if verdicts is None and self._shared is not None:
                verdicts = await self._shared.digest(digest)
            if verdicts is not None:
                return Fetched(digest, verdicts)
            reference = reference.at(digest)
        found = await self._manifest(client, reference)
        last = None if reference.digest is not None else client.last_known(reference)
        # After a restart, a fresh tag comes from the cache on disk.
        return found if last is None else replace(found, age=last[1])

    async def _from_cache(self, client: RegistryClient, reference: Reference) -> Fetched | None:
        """What a tag pointed at before, if that may still be believed while its registry fails: after a restart."""
        last = None if reference.digest is not None else client.last_known(reference)
        if last is None or last[1] >= self._believed:
            return None
        try:
            with one_image():
                return replace(await self._manifest(client, reference.at(last[0])), age=last[1])
        except RegistryError:
            return None

    async def _manifest(self, client: RegistryClient, reference: Reference) -> Fetched:
        manifest = await client.manifest(reference)
        verdicts = self._memory.verdicts(manifest.digest)
        if verdicts is None:
            inspected = await inspect_manifest(client, reference, manifest)
            verdicts = verdicts_of(inspected, self._architectures)
        return Fetched(manifest.digest, verdicts)

    async def _failure(self, error: RegistryError, identity: PullSecretNames) -> Failure:
        found = await self._described(error, identity)
        _release(error)
        return found

    async def _described(self, error: RegistryError, identity: PullSecretNames) -> Failure:
        self._statistics.failures[error.reason.value] += 1
        if error.reason is RegistryReason.NOT_ALLOWED:
            # Both name the key to change.
            text = "; ".join(filter(None, (error.detail, f"{error.hint[:1].lower()}{error.hint[1:]}".rstrip("."))))
            return Failure(NotFound(Reason.REGISTRY_NOT_ALLOWED, text))
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        if error.reason is RegistryReason.DENIED and identity.names:
            async with self._clients.client(identity) as (_, faults):
                text = "; ".join((text, *faults))
        cause = error if isinstance(error, RefusalError) else error.__cause__
        asked = cause.retry_after if isinstance(cause, RefusalError) else None
        return Failure(
            NotFound(Reason.UNREADABLE_IMAGE, text),
            gone=error.reason is RegistryReason.NOT_FOUND,
            retry_after=asked or 0.0,
        )


def _release(error: BaseException) -> None:
    """Free what the frames of an error hold: bodies of up to 1 MiB, in cycles that wait for the garbage collector."""
    left: list[BaseException | None] = [error]
    for each in left:
        if each is not None and each.__traceback__ is not None:
            traceback.clear_frames(each.__traceback__)
            each.__traceback__ = None
            left += (each.__cause__, each.__context__)
