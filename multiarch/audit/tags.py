"""Tags that look like versions: which are of the same shape, and which is newer.

A tag is a name that anybody may move. What its numbers say decides only which tags are looked at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from multiarch.registry.reference import is_tag

_VERSION = re.compile(r"(?P<prefix>(?:[A-Za-z][A-Za-z_-]*)?)(?P<numbers>\d+(?:\.\d+)*)(?P<suffix>(?:[-_.][\w.-]*)?)")
_COMMIT = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{7,64}")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Version:
    """A tag's numbers and what stands between them.

    ``shape`` is the tag with ``#`` in place of each number: ``1.27.3-alpine3.20`` has ``#.#.#-alpine#.#``.
    ``numbers`` are all of them, in their order.
    """

    tag: str
    shape: str
    numbers: tuple[int, ...]


def version_of(tag: str) -> Version | None:
    """Read a tag such as ``1.27``, ``v2.4.0``, ``1.27.3-alpine3.20`` or ``release-14-r2``.

    ``None`` for one without an order: a word such as ``latest``, or a commit.
    """
    if not is_tag(tag) or _COMMIT.fullmatch(tag) or not _VERSION.fullmatch(tag):
        return None
    return Version(tag, _DIGITS.sub("#", tag), tuple(int(each) for each in _DIGITS.findall(tag)))


def alike(version: Version, tags: Iterable[str]) -> list[str]:
    """Those of ``tags`` that have the version's shape, newest first: by their numbers, the first counts most."""
    found = [other for tag in tags if (other := version_of(tag)) is not None and other.shape == version.shape]
    return [each.tag for each in sorted(found, key=lambda each: (each.numbers, each.tag), reverse=True)]
