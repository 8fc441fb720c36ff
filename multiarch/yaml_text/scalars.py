"""What a written scalar means, by dialect.

Each dialect is that of a Go library. kubectl reads YAML 1.1 with ``sigs.k8s.io/yaml``: ``yes``, ``on`` and ``y`` are
booleans, ``0755`` is an octal number, a date or ``22:22`` is text. Pulumi reads stack files with ``gopkg.in/yaml.v3``:
YAML 1.2, in which only ``true`` and ``false`` are booleans, but ``0755`` is octal and dates are rewritten. Both
surprise people, so they are errors in a stack file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from multiarch.yaml_text.events import YamlError, YamlFault

_TAG = "tag:yaml.org,2002:"
COLLECTION_TAGS = frozenset((None, "!", f"{_TAG}seq", f"{_TAG}map"))
_KUBERNETES_STRING_TAGS = frozenset((f"{_TAG}str", "!", f"{_TAG}binary", f"{_TAG}timestamp"))
_FLOAT = f"{_TAG}float"
_RESOLVED_TAGS = frozenset((_FLOAT, *(f"{_TAG}{name}" for name in ("null", "bool", "int"))))

_PULUMI_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_PULUMI_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INFINITE = dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
_INFINITE |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf) | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
_KUBERNETES_WORDS = _PULUMI_WORDS | _INFINITE
_KUBERNETES_WORDS |= dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True)
_KUBERNETES_WORDS |= dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False)

_NUMBER_STARTS = frozenset("+-.0123456789")
_WHOLE = re.compile(r"[-+]?(0[bB][01]+|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ].*)?", re.DOTALL)
_WHOLE_RANGE = range(-(2**63), 2**64)
_JSON_EXPONENT = 1e21
"""From here on Go writes a number into JSON with an exponent, and it stays a float."""


Dialect = Callable[[str, str | None], object]
"""The value of a scalar: its text, and its tag (None: a plain scalar). Raises YamlError without a line."""


def read_kubernetes_scalar(written: str, tag: str | None = None) -> object:
    """Return a scalar as kubectl reads it. Raises YamlError for a tag that it does not know."""
    if tag is None:
        if written in _KUBERNETES_WORDS:
            return _KUBERNETES_WORDS[written]
        if written[0] not in _NUMBER_STARTS:
            return written
        number = _number(written)
        return written if number is None else number
    if tag in _KUBERNETES_STRING_TAGS:
        return written
    if tag in _RESOLVED_TAGS:
        found = read_kubernetes_scalar(written)
        return float(found) if isinstance(found, int) and tag == _FLOAT else found
    raise reject_tag(tag)


def read_pulumi_scalar(written: str, tag: str | None = None) -> object:
    """Return a scalar as Pulumi's engine hands it on: as JSON, where 1.0 is 1.

    Raises YamlError for a tag other than ``!!str``, for what Pulumi reads as an octal number, as a date, or
    as a number that JSON does not have.
    """
    if tag is None:
        return _PULUMI_WORDS[written] if written in _PULUMI_WORDS else _pulumi_number(written)
    if tag == f"{_TAG}str":
        return written
    raise reject_tag(tag)


def reject_tag(tag: str) -> YamlError:
    """Return what to raise for a value, of any kind, with a tag that means nothing to a dialect."""
    return YamlError(YamlFault("unknown-tag", f"unknown tag {tag.replace(_TAG, '!!')}"))


def _number(written: str) -> int | float | None:
    """Return a number as Go's libraries read it; None for what is not one, and for one that is too large."""
    plain = written.replace("_", "")
    try:
        if _WHOLE.fullmatch(plain):
            bare = plain.lstrip("+-")
            # Python wants 0o755 where Go takes 0755 too.
            return int(plain, 8) if len(bare) > 1 and bare[0] == "0" and bare[1].isdigit() else int(plain, 0)
    except ValueError:
        return None
    if _DECIMAL.fullmatch(plain) and math.isfinite(number := float(plain)):
        return number
    return None


def _pulumi_number(written: str) -> object:
    if written in _INFINITE:
        raise _not_a_number(written)
    if written[0] not in _NUMBER_STARTS:
        return written
    if _LEADING_ZERO.fullmatch(written):
        raise _reject(written, "octal-number", "starts with 0: Pulumi reads it as octal")
    if _DATE.fullmatch(written):
        raise _reject(written, "date", "is a date in YAML, and Pulumi rewrites dates")
    number = _number(written)
    if number is None:
        if _DECIMAL.fullmatch(written):
            raise _not_a_number(written)
        return written
    if isinstance(number, int) and number in _WHOLE_RANGE:
        return number
    try:
        number = float(number)
    except OverflowError:
        raise _not_a_number(written) from None
    return int(number) if number.is_integer() and abs(number) < _JSON_EXPONENT else number


def _not_a_number(written: str) -> YamlError:
    return _reject(written, "not-a-number", "is not a number that Pulumi accepts")


def _reject(written: str, rule: str, why: str) -> YamlError:
    return YamlError(YamlFault(rule, f"{written} {why}", hint=f'Put it in quotes: "{written}".'))
