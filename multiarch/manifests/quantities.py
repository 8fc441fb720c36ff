"""Kubernetes quantities, read exactly: ``500m``, ``1.5Gi``, ``12e6``, ``0.5``.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from multiarch.errors import MultiarchError

_SUFFIXES: Mapping[str, Fraction] = MappingProxyType(
    {"": Fraction(1)}
    | {
        suffix: Fraction(10) ** power
        for suffix, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
    }
    | {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", start=1)}
)
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_LARGEST = 2**63 - 1
_LONGEST = 100
_FINEST = Fraction(1, 10**9)
_BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
_MILLIS = 1000
_FORM = "Write a number with a suffix, such as 500m or 2Gi."


class QuantityError(MultiarchError):
    """An invalid quantity, or one larger than Kubernetes can hold."""


def parse_quantity(written: object) -> Fraction:
    """Read a quantity as YAML or JSON holds it: a string, or a number without a suffix (anything else is rejected).

    Like Kubernetes, what is finer than 10⁻⁹ is rounded up, away from zero. Raises QuantityError for an
    invalid quantity, and for one above 2⁶³-1, which Kubernetes caps without a warning.
    """
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise QuantityError(f"{written!r} is not a quantity.", hint=_FORM)
    text = str(written)
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise QuantityError(f"{text!r} is not a quantity.", hint=_FORM)
    number = Fraction(match["number"])
    exponent = match["exponent"]
    if exponent is None:
        value = number * _SUFFIXES[match["suffix"] or ""]
    elif number == 0:
        value = number
    else:
        # No text of the allowed length has a mantissa that brings such an exponent back into range.
        value = number * Fraction(10) ** max(-2 * _LONGEST, min(2 * _LONGEST, int(exponent)))
    if value > _LARGEST:
        raise QuantityError(f"{text!r} is too large.", hint=f"The largest quantity is {_LARGEST}.")
    value = _FINEST * -(-value // _FINEST)
    return -value if match["sign"] == "-" else value


def round_up(value: Fraction) -> int:
    """Return whole units, rounded up as Kubernetes does: half a byte takes one."""
    return -(-value.numerator // value.denominator)


def round_up_to_millis(value: Fraction) -> int:
    """Return thousandths, rounded up as Kubernetes does: ``0.0001`` of a CPU takes one millicore."""
    return round_up(value * _MILLIS)


def format_cpu(millicores: int) -> str:
    """Return ``250m``, ``2`` or ``3.92``: CPUs as people write them, exactly."""
    if abs(millicores) < _MILLIS and millicores:
        return f"{millicores}m"
    return f"{millicores / _MILLIS:.3f}".rstrip("0").rstrip(".")


def format_bytes(count: int) -> str:
    """Return ``2Gi``, ``1.5Gi``, ``700Mi`` or ``12``: one decimal at most, so a large odd number is rounded."""
    for suffix, unit in _BINARY:
        if abs(count) >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + suffix
    return str(count)
