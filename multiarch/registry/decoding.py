"""Decode JSON from outside as Go's decoder reads it: registries, runtimes and the kubelet are written in Go.

Source: https://pkg.go.dev/encoding/json#Unmarshal
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

LARGEST = 2**63 - 1
"""The largest whole number that Go's decoders read: 64 bits with a sign."""
_FEW_KEYS = 12


def decode_json(content: bytes | str) -> Any:  # noqa: ANN401 (any JSON)
    """Decode JSON; bytes that are not UTF-8 count as U+FFFD.

    Raises:
        ValueError: it is not JSON (also for ``NaN`` and ``Infinity``), or is nested more than 200 levels deep.
    """
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    return from_json(text.encode(errors="replace"), allow_inf_nan=False)


def folded(key: str) -> str:
    """Return a key in the form in which Go compares it: in lower case, and U+017F is an ``s``, U+212A a ``k``."""
    return key.casefold()


def json_field(value: Mapping[str, object], name: str) -> object:
    """Return the value of an object's key as Go finds it: in any case, and the last one of several; else None."""
    key = _key_of(tuple(value), name) if len(value) <= _FEW_KEYS else _last_key(value, name)
    return None if key is None else value[key]


def _last_key(keys: Iterable[str], name: str) -> str | None:
    wanted = folded(name)
    return next((key for key in reversed(list(keys)) if len(key) == len(name) and folded(key) == wanted), None)


# The entries of an index have the same few keys.
_key_of = lru_cache(maxsize=1024)(_last_key)
