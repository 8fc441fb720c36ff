"""Which of the images in use run on which architecture: one row per image, with its users."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.observed.workloads import ImageUse

NO_IMAGE = "(none)"


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One image as it is written, its verdict per architecture, and what uses it.

    An image that is run and mounted has two rows where that makes a difference.
    """

    image: str
    judgements: tuple[Judgement, ...]
    uses: tuple[ImageUse, ...]

    def judged(self, architecture: Architecture) -> Judgement:
        """Return the judgement of one architecture. Raises StopIteration for one that was not looked up."""
        return next(each for each in self.judgements if each.architecture is architecture)

    @property
    def worst(self) -> Verdict:
        """``unsupported`` if any architecture is, else ``unknown`` if any is, else ``supported``."""
        found = {each.verdict for each in self.judgements}
        return next(each for each in (Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.SUPPORTED) if each in found)


@dataclass(frozen=True, slots=True)
class ImageVerdicts:
    """All images in use, sorted by name."""

    architectures: tuple[Architecture, ...]
    rows: tuple[ImageRow, ...]

    def by_use(self) -> dict[tuple[str, str, bool], ImageRow]:
        """Return the row of every use, by :attr:`ImageUse.question`."""
        return {use.question: row for row in self.rows for use in row.uses}

    def count(self, verdict: Verdict) -> int:
        """Count the images that have ``verdict`` as their worst."""
        return sum(row.worst is verdict for row in self.rows)

    def has(self, verdict: str) -> bool:
        """Return whether any image has the verdict of this name for any architecture."""
        return any(each.verdict == verdict for row in self.rows for each in row.judgements)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest tag of an image's repository that has an architecture.

    ``image`` is the name to use instead, ``None`` where none was found.

    ``why`` is a clause: how it compares with the one in use, or why none was found. ``looked_up`` counts look-ups.
    """

    image: str | None
    why: str
    looked_up: int = 0
