"""Remembered images, in few bytes: 100,000 of them fit into the default of 64 MiB.

Tags and digests of one image share its verdict, and verdicts that say the same share their texts. An ``OrderedDict``
holds the order of use: the tables of cachetools take three times its memory and time.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from sys import getsizeof

from multiarch.webhook.images.verdicts import Verdicts
from multiarch.webhook.model import NotFound, PullSecretNames

Key = str | tuple[str, PullSecretNames]
"""An image as it is named, with the pull secrets that it is read with where there are any."""

_SLOT = 128
"""Bytes of an entry in the ordered table: its slots at the table's usual load, and its place in the order."""
_DIGEST_SLOT = 64
"""Bytes of an entry in the table of digests."""
_SECRETS = 64
"""Bytes of a key's tuple. The names of the secrets are shared by all keys that have them."""
_OBJECT, _TIME = 64, 24
"""Bytes of a small object, and of a float."""


class Digest:
    """A digest, as bytes (their number tells the algorithm), its verdicts, and how many images have it."""

    __slots__ = ("images", "raw", "verdicts")

    def __init__(self, raw: bytes, verdicts: Verdicts) -> None:
        """No image has it yet."""
        self.raw = raw
        self.verdicts = verdicts
        self.images = 0

    @property
    def size(self) -> int:
        """Estimated bytes, with its place in the table of digests."""
        return _DIGEST_SLOT + _OBJECT + getsizeof(self.raw)


class Remembered:
    """An image that was read: its digest, and when the registry said so (monotonic seconds; infinite for a digest)."""

    __slots__ = ("checked", "digest")

    def __init__(self, digest: Digest, checked: float) -> None:
        """``checked`` is monotonic."""
        self.digest = digest
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
        self._digests: dict[bytes, Digest] = {}
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
        found = self._digests.get(raw_digest(digest))
        return None if found is None else found.verdicts

    def keep(self, key: Key, digest: str, verdicts: Verdicts, checked: float) -> None:
        """Remember an image. Drops what was not used for the longest time, where the room does not suffice."""
        self.forget(key)
        raw = raw_digest(digest)
        known = self._digests.get(raw)
        if known is None:
            known = self._digests[raw] = Digest(raw, self._interned(verdicts))
            self.used += known.size
        known.images += 1
        self._put(key, Remembered(known, checked))

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
        digest = value.digest
        digest.images -= 1
        if not digest.images:
            del self._digests[digest.raw]
            self.used -= digest.size
            shared = self._texts[digest.verdicts]
            shared.digests -= 1
            if not shared.digests:
                del self._texts[digest.verdicts]
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
        return _SLOT + name + _OBJECT + _TIME
    texts = getsizeof(value.answer.text) if isinstance(value.answer, NotFound) else _Shared(value.answer).size
    return _SLOT + name + 2 * _OBJECT + _TIME + texts


def raw_digest(digest: str) -> bytes:
    """The bytes of a valid digest."""
    return bytes.fromhex(digest.partition(":")[2])
