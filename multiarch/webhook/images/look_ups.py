"""Finds out which architectures images support: from memory, from what replicas share, from registries.

One look-up serves all pods that wait for its image, and goes on when their deadline has passed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cachetools import LRUCache

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference
from multiarch.registry.settings import MIB, REMEMBERED
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.clients import Clients, cache_of, credentials_of, settings_of
from multiarch.webhook.images.fetched import Failure, Fetched
from multiarch.webhook.images.fetching import Fetcher
from multiarch.webhook.images.memory import Key, Memory, Passing, Remembered
from multiarch.webhook.images.secrets import SecretSource
from multiarch.webhook.images.statistics import Statistics
from multiarch.webhook.images.verdicts import Verdicts
from multiarch.webhook.model import NO_SECRETS, Answer, NotFound, PodImage, PullSecretNames, Reason

if TYPE_CHECKING:  # the shared cache's client is not installed everywhere
    from multiarch.webhook.images.shared import Shared

REFRESHES = 16
"""Tags that are checked in the background at the same time. Others are checked when they are asked for again."""
LONGEST_PAUSE = 3600.0
"""The most seconds that a registry may ask for until it is asked again."""
_LONGEST_NAME = 1024
"""Longer names of images are refused without being remembered."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _LookUp:
    """A look-up under way."""

    task: asyncio.Task[Verdicts | NotFound]
    began: float
    registry: str
    refresh: bool


class LookUps:
    """Implements ``multiarch.webhook.model.Images``. Use it with ``async with``, in one event loop.

    Leaving it ends look-ups that are under way.
    """

    def __init__(
        self,
        clients: Clients,
        configuration: WebhookConfiguration,
        *,
        shared: Shared | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask no registry yet. ``clock`` counts seconds."""
        cache = configuration.cache
        self._clients = clients
        self._shared = shared
        self._clock = clock
        self._fresh = float(cache.fresh_seconds)
        self._believed = self._fresh + cache.stale_seconds
        self._pause = float(cache.failure_seconds)
        self._most = configuration.limits.look_ups
        self._memory = Memory(cache.memory_mib * MIB)
        self._statistics = Statistics()
        architectures = tuple(Architecture(each) for each in configuration.architectures)
        self._fetcher = Fetcher(clients, self._memory, architectures, self._statistics, shared, believed=self._believed)
        self._under_way: dict[Key, _LookUp] = {}
        self._refreshes = 0
        self._by_registry: Counter[str] = Counter()
        self._names: LRUCache[str, str] = LRUCache(REMEMBERED)
        self._paused: LRUCache[Key, float] = LRUCache(REMEMBERED)
        self._stack = AsyncExitStack()
        self._closed = False

    @classmethod
    def from_configuration(
        cls, configuration: WebhookConfiguration, clock: Callable[[], float] = time.monotonic
    ) -> Self:
        """Look-ups as configured. Raises MultiarchError for what is not valid, and for files that can't be read."""
        registries = configuration.registries
        clients = Clients(
            settings_of(configuration),
            credentials_of(registries),
            cache=cache_of(configuration),
            secrets=_cluster_secrets() if registries.pull_secrets else None,
            allowed=registries.pull_secrets,
        )
        return cls(clients, configuration, shared=_shared(configuration), clock=clock)

    @property
    def notes(self) -> list[str]:
        """A sentence for each problem with the cache on disk, which is then not used."""
        return self._clients.notes

    async def __aenter__(self) -> Self:
        """Open the clients."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._clients)
            if self._shared is not None:
                await stack.enter_async_context(self._shared)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is under way, and close the clients."""
        self._closed = True
        tasks = [each.task for each in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()

    @property
    def statistics(self) -> Statistics:
        """What happened so far, and what is in memory."""
        found = self._statistics
        found.entries, found.bytes, found.under_way = len(self._memory), self._memory.used, len(self._under_way)
        if self._shared is not None:
            found.shared_hits, found.shared_failures = self._shared.hits, self._shared.failures
        return found

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:
        """What is remembered, or None. See ``Images.known``."""
        name, mounted = image
        if secrets.names:
            return self._remembered(name, self._clients.identity(secrets), mounted=mounted)
        # Nearly all images of nearly all reviews, in a step less.
        found = self._memory.get(name)
        if isinstance(found, Remembered) and self._clock() - found.checked < self._fresh:
            self._statistics.hits += 1
            return found.verdicts.mounted if mounted else found.verdicts.run
        return self._remembered(name, NO_SECRETS, mounted=mounted)

    def _remembered(self, name: str, identity: PullSecretNames, *, mounted: bool) -> Answer | None:
        key = (name, identity) if identity.names else name
        found = self._memory.get(key)
        if found is None:
            canonical = self._names.get(name)
            if canonical is None:
                return None
            key = (canonical, identity) if identity.names else canonical
            found = self._memory.get(key)
            if found is None:
                return None
        now = self._clock()
        if isinstance(found, Remembered):
            age = now - found.checked
            if age >= self._fresh:
                if age >= self._believed:
                    return None
                self._statistics.stale += 1
                self._refresh(key, now)
            verdicts = found.verdicts
        elif now >= found.until:
            return None
        elif isinstance(found.answer, NotFound):
            self._statistics.hits += 1
            return found.answer
        else:
            verdicts = found.answer
        self._statistics.hits += 1
        return verdicts.mounted if mounted else verdicts.run

    async def look_up(
        self, images: Collection[PodImage], secrets: PullSecretNames = NO_SECRETS, *, seconds: float
    ) -> Mapping[PodImage, Answer]:
        """Look all images up side by side. See ``Images.look_up``."""
        identity = self._clients.identity(secrets)
        answers: dict[PodImage, Answer] = {}
        waiting: dict[PodImage, _LookUp] = {}
        for image in images:
            found = self._joined(image, identity, seconds)
            if isinstance(found, _LookUp):
                waiting[image] = found
            else:
                answers[image] = found
        if waiting:
            await asyncio.wait({each.task for each in waiting.values()}, timeout=seconds)
        for image, each in waiting.items():
            answers[image] = _answer(each, image, seconds)
        return answers

    def _joined(self, image: PodImage, identity: PullSecretNames, seconds: float) -> Answer | _LookUp:
        """The answer, if it is known, or a look-up to wait for."""
        known = self._remembered(image.image, identity, mounted=image.mounted)
        if known is not None:
            return known
        try:
            reference = parse_reference(image.image)
        except InvalidReferenceError as error:
            answer = NotFound(Reason.UNREADABLE_IMAGE, f"the image's name is not valid: {error.fault}")
            if len(image.image) <= _LONGEST_NAME:
                self._memory.keep_passing(image.image, Passing(answer, self._clock() + self._pause))
            return answer
        canonical = reference.name + (f"@{reference.digest}" if reference.digest else f":{reference.tag}")
        if canonical != image.image:
            self._names[image.image] = canonical
            known = self._remembered(image.image, identity, mounted=image.mounted)
            if known is not None:
                return known
        return self._under_way_or_started(reference, canonical, identity, seconds)

    def _under_way_or_started(
        self, reference: Reference, canonical: str, identity: PullSecretNames, seconds: float
    ) -> NotFound | _LookUp:
        key = (canonical, identity) if identity.names else canonical
        self._statistics.misses += 1
        found = self._under_way.get(key)
        if found is not None:
            elapsed = self._clock() - found.began
            return found if elapsed < seconds else _late(elapsed)
        if self._closed:
            return NotFound(Reason.UNREADABLE_IMAGE, "the webhook is shutting down")
        if (text := self._full(reference.registry)) is not None:
            return NotFound(Reason.TOO_MANY_LOOKUPS, text)
        return self._start(key, reference, identity, refresh=False)

    def _full(self, registry: str) -> str | None:
        """Why there is no room for another look-up. One registry that is slow leaves half of the room to others."""
        if self._by_registry[registry] >= max(1, self._most // 2):
            count = self._by_registry[registry]
            return f"{count} images of {registry} are being looked up already (half of limits.lookUps)"
        if self._by_registry.total() >= self._most:
            return f"{self._most} images are being looked up already (limits.lookUps)"
        return None

    # Look-ups under way

    def _refresh(self, key: Key, now: float) -> None:
        """Check a tag in the background, unless that failed just now, or enough others are being checked."""
        busy = self._refreshes >= REFRESHES or key in self._under_way or self._closed
        if busy or now < self._paused.get(key, -math.inf):
            return
        name, identity = (key, NO_SECRETS) if isinstance(key, str) else key
        self._start(key, parse_reference(name), identity, refresh=True)

    def _start(self, key: Key, reference: Reference, identity: PullSecretNames, *, refresh: bool) -> _LookUp:
        task = asyncio.get_running_loop().create_task(self._run(key, reference, identity, refresh=refresh))
        found = self._under_way[key] = _LookUp(task, self._clock(), reference.registry, refresh)
        if refresh:
            self._refreshes += 1
        else:
            self._by_registry[reference.registry] += 1
        task.add_done_callback(lambda _: self._ended(key, found))
        return found

    async def _run(
        self, key: Key, reference: Reference, identity: PullSecretNames, *, refresh: bool
    ) -> Verdicts | NotFound:
        """Look an image up, and remember what was found. Raises nothing but what is a fault of the webhook itself."""
        known = self._memory.get(key)
        before = known if isinstance(known, Remembered) else None
        found = await self._fetcher.fetch(key, reference, identity, refresh=refresh, known=before is not None)
        if isinstance(found, Failure):
            return self._failed(key, found)
        if not found.verdicts.lasting:
            self._memory.keep_passing(key, Passing(found.verdicts, self._clock() + self._pause))
            return found.verdicts
        return self._keep(key, reference, found)

    def _keep(self, key: Key, reference: Reference, found: Fetched) -> Verdicts:
        checked = math.inf if reference.digest is not None else self._clock() - found.age
        self._memory.keep(key, found.digest, found.verdicts, checked)
        self._paused.pop(key, None)
        return found.verdicts

    def _failed(self, key: Key, failure: Failure) -> Verdicts | NotFound:
        """Remember a failure; a tag that may still be believed stays, unless the registry says that it is gone."""
        now = self._clock()
        until = now + min(max(self._pause, failure.retry_after), LONGEST_PAUSE)
        known = self._memory.get(key)
        if isinstance(known, Remembered) and not failure.gone and now - known.checked < self._believed:
            self._paused[key] = until
            return known.verdicts
        self._memory.keep_passing(key, Passing(failure.answer, until))
        return failure.answer

    def _ended(self, key: Key, found: _LookUp) -> None:
        if self._under_way.get(key) is found:
            del self._under_way[key]
            self._left(found)
        error = None if found.task.cancelled() else found.task.exception()
        if error is not None:
            _log.error("looking an image up failed inside of the webhook", exc_info=error)
            self._statistics.failures["internal"] += 1
            self._failed(key, Failure(_fault(error)))

    def _left(self, found: _LookUp) -> None:
        """Make room for another."""
        if found.refresh:
            self._refreshes -= 1
            return
        self._by_registry[found.registry] -= 1
        if not self._by_registry[found.registry]:
            del self._by_registry[found.registry]


def _shared(configuration: WebhookConfiguration) -> Shared | None:
    file = configuration.cache.shared_url_file
    if file is None:
        return None
    try:
        from multiarch.webhook.images.shared import Shared  # noqa: PLC0415 (its client is not installed everywhere)
    except ModuleNotFoundError as error:
        hint = "Install it: pip install 'multiarch-eks[webhook-shared-cache]'."
        raise MultiarchError(f"cache.sharedUrlFile needs the Python package {error.name}.", hint=hint) from error
    return Shared(Path(file), configuration)


def _cluster_secrets() -> SecretSource:
    from multiarch.webhook.images.cluster_secrets import ClusterSecrets  # noqa: PLC0415 (most webhooks read no secret)

    return ClusterSecrets()


def _answer(found: _LookUp, image: PodImage, seconds: float) -> Answer:
    task = found.task
    if not task.done():
        return _late(seconds)
    if task.cancelled():
        return NotFound(Reason.UNREADABLE_IMAGE, "the webhook is shutting down")
    error = task.exception()
    if error is not None:
        return _fault(error)
    result = task.result()
    return result if isinstance(result, NotFound) else result.answer(mounted=image.mounted)


def _late(seconds: float) -> NotFound:
    return NotFound(Reason.DEADLINE, f"the registry has not answered within {seconds:.1f} s")


def _fault(error: BaseException) -> NotFound:
    return NotFound(Reason.UNREADABLE_IMAGE, f"internal error ({type(error).__name__})")
