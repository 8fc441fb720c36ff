"""JSON and numbers from outside, read within limits and as Go's decoders read them.

Registries, runtimes and the kubelet are written in Go: what its ``encoding/json`` refuses, they refuse.
Source: https://pkg.go.dev/encoding/json#Unmarshal
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

LARGEST = 2**63 - 1
"""The largest whole number that Go's decoders read: 64 bits with a sign."""

_DIGITS = {8: re.compile(r"[0-7]+"), 10: re.compile(r"[0-9]+")}
_LONGEST = 22
"""Digits of the largest number in base 8: Python refuses to read some thousand, and takes quadratic time for fewer."""


def whole_number(text: str, base: int = 10) -> int | None:
    """The number that ASCII digits in base 8 or 10 spell; None for other texts and above :data:`LARGEST`."""
    if not _DIGITS[base].fullmatch(text):
        return None
    digits = text.lstrip("0")
    if len(digits) > _LONGEST:
        return None
    number = int(digits or "0", base)
    return number if number <= LARGEST else None


def decode_json(content: bytes | str) -> Any:  # noqa: ANN401 (any JSON)
    """Decode JSON.

    Bytes must be UTF-8; invalid ones count as U+FFFD, and so does half of a surrogate pair, so that every string can be
    encoded. Whole numbers of 20 digits and more are infinite.

    Raises:
        ValueError: it is not JSON (also for ``NaN`` and ``Infinity``), or is nested too deeply.
    """
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    if _SURROGATE.search(text):
        text = _ESCAPE.sub(_whole_character, text)
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def folded(key: str) -> str:
    """A key in the form in which Go compares it: in lower case, and U+017F is an ``s``, U+212A a ``k``."""
    return key.casefold()


def json_field(value: Mapping[str, object], name: str) -> object:
    """The value of an object's key as Go finds it: in upper or lower case, and the last one of several; else None."""
    key = _key_of(tuple(value), name) if len(value) <= _FEW_KEYS else _last_key(value, name)
    return None if key is None else value[key]


def _last_key(keys: Iterable[str], name: str) -> str | None:
    wanted = folded(name)
    return next((key for key in reversed(list(keys)) if len(key) == len(name) and folded(key) == wanted), None)


# The entries of an index have the same few keys.
_key_of = lru_cache(maxsize=1024)(_last_key)
_FEW_KEYS = 12


def _whole_character(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape["half"] else escape[0]


def _integer(text: str) -> int | float:
    if len(text) < _INTEGER_DIGITS:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


_INTEGER_DIGITS = 20
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_no_number)
