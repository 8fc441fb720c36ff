"""The newest tag of an image's repository that supports an architecture: looked up, never guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multiarch.audit.tags import alike, version_of
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Verdict
from multiarch.images.verdict import verdicts
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import Registry
from multiarch.registry.reference import Reference

LOOK_UPS = 10
"""Tags of one repository that are looked up at most."""
_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Newest:
    """The result of a search. ``image`` is the name to use instead, ``None`` where none was found.

    ``why`` is a clause: how it compares with the one in use, or why none was found. ``tried`` counts look-ups.
    """

    image: str | None
    why: str
    tried: int = 0


async def newest_tags(
    registry: Registry,
    references: Sequence[Reference],
    architecture: Architecture,
    *,
    look_ups: int = LOOK_UPS,
    looked_up: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[Reference, Newest]:
    """Search for each reference. Nothing is raised for one whose tags can't be listed.

    ``look_ups`` bounds the tags of a repository that are asked for; with 0 nothing is asked.
    """
    wanted = sorted(set(references))
    found: dict[Reference, Newest] = {}
    waiting = iter(wanted)

    async def work() -> None:
        for reference in waiting:
            found[reference] = await newest_tag(registry, reference, architecture, look_ups=look_ups)
            looked_up(len(found), len(wanted))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_AT_ONCE, len(wanted))):
            group.create_task(work())
    return found


async def newest_tag(
    registry: Registry, reference: Reference, architecture: Architecture, *, look_ups: int = LOOK_UPS
) -> Newest:
    """Find the newest tag of the same format whose verdict is ``supported``, one after the other from the newest on."""
    if look_ups == 0:
        return Newest(None, "no other tags were looked up")
    if reference.tag is None:
        return Newest(None, "it has a digest and no tag to compare others with")
    version = version_of(reference.tag)
    if version is None:
        return Newest(None, f"its tag {reference.tag} is not a version, so newer tags can't be recognized")
    try:
        listed = await registry.tags(reference)
    except RegistryError as error:
        return Newest(None, f"its tags can't be listed: {error.message.rstrip('.')}")
    # A tag beside a digest may have moved on to an image that has the architecture.
    like = [tag for tag in alike(version, listed) if tag != reference.tag or reference.digest is not None]
    unread = 0
    for tried, tag in enumerate(like[:look_ups], start=1):
        other = Reference(reference.registry, reference.repository, tag, None)
        (judgement,) = await verdicts(registry, other, (architecture,))
        if judgement.verdict is Verdict.SUPPORTED:
            return Newest(other.familiar, _compared(tag, reference.tag, like), tried)
        unread += judgement.verdict is Verdict.UNKNOWN
    return Newest(None, _none(architecture, reference.tag, len(like), look_ups, unread), min(len(like), look_ups))


def _compared(tag: str, used: str, like: Sequence[str]) -> str:
    if tag == used:
        return "the same tag, which points to another image now"
    newer, older = version_of(tag), version_of(used)
    if newer is not None and older is not None and newer.numbers < older.numbers:
        return f"older than {used}"
    return "the newest in its format" if tag == like[0] else f"newer than {used}"


def _none(architecture: Architecture, used: str, like: int, look_ups: int, unread: int) -> str:
    if like == 0:
        return f"no other tag has the format of {used}"
    doubt = f" ({unread} can't be read)" if unread else ""
    if like > look_ups:
        return f"none of the {look_ups} newest of {like} tags like {used} is known to support {architecture}{doubt}"
    which = "the one other tag" if like == 1 else f"none of the {like} other tags"
    known = "is not known to support" if like == 1 else "is known to support"
    return f"{which} like {used} {known} {architecture}{doubt}"
