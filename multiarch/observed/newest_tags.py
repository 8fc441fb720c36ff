"""The newest tag of an image's repository that supports an architecture: looked up, never guessed.

A tag is a name that anybody may move. What its numbers say decides only which tags are looked at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Verdict
from multiarch.images.verdict import judge_architectures
from multiarch.observed.verdicts import Newest
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import Registry
from multiarch.registry.reference import Reference, is_tag

LOOK_UPS = 10
"""Maximum number of tags of one repository that are looked up."""
_VERSION = re.compile(r"(?P<prefix>(?:[A-Za-z][A-Za-z_-]*)?)(?P<numbers>\d+(?:\.\d+)*)(?P<suffix>(?:[-_.][\w.-]*)?)")
_COMMIT = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{7,64}")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class TagVersion:
    """A tag's numbers and what stands between them.

    ``shape`` is the tag with ``#`` in place of each number: ``1.27.3-alpine3.20`` has ``#.#.#-alpine#.#``.
    ``numbers`` are all of them, in their order.
    """

    tag: str
    shape: str
    numbers: tuple[int, ...]


def parse_version(tag: str) -> TagVersion | None:
    """Read a tag such as ``1.27``, ``v2.4.0``, ``1.27.3-alpine3.20`` or ``release-14-r2``.

    ``None`` for one without an order: a word such as ``latest``, or a commit.
    """
    if not is_tag(tag) or _COMMIT.fullmatch(tag) or not _VERSION.fullmatch(tag):
        return None
    return TagVersion(tag, _DIGITS.sub("#", tag), tuple(int(each) for each in _DIGITS.findall(tag)))


def sort_same_format(version: TagVersion, tags: Iterable[str]) -> list[str]:
    """Return those of ``tags`` that have the version's shape, newest first: by their numbers, the first counts most."""
    found = [other for tag in tags if (other := parse_version(tag)) is not None and other.shape == version.shape]
    return [each.tag for each in sorted(found, key=lambda each: (each.numbers, each.tag), reverse=True)]


async def find_newest_tag(
    registry: Registry, reference: Reference, architecture: Architecture, *, look_ups: int = LOOK_UPS
) -> Newest:
    """Find the newest tag of the same format whose verdict is ``supported``, one after the other from the newest on.

    ``look_ups`` is the maximum number of tags that are looked up. Nothing is raised if the tags can't be listed.
    """
    if reference.tag is None:
        return Newest(None, "it has a digest and no tag to compare others with")
    version = parse_version(reference.tag)
    if version is None:
        return Newest(None, f"its tag {reference.tag} is not a version, so newer tags can't be recognized")
    try:
        listed = await registry.tags(reference)
    except RegistryError as error:
        return Newest(None, f"its tags can't be listed: {error.message.rstrip('.')}")
    # A tag beside a digest may have moved on to an image that has the architecture.
    like = [tag for tag in sort_same_format(version, listed) if tag != reference.tag or reference.digest is not None]
    unread = 0
    for tried, tag in enumerate(like[:look_ups], start=1):
        other = Reference(reference.registry, reference.repository, tag, None)
        (judgement,) = await judge_architectures(registry, other, (architecture,))
        if judgement.verdict is Verdict.SUPPORTED:
            return Newest(other.familiar, _compared(tag, reference.tag, like), tried)
        unread += judgement.verdict is Verdict.UNKNOWN
    return Newest(None, _none(architecture, reference.tag, len(like), look_ups, unread), min(len(like), look_ups))


def _compared(tag: str, used: str, like: Sequence[str]) -> str:
    if tag == used:
        return "the same tag, which points to another image now"
    newer, older = parse_version(tag), parse_version(used)
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
