"""What replicas of the webhook share through a Redis or Valkey, so that one of them asks a registry for all.

A value holds as long as the tag is fresh. It is trusted as far as its form goes: who can write to the server decides
where pods run.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self, cast

import msgspec
from redis.asyncio import Redis

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.registry.errors import one_line
from multiarch.registry.reference import digest_fault
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.fetched import Fetched
from multiarch.webhook.images.memory import Key
from multiarch.webhook.images.redis_connection import RedisConnection
from multiarch.webhook.images.verdicts import Verdicts
from multiarch.webhook.model import Found

PREFIX = "multiarch-eks:webhook:1:"
"""Of every key; its number changes with the form of the values."""
DIGEST_SECONDS = 24 * 3600
"""How long the verdicts of a digest are kept."""
CLAIM_SECONDS = 5.0
"""How long a replica that looks an image up may keep the others waiting for it, unless they lose patience."""
WAIT_SECONDS = 0.5
"""The most seconds to wait for what another replica looks up."""
IMPATIENT_SECONDS = 10.0
"""After a wait that was in vain, none is made for so long."""
_POLL_SECONDS = 0.02
_VALUE_LIMIT = 16 * 1024


class _Judgement(msgspec.Struct, array_like=True, frozen=True):
    architecture: Architecture
    verdict: Verdict
    reason: Annotated[str, msgspec.Meta(max_length=2000)]


class _Value(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    digest: str
    run: tuple[_Judgement, ...]
    mounted: tuple[_Judgement, ...]


class Shared:
    """Use it with ``async with``, in one event loop. No method raises, or takes long."""

    def __init__(self, file: Path, configuration: WebhookConfiguration) -> None:
        """``file`` has the server's URL. Raises SharedCacheError."""
        self._connection = RedisConnection(file)
        self._fresh = float(configuration.cache.fresh_seconds)
        self._architectures = tuple(Architecture(each) for each in configuration.architectures)
        # What a tag points at depends on mirrors and on who may be asked.
        scope = f"{configuration.registries.model_dump_json()} {' '.join(self._architectures)}"
        self._scope = hashlib.sha256(scope.encode()).hexdigest()
        self._decoder = msgspec.json.Decoder(_Value)
        self._impatient_until = float("-inf")
        self.hits = 0
        """Images that were found."""

    async def __aenter__(self) -> Self:
        """Begin to connect."""
        await self._connection.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        await self._connection.__aexit__(kind, error, trace)

    @property
    def usable(self) -> bool:
        """Whether the server answered in time so far."""
        return self._connection.usable

    @property
    def failures(self) -> int:
        """How often the server did not answer in time, or not properly."""
        return self._connection.failures

    async def image(self, key: Key, *, newer: bool = False) -> Fetched | None:
        """What a replica found out about an image, and how long ago it asked the registry.

        ``newer``: not what is about to be stale.
        """
        name = self._name("image", key)

        async def get(redis: Redis) -> tuple[object, object]:
            async with redis.pipeline(transaction=False) as pipeline:
                pipeline.get(name)
                pipeline.pttl(name)
                value, left = await pipeline.execute()
                return value, left

        answer = await self._connection.run(get)
        if answer is None or answer[0] is None:
            return None
        found = self._decoded(answer[0])
        if found is None:
            return None
        left = min(max(answer[1] / 1000, 0.0), self._fresh) if isinstance(answer[1], int) else 0.0
        if newer and left < self._fresh / 2:
            return None
        self.hits += 1
        return Fetched(found.digest, found.verdicts, self._fresh - left)

    async def digest(self, digest: str) -> Verdicts | None:
        """The verdicts of a digest that a registry just named."""
        name = self._name("digest", digest)
        value = await self._connection.run(lambda redis: cast("Awaitable[bytes | None]", redis.get(name)))
        found = None if value is None else self._decoded(value)
        return found.verdicts if found is not None and found.digest == digest else None

    async def claim(self, key: Key) -> bool:
        """Whether this replica is to look an image up, and not another that does so already."""
        name = self._name("claim", key)
        if time.monotonic() < self._impatient_until:
            return True
        milliseconds = int(CLAIM_SECONDS * 1000)

        async def claim(redis: Redis) -> bool:
            return bool(await redis.set(name, b"1", nx=True, px=milliseconds))

        return await self._connection.run(claim) is not False

    async def awaited(self, key: Key) -> Fetched | None:
        """What the replica with the claim finds out; None if that fails, or takes too long."""
        claim = self._name("claim", key)
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            claimed = await self._connection.run(lambda redis: redis.exists(claim))
            found = await self.image(key)
            if found is not None or not claimed:
                return found
        self._impatient_until = time.monotonic() + IMPATIENT_SECONDS
        return None

    async def keep(self, key: Key, found: Fetched, *, tag: bool) -> None:
        """Tell the others, unless it is stale already, and give the claim back."""
        value = self._encoded(found)
        image, claim, digest = self._name("image", key), self._name("claim", key), self._name("digest", found.digest)
        milliseconds = int((self._fresh - found.age if tag else DIGEST_SECONDS) * 1000)

        async def put(redis: Redis) -> bool:
            async with redis.pipeline(transaction=False) as pipeline:
                if milliseconds > 0:
                    pipeline.set(image, value, px=milliseconds)
                pipeline.set(digest, value, ex=DIGEST_SECONDS)
                pipeline.delete(claim)
                await pipeline.execute()
                return True

        await self._connection.run(put)

    async def give_back(self, key: Key, *, gone: bool) -> None:
        """Give the claim back without a result; ``gone``: the image does not exist."""
        names = [self._name("claim", key), *([self._name("image", key)] if gone else [])]
        await self._connection.run(lambda redis: redis.delete(*names))

    def _name(self, kind: str, key: Key) -> str:
        """A key of the server. Hashed: it shows no names of images, and has the same length for all."""
        parts = (key,) if isinstance(key, str) else (key[0], key[1].namespace, *key[1].names)
        hashed = hashlib.sha256("\n".join((self._scope, *parts)).encode(errors="surrogatepass")).hexdigest()
        return f"{PREFIX}{kind}:{hashed[:40]}"

    def _encoded(self, found: Fetched) -> bytes:
        run, mounted = (
            tuple(_Judgement(each.architecture, each.verdict, each.reason[:2000]) for each in answer.judgements)
            for answer in (found.verdicts.run, found.verdicts.mounted)
        )
        return msgspec.json.encode(_Value(found.digest, run, mounted))

    def _decoded(self, value: object) -> Fetched | None:
        """The value, if it is valid; another is counted as a failure."""
        try:
            if not isinstance(value, bytes) or len(value) > _VALUE_LIMIT:
                raise ValueError(value)  # noqa: TRY301
            found = self._decoder.decode(value)
            if digest_fault(found.digest) is not None:
                raise ValueError(found.digest)  # noqa: TRY301
            run, mounted = self._judged(found.run), self._judged(found.mounted)
        except (ValueError, msgspec.MsgspecError):
            self._connection.distrust()
            return None
        return Fetched(found.digest, Verdicts(run, run if run == mounted else mounted))

    def _judged(self, rows: tuple[_Judgement, ...]) -> Found:
        if tuple(each.architecture for each in rows) != self._architectures:
            raise ValueError("other architectures")
        return Found(tuple(Judgement(each.architecture, each.verdict, one_line(each.reason), None) for each in rows))
