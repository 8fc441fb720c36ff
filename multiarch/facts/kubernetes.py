"""Kubernetes minors on EKS: until when each is supported, and what depends on it.

Source: EKS user guide, "Understand the Kubernetes version lifecycle on EKS" (release calendar): 14 months
of standard support, then 12 of extended support at a higher price per cluster hour, then EKS upgrades by itself.
A tier ends at 00:00 UTC of its date: that day already counts, and is billed, as the next tier.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from multiarch.errors import UnknownFactError
from multiarch.frozen import dataclass

Tier = Literal["standard", "extended", "unsupported", "unconfirmed"]

DEFAULT_VERSION = "1.35"
"""The default of new stacks: the newest minor with confirmed dates."""
LAST_AL2_VERSION = "1.32"
"""The last minor for which Amazon Linux 2 images exist."""
AL2_IMAGES_END = date(2025, 11, 26)
"""From this day on AWS publishes no new Amazon Linux 2 EKS images, for any minor."""
AL2_END = date(2026, 6, 30)
"""End of life of Amazon Linux 2 itself."""


@dataclass(frozen=True, slots=True)
class Release:
    """One row of the calendar. ``None`` where AWS's date is not confirmed.

    ``autoscaler_image`` is the newest patch of the cluster autoscaler that was seen as a published image; each minor of
    it is built for one of Kubernetes. ``karpenter`` is the oldest release that works with the minor.
    Sources: releases of kubernetes/autoscaler as of August 2026; https://karpenter.sh/v1.14/upgrading/compatibility/.
    """

    version: str
    standard_ends: date | None
    extended_ends: date | None
    autoscaler_image: str
    karpenter: str


@dataclass(frozen=True, slots=True)
class SupportStatus:
    """A minor's support on one day.

    ``ends`` is the end of ``tier``; for ``unsupported`` it is the day support ended; ``None`` for ``unconfirmed``.
    """

    version: str
    tier: Tier
    ends: date | None


RELEASES: tuple[Release, ...] = (
    # The objects are of karpenter.sh/v1, which 1.0 brought; Kubernetes 1.29 and 1.30 would take older ones still.
    Release("1.29", date(2025, 3, 23), date(2026, 3, 23), "v1.29.5", "1.0"),
    Release("1.30", date(2025, 7, 23), date(2026, 7, 23), "v1.30.7", "1.0"),
    Release("1.31", date(2025, 11, 26), date(2026, 11, 26), "v1.31.5", "1.0.5"),
    Release("1.32", date(2026, 3, 23), date(2027, 3, 23), "v1.32.7", "1.2"),
    Release("1.33", date(2026, 7, 29), date(2027, 7, 29), "v1.33.6", "1.5"),
    Release("1.34", date(2026, 12, 2), date(2027, 12, 2), "v1.34.5", "1.6"),
    Release("1.35", date(2027, 3, 27), date(2028, 3, 27), "v1.35.2", "1.9"),
    # Images are published; the calendar's row was not confirmed when this was written.
    Release("1.36", None, None, "v1.36.1", "1.13"),
)
"""Oldest first."""

_BY_VERSION = {release.version: release for release in RELEASES}
_MINOR = re.compile(r"([1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)


def list_versions() -> tuple[str, ...]:
    """Return every minor in the calendar, oldest first, the unsupported ones included."""
    return tuple(_BY_VERSION)


def parse_version(version: str) -> tuple[int, int]:
    """Turn ``"1.35"`` into ``(1, 35)``, for comparing.

    Raises :class:`UnknownFactError` for anything but MAJOR.MINOR: ``v1.35``, ``1.35.2``, ``1``.
    """
    match = _MINOR.fullmatch(version)
    if match is None:
        raise UnknownFactError("Kubernetes minor version", version, hint="Write MAJOR.MINOR, for example '1.35'.")
    return int(match[1]), int(match[2])


def get_release(version: str) -> Release:
    """Return the row of a minor.

    Raises :class:`UnknownFactError` for a minor that is not in the calendar; a one-digit minor such as ``1.3``
    gets the hint that unquoted YAML ``1.30`` is the number 1.3.
    """
    if version not in _BY_VERSION:
        raise UnknownFactError("Kubernetes version on EKS", version, hint=_hint(version))
    return _BY_VERSION[version]


def get_support_status(version: str, today: date) -> SupportStatus:
    """Say how EKS supports a minor on ``today`` (a UTC date). The day a tier ends belongs to the next one.

    Raises :class:`UnknownFactError` as :func:`get_release`.
    """
    release = get_release(version)
    if release.standard_ends is None or release.extended_ends is None:
        return SupportStatus(version, "unconfirmed", None)
    if today < release.standard_ends:
        return SupportStatus(version, "standard", release.standard_ends)
    if today < release.extended_ends:
        return SupportStatus(version, "extended", release.extended_ends)
    return SupportStatus(version, "unsupported", release.extended_ends)


def find_successor(today: date) -> str | None:
    """Return the minor that replaces an unsupported one: the default, or the newest supported on ``today``.

    None if the calendar has none: it is older than the support of all its minors.
    """
    names = [DEFAULT_VERSION, *(release.version for release in reversed(RELEASES))]
    return next((name for name in names if get_support_status(name, today).tier in {"standard", "extended"}), None)


def _hint(version: str) -> str:
    known = f"Known are {', '.join(list_versions())}."
    if f"{version}0" in _BY_VERSION:
        return f"Write '{version}0' in quotes: unquoted, YAML reads {version}0 as the number {version}. {known}"
    plain = re.match(r"v?(1\.[0-9]+)", version.strip(), re.ASCII)
    if plain and plain[1] in _BY_VERSION:
        return f"Write '{plain[1]}': EKS takes only the minor."
    return known


def supports_al2(version: str) -> bool:
    """Return whether Amazon Linux 2 images exist for a minor (up to 1.32). Raises as :func:`parse_version`."""
    return parse_version(version) <= parse_version(LAST_AL2_VERSION)
