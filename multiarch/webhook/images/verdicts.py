"""The verdict of one digest: an answer for images that are run, and one for images that are mounted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Entry, EntryKind, Inspected, Verdict
from multiarch.images.verdict import judge, judge_volume
from multiarch.webhook.model import Answer, Found


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one digest supports. ``lasting``: all of it was read, so it holds as long as the digest does."""

    run: Found
    mounted: Found
    lasting: bool = True

    def answer(self, *, mounted: bool) -> Answer:
        """The answer for a container's image, or a volume's."""
        return self.mounted if mounted else self.run


def verdicts_of(inspected: Inspected, architectures: Sequence[Architecture]) -> Verdicts:
    """Judge an image for each architecture, in the order given; pure.

    The digests of the judgements are omitted: no decision needs them, and without them most images share one answer.
    """
    run = Found(tuple(replace(judge(inspected, each), digest=None) for each in architectures))
    mounted = Found(tuple(replace(judge_volume(inspected, each), digest=None) for each in architectures))
    unknown = any(each.verdict is Verdict.UNKNOWN for each in (*run.judgements, *mounted.judgements))
    return Verdicts(run, run if mounted == run else mounted, lasting=not (unknown and _unreadable(inspected.entries)))


def _unreadable(entries: Sequence[Entry]) -> bool:
    return any(entry.kind is EntryKind.UNREADABLE or _unreadable(entry.children) for entry in entries)
