"""The ``WWW-Authenticate`` header of a 401 response.

Source: RFC 9110, section 11.6.1; https://distribution.github.io/distribution/spec/auth/token/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_PART = re.compile(
    r"""(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+)))?"""
)
_LONGEST = 8192
"""Characters that are read of all headers together."""


@dataclass(slots=True)
class Challenge:
    """One challenge: ``scheme`` in lower case (``bearer``, ``basic``) and its parameters."""

    scheme: str
    parameters: dict[str, str] = field(default_factory=dict)


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Read the challenges of all ``WWW-Authenticate`` headers; invalid ones are skipped."""
    found: list[Challenge] = []
    left = _LONGEST
    for header in headers:
        for match in _PART.finditer(header[:left]):
            name = match["name"].lower()
            value = match["plain"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
            if value is None:
                found.append(Challenge(name))
            elif found:
                found[-1].parameters.setdefault(name, value)
        left = max(0, left - len(header))
    return found


def strongest(challenges: Iterable[Challenge]) -> Challenge | None:
    """The challenge to answer: Bearer with a realm before Basic; None if there is neither."""
    by_scheme: dict[str, Challenge] = {}
    for challenge in challenges:
        by_scheme.setdefault(challenge.scheme, challenge)
    bearer = by_scheme.get("bearer")
    if bearer is not None and bearer.parameters.get("realm"):
        return bearer
    return by_scheme.get("basic")
