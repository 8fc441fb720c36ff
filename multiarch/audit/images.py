"""Which of the images in use run on which architecture: one row per image, with its users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from multiarch.audit.uses import ImageUse
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.images.verdict import verdicts
from multiarch.registry.model import Registry
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference

_AT_ONCE = 128
"""Images that are looked up at the same time. What goes to one registry at a time is the client's to bound."""
NO_IMAGE = "(none)"
_NO_IMAGE_REASON = "the container has no image; a controller or webhook fills it in"


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One image as it is written, its verdict per architecture, and the containers that use it."""

    image: str
    judgements: tuple[Judgement, ...]
    uses: tuple[ImageUse, ...]

    def judged(self, architecture: Architecture) -> Judgement:
        """The judgement of one architecture. Raises StopIteration for one that was not asked for."""
        return next(each for each in self.judgements if each.architecture is architecture)

    @property
    def worst(self) -> Verdict:
        """``unsupported`` if any architecture is, else ``unknown`` if any is, else ``supported``."""
        found = {each.verdict for each in self.judgements}
        return next(each for each in (Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.SUPPORTED) if each in found)

    @property
    def next_step(self) -> str:
        """What to do, as the end of a sentence."""
        by_verdict: dict[Verdict, list[str]] = {}
        for each in self.judgements:
            by_verdict.setdefault(each.verdict, []).append(each.architecture)
        if Verdict.UNKNOWN in by_verdict:
            return (
                "check the name, the credentials and the registry, then audit again; "
                "until then leave its pods where they are."
            )
        if Verdict.UNSUPPORTED not in by_verdict:
            return (
                "if the workload's other images support arm64 too (see `multiarch audit workloads`), let its pods "
                "tolerate the taint of arm64 nodes: `multiarch workload patch --tolerate arm64`."
            )
        build = f"build it for {' and '.join(by_verdict[Verdict.UNSUPPORTED])}, or use a tag that supports it"
        if Verdict.SUPPORTED not in by_verdict:
            return f"{build}; no node can run it now."
        only = by_verdict[Verdict.SUPPORTED][0]
        return f"{build}; until then keep its pods on {only}: `multiarch workload patch --require {only}`."


@dataclass(frozen=True, slots=True)
class ImageAudit:
    """All images in use, sorted by name."""

    architectures: tuple[Architecture, ...]
    rows: tuple[ImageRow, ...]

    def count(self, verdict: Verdict) -> int:
        """How many images have ``verdict`` as their worst."""
        return sum(row.worst is verdict for row in self.rows)

    def has(self, verdict: str) -> bool:
        """Whether any image has the verdict of this name for any architecture."""
        return any(each.verdict == verdict for row in self.rows for each in row.judgements)


async def audit_images(
    registry: Registry,
    uses: Iterable[ImageUse],
    architectures: Sequence[Architecture],
    *,
    looked_up: Callable[[int, int], None] = lambda _done, _all: None,
) -> ImageAudit:
    """Judge every image once, also if many containers use it or it is written in several ways.

    ``looked_up(done, all)`` is called after each look-up, in this event loop. An image that can't be judged is
    ``unknown`` with the reason; nothing is raised for one.
    """
    by_image: dict[str, list[ImageUse]] = {}
    for use in uses:
        by_image.setdefault(use.image, []).append(use)
    parsed = {image: _parsed(image) for image in by_image}
    wanted = sorted({found for found in parsed.values() if isinstance(found, Reference)})
    judged = await _judged(registry, wanted, tuple(architectures), looked_up)
    rows = [
        ImageRow(image or NO_IMAGE, _judgements(parsed[image], judged, architectures), tuple(users))
        for image, users in by_image.items()
    ]
    return ImageAudit(tuple(architectures), tuple(sorted(rows, key=lambda row: row.image)))


def _parsed(image: str) -> Reference | str:
    """The reference, or what is wrong with it."""
    if not image:
        return _NO_IMAGE_REASON
    try:
        return parse_reference(image)
    except InvalidReferenceError as fault:
        return str(fault)


def _judgements(
    parsed: Reference | str,
    judged: Mapping[Reference, tuple[Judgement, ...]],
    architectures: Sequence[Architecture],
) -> tuple[Judgement, ...]:
    if isinstance(parsed, Reference):
        return judged[parsed]
    return tuple(Judgement(architecture, Verdict.UNKNOWN, parsed, None) for architecture in architectures)


async def _judged(
    registry: Registry,
    references: Sequence[Reference],
    architectures: tuple[Architecture, ...],
    looked_up: Callable[[int, int], None],
) -> dict[Reference, tuple[Judgement, ...]]:
    found: dict[Reference, tuple[Judgement, ...]] = {}
    waiting = iter(references)

    async def work() -> None:
        # Workers share one iterator, so that a thousand images do not make a thousand tasks.
        for reference in waiting:
            found[reference] = await verdicts(registry, reference, architectures)
            looked_up(len(found), len(references))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_AT_ONCE, len(references))):
            group.create_task(work())
    return found
