"""One look-up: query the registry, and judge what it answers."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_manifest
from multiarch.images.model import EntryKind, Inspected, Judgement, PlatformEntry, Verdict
from multiarch.images.verdict import judge_image, judge_volume
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import share_deadline
from multiarch.registry.reference import Reference
from multiarch.webhook.images.clients import RegistryClients
from multiarch.webhook.model import DecisionReason, NotFound, PullSecretNames

LOOK_UP_SECONDS = 20.0
"""Maximum seconds of one look-up. The client's own deadlines are shorter; querying AWS or a helper has none."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one digest supports: an answer where it is run, and one where it is mounted.

    ``lasting``: all of it was read, so it holds as long as the digest does.
    """

    run: tuple[Judgement, ...]
    mounted: tuple[Judgement, ...]
    lasting: bool = True


class ImageFailure(NamedTuple):
    """An image could not be read. ``reason`` is the registry's, for metrics.

    ``retry_after`` are the seconds that the registry demands to wait.
    """

    answer: NotFound
    reason: str
    retry_after: float = 0.0


async def fetch_verdicts(
    clients: RegistryClients,
    architectures: Sequence[Architecture],
    reference: Reference,
    secrets: PullSecretNames,
    known: tuple[str, Verdicts] | None = None,
) -> tuple[str, Verdicts] | ImageFailure:
    """Read an image; return its digest and verdicts. ``known`` is what was read of its tag before."""
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS), clients.client(secrets) as client:
            with share_deadline():
                if known is not None and reference.digest is None:
                    digest = await client.resolve(reference)
                    if digest == known[0]:
                        return known
                    reference = reference.at(digest)
                manifest = await client.manifest(reference)
                inspected = await inspect_manifest(client, reference, manifest)
                return manifest.digest, judge_all(inspected, architectures)
    except RegistryError as error:
        failure = await _failure(error, clients, secrets)
        _release(error)
        return failure
    except TimeoutError as error:
        _release(error)
        text = f"timed out: the look-up did not end within {LOOK_UP_SECONDS:g} s"
        return ImageFailure(NotFound(DecisionReason.UNREADABLE_IMAGE, text), RegistryReason.TIMEOUT.value)


def judge_all(inspected: Inspected, architectures: Sequence[Architecture]) -> Verdicts:
    """Judge an image for each architecture, in the order given; pure.

    The digests of the judgements are omitted: no decision needs them, and without them most images share one answer.
    """
    run = tuple(replace(judge_image(inspected, each), digest=None) for each in architectures)
    mounted = tuple(replace(judge_volume(inspected, each), digest=None) for each in architectures)
    unknown = any(each.verdict is Verdict.UNKNOWN for each in (*run, *mounted))
    return Verdicts(run, run if mounted == run else mounted, lasting=not (unknown and _unreadable(inspected.entries)))


def _unreadable(entries: Sequence[PlatformEntry]) -> bool:
    return any(entry.kind is EntryKind.UNREADABLE or _unreadable(entry.children) for entry in entries)


async def _failure(error: RegistryError, clients: RegistryClients, secrets: PullSecretNames) -> ImageFailure:
    if error.reason is RegistryReason.NOT_ALLOWED:
        # Both name the key to change.
        text = "; ".join(filter(None, (error.detail, f"{error.hint[:1].lower()}{error.hint[1:]}".rstrip("."))))
        return ImageFailure(NotFound(DecisionReason.REGISTRY_NOT_ALLOWED, text), error.reason.value)
    text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
    if error.reason is RegistryReason.DENIED and secrets.names:
        text = "; ".join((text, *(each.rstrip(".") for each in (await clients.read_secrets(secrets)).notes)))
    return ImageFailure(NotFound(DecisionReason.UNREADABLE_IMAGE, text), error.reason.value, error.retry_after or 0.0)


def _release(error: BaseException) -> None:
    """Free what the frames of an error hold: bodies of up to 1 MiB, in cycles that wait for the garbage collector."""
    left: list[BaseException | None] = [error]
    for each in left:
        if each is not None and each.__traceback__ is not None:
            traceback.clear_frames(each.__traceback__)
            each.__traceback__ = None
            left += (each.__cause__, each.__context__)
