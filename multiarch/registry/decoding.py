"""Decode JSON from outside as Go's decoder reads it: registries, runtimes and the kubelet are written in Go.

Source: https://pkg.go.dev/encoding/json#Unmarshal
"""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json


def decode_json(content: bytes | str) -> Any:  # noqa: ANN401 (any JSON)
    """Decode JSON; bytes that are not UTF-8 count as U+FFFD.

    Raises:
        ValueError: it is not JSON (also for ``NaN`` and ``Infinity``), or is nested more than 200 levels deep.
    """
    text = content.decode(errors="replace") if isinstance(content, bytes) else content
    return from_json(text.encode(errors="replace"), allow_inf_nan=False)
