"""Which permissions are new: the set difference of grants, whose fields wildcards may cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from ipaddress import IPv4Network, IPv6Network

from multiarch.observed.resources.iam_documents import ALLOW, DENY, EXCEPT
from multiarch.observed.resources.properties import HIDDEN, LATER
from multiarch.rules import Risk

UNREAD = "Unread"
Field = str | range | IPv4Network | IPv6Network
_MAXIMUM_PAIRS = 1_000_000


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission or denial, or what can't be read. Every source of permissions is read as such.

    Strings may have the wildcards ``*`` and ``?``; ``principal`` is as people write it (``service ec2.amazonaws.com``,
    ``10.0.0.0/8``). A field that a source does not have is empty. ``condition`` is JSON with sorted keys; ``risk`` is
    that of getting the grant.
    """

    action: str
    resource: Field = ""
    principal: Field = ""
    condition: str = ""
    effect: str = ALLOW
    risk: Risk = field(default=Risk.HIGH, compare=False)


def find_new_grants(before: Sequence[Grant], after: Sequence[Grant]) -> dict[Grant, Grant | None]:
    """Return what ``after`` allows and ``before`` does not, then what ``before`` denies and ``after`` does not.

    A grant counts as there if a single other one covers it. Each has the one that covers it apart from its condition,
    if any. Raises ValueError for too many to be compared.
    """
    # A value that is not known is new in any case.
    known = [each for each in before if not (LATER in each.action or HIDDEN in each.action)]
    return dict(
        pair
        for grants, covers, effect in ((after, known, ALLOW), (after, known, UNREAD), (before, after, DENY))
        for pair in _subtract(grants, covers, effect)
    )


def _subtract(grants: Sequence[Grant], covers: Sequence[Grant], effect: str) -> Iterator[tuple[Grant, Grant | None]]:
    known = dict.fromkeys(each for each in covers if each.effect == effect)
    unknown = [each for each in dict.fromkeys(grants) if each.effect == effect and each not in known]
    if len(unknown) * len(known) > _MAXIMUM_PAIRS:
        raise ValueError("too many permissions to be compared; read them")
    for each in unknown:
        alike = [cover for cover in known if _covers(cover, each)]
        if all(cover.condition not in {"", each.condition} for cover in alike):
            yield each, next(iter(alike), None)


def _covers(cover: Grant, grant: Grant) -> bool:
    """Return whether a grant covers another one apart from their conditions."""
    return (
        _covers_field(cover.resource, grant.resource)
        and _covers_field(cover.action.lower(), grant.action.lower())
        and _covers_field(cover.principal, grant.principal)
    )


def _covers_field(cover: Field, value: Field) -> bool:
    """Return whether every value that ``value`` stands for is one that ``cover`` stands for; False if in doubt."""
    if cover == "*" or cover == value:  # noqa: PLR1714  (hashing a network takes much longer)
        return True
    if isinstance(cover, range) and isinstance(value, range):
        return cover.start <= value.start and value.stop <= cover.stop
    if isinstance(cover, IPv4Network | IPv6Network) and isinstance(value, IPv4Network | IPv6Network):
        return cover.prefixlen <= value.prefixlen and value.network_address in cover
    if not isinstance(cover, str) or not isinstance(value, str) or EXCEPT in cover + value:
        return False
    return fnmatchcase(value, cover.replace("[", "[[]").replace("?", "[!*]"))  # policies have no classes of characters
