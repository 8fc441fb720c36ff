"""Conditions of policy statements, and whether a request can meet some of them and fail others.

Source: IAM user guide, "IAM JSON policy elements: Condition operators", "Multivalued context keys".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from ipaddress import ip_network
from itertools import pairwise
from math import inf
from types import MappingProxyType

from multiarch.review.permissions.effort import Effort
from multiarch.review.permissions.wildcards import Glob, Words, common, glob, within_parts

_ARN_PARTS = 6
_IF_EXISTS = "IfExists"
_NULL = "Null"
_ALL, _ANY = "ForAllValues", "ForAnyValue"


@dataclass(frozen=True, slots=True)
class Test:
    """One key of a condition: ``operator`` as written, the key in lower case, and its values.

    Two tests that are equal are met by the same requests. ``variables``: whether ``${…}`` in values is a variable.
    """

    operator: str
    key: str
    values: frozenset[str]
    variables: bool


Literal = tuple[Test, bool]
"""A test, and whether a request meets it."""


Number = int | float | Fraction


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers in ``ranges``, from the first to the last, or with ``inverted`` all others. ``whole``: integers only."""

    ranges: tuple[tuple[Number, Number], ...]
    inverted: bool = False
    whole: bool = False

    def has(self, number: Number) -> bool:
        return any(first <= number <= last for first, last in self.ranges) is not self.inverted

    def __invert__(self) -> _Numbers:
        return replace(self, inverted=not self.inverted)


_Set = Words | _Numbers


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a test asks of the values of its key. ``missing``: whether a request without the key meets it.

    ``quantifier`` is empty for keys that have one value.
    """

    family: str
    values: _Set
    quantifier: str
    missing: bool


def can_hold(literals: Iterable[Literal], effort: Effort) -> bool:
    """Whether a request can meet these tests, and fail those with False; True where that is not certain.

    Never False wrongly: keys are taken as independent of each other, and an operator that is not known, or has values
    that it can't have, as a test that may go either way. Raises TooMuchEffortError.
    """
    by_key: dict[str, list[Literal]] = defaultdict(list)
    decided: dict[Test, bool] = {}
    for test, met in literals:
        if decided.setdefault(test, met) is not met:
            return False
        by_key[test.key].append((test, met))
    return all(_key_can_hold(list(dict.fromkeys(group)), effort) for group in by_key.values())


def _key_can_hold(literals: Sequence[Literal], effort: Effort) -> bool:
    present: list[tuple[_Meaning, bool]] = []
    may_miss, may_exist = True, True
    for test, met in literals:
        if test.operator == _NULL and (null := _null(test)) is not None:
            if null is met:
                may_exist = False
            else:
                may_miss = False
        elif (meaning := _meaning(test)) is not None:
            may_miss = may_miss and meaning.missing is met
            present.append((meaning, met))
    return may_miss or (may_exist and _can_exist(present, effort))


def _can_exist(literals: Sequence[tuple[_Meaning, bool]], effort: Effort) -> bool:
    """Whether the key can have values, one or several, that meet these."""
    quantified = {bool(meaning.quantifier) for meaning, _ in literals}
    if len(quantified) > 1:
        return True  # a key has either one value or several: the policies disagree
    by_family: dict[str, list[tuple[_Meaning, bool]]] = defaultdict(list)
    for meaning, met in literals:
        by_family[meaning.family].append((meaning, met))
    solve = _several_can_exist if quantified == {True} else _one_can_exist
    return all(solve(group, effort) for group in by_family.values())


def _one_can_exist(literals: Sequence[tuple[_Meaning, bool]], effort: Effort) -> bool:
    return _share([meaning.values if met else ~meaning.values for meaning, met in literals], effort)


def _several_can_exist(literals: Sequence[tuple[_Meaning, bool]], effort: Effort) -> bool:
    """``ForAllValues`` that is met and ``ForAnyValue`` that is not speak of every value, the others of one value."""
    every: list[_Set] = []
    some: list[_Set] = []
    for meaning, met in literals:
        of_all = (meaning.quantifier == _ALL) is met
        (every if of_all else some).append(meaning.values if met else ~meaning.values)
    if not some:
        return _share(every, effort)
    return all(_share([*every, each], effort) for each in some)


def _share(sets: Sequence[_Set], effort: Effort) -> bool:
    """Whether a value is in all sets, which are of one family."""
    words = [each for each in sets if isinstance(each, Words)]
    if words:
        return common(words, effort)
    numbers = [each for each in sets if isinstance(each, _Numbers)]
    bounds = sorted({bound for each in numbers for pair in each.ranges for bound in pair if abs(bound) != inf})
    if any(each.whole for each in numbers):
        candidates = {bound + step for bound in bounds for step in (-1, 0, 1)}
    else:
        candidates = {*bounds, *((low + high) / 2 for low, high in pairwise(bounds))}
        candidates |= {bounds[0] - 1, bounds[-1] + 1} if bounds else set()
    candidates = candidates or {0}
    effort.spend(len(candidates) * sum(1 + len(each.ranges) for each in numbers))
    return any(all(each.has(candidate) for each in numbers) for candidate in sorted(candidates))


def _null(test: Test) -> bool | None:
    """Whether a ``Null`` test asks that the key is missing; None where it says neither or both."""
    return {frozenset({"true"}): True, frozenset({"false"}): False}.get(frozenset(v.lower() for v in test.values))


def _meaning(test: Test) -> _Meaning | None:
    quantifier, _, operator = test.operator.rpartition(":")
    if quantifier not in {"", _ALL, _ANY} or not test.values:
        return None
    base = operator.removesuffix(_IF_EXISTS)
    row = _OPERATORS.get(base)
    if row is None:
        return None
    family, inverted, read = row
    values = read(test)
    if values is None:
        return None
    missing = quantifier == _ALL or base != operator or (inverted and not quantifier)
    return _Meaning(family, ~values if inverted else values, quantifier, missing)


def _strings(test: Test, *, wild: bool = False, ignore_case: bool = False) -> Words:
    values = (glob(each, variables=test.variables, ignore_case=ignore_case, wild=wild) for each in test.values)
    return Words(frozenset(values))


def _like(test: Test) -> Words:
    return _strings(test, wild=True)


def _any_case(test: Test) -> Words:
    return _strings(test, ignore_case=True)


def _arns(test: Test) -> Words | None:
    """``ArnEquals`` does the same as ``ArnLike``."""
    values = [within_parts(each, _ARN_PARTS) for each in _like(test).globs]
    known: list[Glob] = [each for each in values if each is not None]
    return Words(frozenset(known)) if len(known) == len(values) else None


def _addresses(test: Test) -> _Numbers | None:
    try:
        networks = [ip_network(each, strict=False) for each in test.values]
    except ValueError:
        return None
    # IPv6 has its own numbers, far from those of IPv4.
    starts = [(int(each.network_address) + (each.version << 160), each.num_addresses) for each in networks]
    return _Numbers(tuple(sorted((start, start + count - 1) for start, count in starts)), whole=True)


def _number(text: str) -> Fraction:
    if not text.isascii() or len(text) > _LONGEST_NUMBER or "/" in text or "e" in text.lower():
        raise ValueError(text)
    return Fraction(text)


def _date(text: str) -> Fraction:
    try:
        return _number(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        return Fraction((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _compared(
    parse: Callable[[str], Fraction], region: Callable[[list[Fraction]], _Numbers]
) -> Callable[[Test], _Numbers | None]:
    """A reader for an operator that compares; a request meets it if it does so with any of the values."""

    def read(test: Test) -> _Numbers | None:
        try:
            values = sorted(parse(each) for each in test.values)
        except ValueError:
            return None
        return region(values) if values else None

    return read


_LONGEST_NUMBER = 40
_REGIONS: Mapping[str, tuple[bool, Callable[[list[Fraction]], _Numbers]]] = MappingProxyType(
    {
        "Equals": (False, lambda values: _Numbers(tuple((each, each) for each in values))),
        "NotEquals": (True, lambda values: _Numbers(tuple((each, each) for each in values))),
        "LessThan": (False, lambda values: ~_Numbers(((values[-1], inf),))),
        "LessThanEquals": (False, lambda values: _Numbers(((-inf, values[-1]),))),
        "GreaterThan": (False, lambda values: ~_Numbers(((-inf, values[0]),))),
        "GreaterThanEquals": (False, lambda values: _Numbers(((values[0], inf),))),
    }
)
_Row = tuple[str, bool, Callable[[Test], _Set | None]]
_OPERATORS: Mapping[str, _Row] = MappingProxyType(
    {
        "StringEquals": ("string", False, _strings),
        "StringNotEquals": ("string", True, _strings),
        "StringEqualsIgnoreCase": ("string", False, _any_case),
        "StringNotEqualsIgnoreCase": ("string", True, _any_case),
        "StringLike": ("string", False, _like),
        "StringNotLike": ("string", True, _like),
        "ArnEquals": ("string", False, _arns),
        "ArnNotEquals": ("string", True, _arns),
        "ArnLike": ("string", False, _arns),
        "ArnNotLike": ("string", True, _arns),
        "Bool": ("string", False, _any_case),
        "BinaryEquals": ("binary", False, _strings),
        "IpAddress": ("address", False, _addresses),
        "NotIpAddress": ("address", True, _addresses),
        **{f"Numeric{name}": ("number", no, _compared(_number, region)) for name, (no, region) in _REGIONS.items()},
        **{f"Date{name}": ("date", no, _compared(_date, region)) for name, (no, region) in _REGIONS.items()},
    }
)
"""For each operator: which kind of values it compares, whether it is a negated one, and the values that it names.

A negated operator is met by a request without the key.
"""
