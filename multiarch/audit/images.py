"""Which of the images in use run on which architecture: one row per image, with its users."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from multiarch.audit.uses import ImageUse
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.images.verdict import judge, judge_volume, verdicts
from multiarch.registry.model import Registry
from multiarch.registry.reference import InvalidReferenceError, Reference, parse_reference

_AT_ONCE = 128
"""Images that are looked up at the same time. What goes to one registry at a time is the client's to bound."""
NO_IMAGE = "(none)"
_NO_IMAGE_REASON = "it has no image; a controller or webhook fills it in"
_Asked = tuple[Reference, bool]
"""An image, and whether it is mounted as a volume instead of run."""


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One image as it is written, its verdict per architecture, and what uses it.

    An image that is run and mounted has two rows where that makes a difference.
    """

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

    def by_use(self) -> dict[tuple[str, str, bool], tuple[Judgement, ...]]:
        """The judgements for every use, by :attr:`ImageUse.asked`."""
        return {use.asked: row.judgements for row in self.rows for use in row.uses}

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
    asked: dict[tuple[str, str, bool], list[ImageUse]] = {}
    for use in uses:
        asked.setdefault(use.asked, []).append(use)
    parsed = {each: _parsed(*each) for each in asked}
    wanted = sorted({found for found in parsed.values() if not isinstance(found, str)})
    judged = await _judged(registry, wanted, tuple(architectures), looked_up)
    rows: dict[tuple[str, tuple[Judgement, ...]], list[ImageUse]] = {}
    for each, users in asked.items():
        key = each[0] or NO_IMAGE, _judgements(parsed[each], judged, architectures)
        rows.setdefault(key, []).extend(users)
    made = (ImageRow(image, judgements, tuple(users)) for (image, judgements), users in rows.items())
    return ImageAudit(tuple(architectures), tuple(sorted(made, key=lambda row: (row.image, row.uses[0].asked))))


def _parsed(image: str, fault: str, mounted: bool) -> _Asked | str:  # noqa: FBT001 # the parts of ImageUse.asked
    """What to look up, or what is wrong with the image."""
    if fault:
        return fault
    if not image:
        return _NO_IMAGE_REASON
    try:
        return parse_reference(image), mounted
    except InvalidReferenceError as error:
        return str(error)


def _judgements(
    parsed: _Asked | str, judged: Mapping[_Asked, tuple[Judgement, ...]], architectures: Sequence[Architecture]
) -> tuple[Judgement, ...]:
    if not isinstance(parsed, str):
        return judged[parsed]
    return tuple(Judgement(architecture, Verdict.UNKNOWN, parsed, None) for architecture in architectures)


async def _judged(
    registry: Registry,
    wanted: Sequence[_Asked],
    architectures: tuple[Architecture, ...],
    looked_up: Callable[[int, int], None],
) -> dict[_Asked, tuple[Judgement, ...]]:
    found: dict[_Asked, tuple[Judgement, ...]] = {}
    waiting = iter(wanted)

    async def work() -> None:
        # Workers share one iterator, so that a thousand images do not make a thousand tasks.
        for reference, mounted in waiting:
            rule = judge_volume if mounted else judge
            found[reference, mounted] = await verdicts(registry, reference, architectures, rule)
            looked_up(len(found), len(wanted))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_AT_ONCE, len(wanted))):
            group.create_task(work())
    return found
