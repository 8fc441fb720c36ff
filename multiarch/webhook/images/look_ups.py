"""Finds out which architectures images support: from memory, or from registries.

One look-up serves all pods that wait for its image, and goes on when their deadline has passed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from cachetools import LRUCache

from multiarch.facts.architectures import Architecture
from multiarch.registry.errors import RegistryReason
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference
from multiarch.registry.settings import MIB
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.clients import RegistryClients, build_settings, load_credentials, read_cluster_secrets
from multiarch.webhook.images.fetching import ImageFailure, Verdicts, fetch_verdicts
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.model import NO_SECRETS, Answer, DecisionReason, NotFound, PodImage, PullSecretNames

REFRESHES = 16
"""Tags that are checked in the background at the same time. Others are checked when they are used again."""
LONGEST_PAUSE = 3600.0
"""Maximum seconds that a registry may demand until it is queried again."""
ENTRY_BYTES = 512
"""Memory of a remembered image with a usual name: its entry, its place in the cache, and its digest."""
_VERDICTS = 4096
"""Different verdicts that are shared by the images that have them: most images say the same."""

_Key = str | tuple[str, PullSecretNames]
"""An image as a pod names it, with the pull secrets that it is read with where there are any."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _RememberedImage:
    """A remembered image, until ``until``; from ``stale`` on, its tag is checked in the background. Monotonic seconds.

    ``digest`` is empty for a failure, and for an image that was read in part.
    """

    answer: Verdicts | NotFound
    until: float
    stale: float = math.inf
    digest: str = ""


@dataclass(slots=True, eq=False)
class _LookUp:
    """A look-up under way."""

    task: asyncio.Task[Verdicts | NotFound]
    began: float


class LookUps:
    """Implements ``multiarch.webhook.model.Images``. Use it with ``async with``, in one event loop.

    Leaving it ends look-ups that are under way.
    """

    def __init__(
        self,
        clients: RegistryClients,
        configuration: WebhookConfiguration,
        clock: Callable[[], float] = time.monotonic,
        metrics: Metrics | None = None,
    ) -> None:
        """Query no registry yet. ``clock`` counts seconds."""
        cache = configuration.cache
        self._clients = clients
        self._clock = clock
        self._fresh = float(cache.fresh_seconds)
        self._believed = self._fresh + cache.stale_seconds
        self._pause = float(cache.failure_seconds)
        self._maximum = configuration.limits.look_ups
        self._entries: LRUCache[_Key, _RememberedImage] = LRUCache(max(1, cache.memory_mib * MIB // ENTRY_BYTES))
        self._verdicts: LRUCache[Verdicts, Verdicts] = LRUCache(_VERDICTS)
        self.metrics = metrics or Metrics()
        self._architectures = tuple(map(Architecture, configuration.architectures))
        self._under_way: dict[_Key, _LookUp] = {}
        self._busy: Counter[str] = Counter()
        """Look-ups under way for reviews, by registry; with an empty name, those that check a tag."""
        self._closed = False
        self.metrics.watch_look_ups(
            lambda: len(self._entries), lambda: len(self._under_way), int(self._entries.maxsize), ENTRY_BYTES
        )

    @classmethod
    def from_configuration(cls, configuration: WebhookConfiguration, metrics: Metrics | None = None) -> Self:
        """Return look-ups as configured. Raises MultiarchError for what is not valid, or can't be read."""
        registries = configuration.registries
        secrets = read_cluster_secrets if registries.pull_secrets else None
        clients = RegistryClients(build_settings(configuration), load_credentials(registries), secrets)
        return cls(clients, configuration, metrics=metrics)

    async def __aenter__(self) -> Self:
        """Open the clients."""
        await self._clients.__aenter__()
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
        await self._clients.__aexit__(kind, error, trace)

    def known(self, image: PodImage, secrets: PullSecretNames = NO_SECRETS) -> Answer | None:
        """Return what is remembered, or None. See ``Images.known``."""
        name, mounted = image
        key = (name, secrets) if secrets.names else name
        entry, now = self._entries.get(key), self._clock()
        if entry is None or now >= entry.until:
            return None
        if now >= entry.stale:
            self.metrics.stale()
            self._refresh(key, entry)
        else:
            self.metrics.hit()
        return _answer_for(entry.answer, mounted=mounted)

    async def look_up(
        self, images: Collection[PodImage], secrets: PullSecretNames = NO_SECRETS, *, seconds: float
    ) -> Mapping[PodImage, Answer]:
        """Look all images up at the same time. See ``Images.look_up``."""
        answers: dict[PodImage, Answer] = {}
        waiting: dict[PodImage, _LookUp] = {}
        for image in images:
            found = self.known(image, secrets) or self._join(image.image, secrets, seconds)
            if isinstance(found, _LookUp):
                waiting[image] = found
            else:
                answers[image] = found
        if waiting:
            await asyncio.wait({each.task for each in waiting.values()}, timeout=seconds)
        return answers | {image: _answer(each, image, seconds) for image, each in waiting.items()}

    def _join(self, name: str, secrets: PullSecretNames, seconds: float) -> NotFound | _LookUp:
        """Return a look-up to wait for, or why there is none."""
        key = (name, secrets) if secrets.names else name
        self.metrics.miss()
        found = self._under_way.get(key)
        if found is not None:
            elapsed = self._clock() - found.began
            return found if elapsed < seconds else _late(elapsed)
        if self._closed:
            return NotFound(DecisionReason.UNREADABLE_IMAGE, "the webhook is shutting down")
        try:
            reference = parse_reference(name)
        except InvalidReferenceError as error:
            return NotFound(DecisionReason.UNREADABLE_IMAGE, f"the image's name is not valid: {error.fault}")
        if text := self._why_full(reference.registry):
            return NotFound(DecisionReason.TOO_MANY_LOOKUPS, text)
        return self._start(key, reference, secrets)

    def _why_full(self, registry: str) -> str:
        """Return why there is no room for another look-up. A slow registry leaves half of the room to others."""
        count = self._busy[registry]
        if count >= max(1, self._maximum // 2):
            return f"{count} images of {registry} are being looked up already (half of limits.lookUps)"
        if self._busy.total() - self._busy[""] >= self._maximum:
            return f"{self._maximum} images are being looked up already (limits.lookUps)"
        return ""

    def _refresh(self, key: _Key, entry: _RememberedImage) -> None:
        """Check a tag in the background, unless enough others are being checked."""
        if self._busy[""] >= REFRESHES or key in self._under_way or self._closed:
            return
        name, secrets = (key, NO_SECRETS) if isinstance(key, str) else key
        self._start(key, parse_reference(name), secrets, entry)

    def _start(
        self, key: _Key, reference: Reference, secrets: PullSecretNames, entry: _RememberedImage | None = None
    ) -> _LookUp:
        task = asyncio.get_running_loop().create_task(self._run(key, reference, secrets, entry))
        found = self._under_way[key] = _LookUp(task, self._clock())
        kind = reference.registry if entry is None else ""
        self._busy[kind] += 1

        def ended(_: object) -> None:
            self._busy -= Counter((kind,))  # without those that are none: anybody can name registries
            del self._under_way[key]

        task.add_done_callback(ended)
        return found

    async def _run(
        self, key: _Key, reference: Reference, secrets: PullSecretNames, entry: _RememberedImage | None
    ) -> Verdicts | NotFound:
        """Look an image up, and remember what was found."""
        self.metrics.look_ups.labels("review" if entry is None else "refresh").inc()
        known = None
        if entry is not None and not isinstance(entry.answer, NotFound):
            known = entry.digest, entry.answer
        try:
            found = await fetch_verdicts(self._clients, self._architectures, reference, secrets, known)
        except Exception as error:  # noqa: BLE001 (whatever it is, the pod is allowed)
            _log.error("looking an image up failed inside of the webhook", exc_info=error)
            found = ImageFailure(
                NotFound(DecisionReason.UNREADABLE_IMAGE, f"internal error ({type(error).__name__})"), "internal"
            )
        now = self._clock()
        if isinstance(found, ImageFailure):
            self.metrics.registry_errors.labels(found.reason.replace(" ", "-")).inc()
            pause = now + min(max(self._pause, found.retry_after), LONGEST_PAUSE)
            if entry is not None and found.reason != RegistryReason.NOT_FOUND and now < entry.until:
                entry.stale = pause
                return entry.answer
            self._entries[key] = _RememberedImage(found.answer, pause)
            return found.answer
        digest, read = found
        verdicts = self._verdicts.setdefault(read, read)
        if not verdicts.lasting:
            self._entries[key] = _RememberedImage(verdicts, now + self._pause)
        elif reference.digest is not None:
            self._entries[key] = _RememberedImage(verdicts, math.inf)
        else:
            self._entries[key] = _RememberedImage(verdicts, now + self._believed, now + self._fresh, digest)
        return verdicts


def _answer(found: _LookUp, image: PodImage, seconds: float) -> Answer:
    task = found.task
    if not task.done():
        return _late(seconds)
    if task.cancelled():
        return NotFound(DecisionReason.UNREADABLE_IMAGE, "the webhook is shutting down")
    return _answer_for(task.result(), mounted=image.mounted)


def _answer_for(found: Verdicts | NotFound, *, mounted: bool) -> Answer:
    if isinstance(found, NotFound):
        return found
    return found.mounted if mounted else found.run


def _late(seconds: float) -> NotFound:
    return NotFound(DecisionReason.DEADLINE, f"the registry has not answered within {seconds:.1f} s")
