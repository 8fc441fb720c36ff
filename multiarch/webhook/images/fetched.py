"""The results of one look-up."""

from __future__ import annotations

from dataclasses import dataclass

from multiarch.webhook.images.verdicts import Verdicts
from multiarch.webhook.model import NotFound


@dataclass(frozen=True, slots=True)
class Fetched:
    """An image was read: its digest, its verdicts, and how many seconds ago the registry said so."""

    digest: str
    verdicts: Verdicts
    age: float = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An image could not be read. ``gone``: the registry says that it does not exist.

    ``retry_after`` are the seconds that the registry asks to wait.
    """

    answer: NotFound
    gone: bool = False
    retry_after: float = 0.0
