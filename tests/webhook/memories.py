"""Verdicts, and images that are remembered without querying a registry."""

from __future__ import annotations

import hashlib
import time

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.webhook.images.fetching import Verdicts
from multiarch.webhook.images.look_ups import LookUps, _RememberedImage


def verdicts(*supported: Architecture, why: str = "index has linux/{0}") -> Verdicts:
    """What an index with these architectures supports."""
    judgements = tuple(
        Judgement(each, Verdict.SUPPORTED if each in supported else Verdict.UNSUPPORTED, why.format(each), None)
        for each in Architecture
    )
    return Verdicts(judgements, judgements)


VERDICTS = (verdicts(*Architecture), verdicts(Architecture.AMD64), verdicts(Architecture.ARM64))


def digest(number: int) -> str:
    return f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"


def remember(look_ups: LookUps, name: str, number: int, found: Verdicts) -> None:
    """As after a look-up: of a tag that is fresh for a day."""
    now = time.monotonic()
    entry = _RememberedImage(found, now + 2e5 + number, now + 1e5 + number, digest(number))
    look_ups._entries[name] = entry  # noqa: SLF001 (a registry with so many images takes too long)
