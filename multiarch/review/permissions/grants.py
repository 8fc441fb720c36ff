"""Which permissions are new: the set difference of grants, whose fields wildcards may cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from ipaddress import IPv4Network, IPv6Network

from multiarch.rules import Risk

ALLOW, DENY, UNREAD = "Allow", "Deny", "Unread"
EXCEPT = "* except "
"""What a field begins with that is everything but some values."""
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


def find_new_grants(before: Sequence[Grant], after: Sequence[Grant]) -> list[Grant]:
    """Return what ``after`` allows and ``before`` does not, then what ``before`` denies and ``after`` does not.

    A grant counts as there if a single other one covers it. Raises ValueError for too many to be compared.
    """
    return [each for effect in (ALLOW, UNREAD) for each in _subtract(after, before, effect)] + _subtract(
        before, after, DENY
    )


def find_other_condition(grant: Grant, others: Sequence[Grant]) -> Grant | None:
    """Return the first of ``others`` that covers a grant apart from its condition."""
    bare = replace(grant, condition="")
    same = (each for each in others if each.effect == grant.effect and each.condition)
    return next((each for each in same if _covers(replace(each, condition=""), bare)), None)


def _subtract(grants: Sequence[Grant], covers: Sequence[Grant], effect: str) -> list[Grant]:
    known = {each for each in covers if each.effect == effect}
    unknown = [each for each in dict.fromkeys(grants) if each.effect == effect and each not in known]
    if len(unknown) * len(known) > _MAXIMUM_PAIRS:
        raise ValueError("too many permissions to be compared; read them")
    return [each for each in unknown if not any(_covers(cover, each) for cover in known)]


def _covers(cover: Grant, grant: Grant) -> bool:
    return (
        cover.condition in {"", grant.condition}
        and _covers_field(cover.resource, grant.resource)
        and _covers_field(cover.action.lower(), grant.action.lower())
        and _covers_field(cover.principal, grant.principal)
    )


def _covers_field(cover: Field, value: Field) -> bool:
    """Return whether every value that ``value`` stands for is one that ``cover`` stands for; False if in doubt."""
    if cover == "*" or cover == value:  # noqa: PLR1714  (hashing a network takes much longer)
        return True
    if isinstance(cover, range) and isinstance(value, range):
        return cover.start <= value.start and value.stop <= cover.stop
    if isinstance(cover, IPv4Network) and isinstance(value, IPv4Network):
        return value.subnet_of(cover)
    if isinstance(cover, IPv6Network) and isinstance(value, IPv6Network):
        return value.subnet_of(cover)
    if not isinstance(cover, str) or not isinstance(value, str) or EXCEPT in cover + value:
        return False
    return fnmatchcase(value, cover.replace("[", "[[]").replace("?", "[!*]"))  # policies have no classes of characters
