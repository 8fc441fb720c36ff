"""Remembered images, in few bytes: 100,000 of them fit into the default of 64 MiB.

Tags and digests of one image share its verdict, and verdicts that say the same share their texts. An ``OrderedDict``
holds the order of use: the tables of cachetools take three times its memory and time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from sys import getsizeof

from multiarch.webhook.images.verdicts import Verdicts
from multiarch.webhook.model import NotFound, PullSecretNames

Key = str | tuple[str, PullSecretNames]
"""An image as it is named, with the pull secrets that it is read with where there are any."""

_SLOT = 128
"""Bytes of an entry in the ordered table: its slots at the table's usual load, and its place in the order."""
_DIGEST_SLOT, _OTHERS_SLOT = 64, 160
"""Bytes of an entry in the table of digests, and in that of digests with several images."""
_SECRETS = 64
"""Bytes of a key's tuple. The names of the secrets are shared by all keys that have them."""
_OBJECT, _TIME = 64, 24
"""Bytes of a small object, and of a float."""


class Remembered:
    """An image that was read: its digest as bytes, its verdicts, and when the registry said so.

    ``checked`` are monotonic seconds, to the second; infinite for an image that is named by its digest.
    """

    __slots__ = ("checked", "digest", "verdicts")

    def __init__(self, digest: bytes, verdicts: Verdicts, checked: float) -> None:
        """``digest`` has no algorithm; the number of bytes tells it."""
        self.digest = digest
        self.verdicts = verdicts
        self.checked = checked


@dataclass(frozen=True, slots=True)
class Passing:
    """What holds until ``until`` (monotonic seconds) only: a failure, or verdicts of an image that was read in part."""

    answer: NotFound | Verdicts
    until: float


class Memory:
    """The most recently used images, up to ``limit`` bytes. For one event loop."""

    def __init__(self, limit: int) -> None:
        """Start empty."""
        self._limit = limit
        self._images: OrderedDict[Key, Remembered | Passing] = OrderedDict()
        self._digests: dict[bytes, Verdicts] = {}
        self._others: dict[bytes, int] = {}
        """How many images have a digest, besides the first."""
        self._second: float = 0
        self._texts: dict[Verdicts, _Shared] = {}
        self.used = 0
        """Estimated bytes in use."""

    def __len__(self) -> int:
        """How many images are remembered."""
        return len(self._images)

    def get(self, key: Key) -> Remembered | Passing | None:
        """What is remembered of an image; it counts as used now."""
        found = self._images.get(key)
        if found is not None:
            self._images.move_to_end(key)
        return found

    def verdicts(self, digest: str) -> Verdicts | None:
        """The verdicts of a digest that any image has, or None."""
        return self._digests.get(raw_digest(digest))

    def keep(self, key: Key, digest: str, verdicts: Verdicts, checked: float) -> None:
        """Remember an image. Drops what was not used for the longest time, where the room does not suffice."""
        self.forget(key)
        raw = raw_digest(digest)
        known = self._digests.get(raw)
        if known is None:
            known = self._digests[raw] = self._interned(verdicts)
            self.used += _DIGEST_SLOT
        else:
            others = self._others.get(raw, 0)
            self._others[raw] = others + 1
            self.used += 0 if others else _OTHERS_SLOT
        self._put(key, Remembered(raw, known, self._to_the_second(checked)))

    def keep_passing(self, key: Key, passing: Passing) -> None:
        """Remember this instead of what was known."""
        self.forget(key)
        self._put(key, passing)

    def forget(self, key: Key) -> None:
        """Drop what is remembered of an image."""
        found = self._images.pop(key, None)
        if found is not None:
            self._dropped(key, found)

    def _put(self, key: Key, value: Remembered | Passing) -> None:
        self._images[key] = value
        self.used += _size(key, value)
        while self.used > self._limit and self._images:
            self._dropped(*self._images.popitem(last=False))

    def _dropped(self, key: Key, value: Remembered | Passing) -> None:
        self.used -= _size(key, value)
        if not isinstance(value, Remembered):
            return
        others = self._others.get(value.digest, 0)
        if others > 1:
            self._others[value.digest] = others - 1
        elif others:
            del self._others[value.digest]
            self.used -= _OTHERS_SLOT
        else:
            verdicts = self._digests.pop(value.digest)
            self.used -= _DIGEST_SLOT
            self._unshare(verdicts)

    def _to_the_second(self, seconds: float) -> float:
        """The same number for all images of one second: a number of its own for each takes 32 bytes."""
        if math.isinf(seconds):
            return math.inf
        if round(seconds) != self._second:
            self._second = round(seconds)
        return self._second

    def _unshare(self, verdicts: Verdicts) -> None:
        shared = self._texts[verdicts]
        shared.digests -= 1
        if not shared.digests:
            del self._texts[verdicts]
            self.used -= shared.size

    def _interned(self, verdicts: Verdicts) -> Verdicts:
        """The same verdicts as another digest's, if it has them."""
        shared = self._texts.get(verdicts)
        if shared is None:
            shared = self._texts[verdicts] = _Shared(verdicts)
            self.used += shared.size
        shared.digests += 1
        return shared.verdicts


class _Shared:
    """Verdicts, and how many digests have the same."""

    __slots__ = ("digests", "size", "verdicts")

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.digests = 0
        answers = (verdicts.run,) if verdicts.mounted is verdicts.run else (verdicts.run, verdicts.mounted)
        judgements = [judgement for answer in answers for judgement in answer.judgements]
        self.size = 6 * _OBJECT + sum(2 * _OBJECT + getsizeof(each.reason) for each in judgements)


def _size(key: Key, value: Remembered | Passing) -> int:
    """Estimated bytes of an entry, without its digest."""
    name = getsizeof(key) if isinstance(key, str) else getsizeof(key[0]) + _SECRETS
    if isinstance(value, Remembered):
        return _SLOT + name + _OBJECT + getsizeof(value.digest)
    texts = getsizeof(value.answer.text) if isinstance(value.answer, NotFound) else _Shared(value.answer).size
    return _SLOT + name + 2 * _OBJECT + _TIME + texts


def raw_digest(digest: str) -> bytes:
    """The bytes of a valid digest."""
    return bytes.fromhex(digest.partition(":")[2])
