"""Karpenter's rounds of planning, read from its log: how many pods it looked at, and which of them it rejected."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PROVISIONER = "provisioner"


@dataclass(slots=True)
class Round:
    """One round. ``pods`` are those that waited for a node, ``rejected`` the names of those that got none."""

    pods: int = 0
    rejected: set[str] = field(default_factory=set)


def position(log: Path) -> int:
    """The end of the log, to read on from."""
    return log.stat().st_size


def rounds(log: Path, start: int) -> list[Round]:
    """The rounds that began after ``start``, in their order. The last one may not be over."""
    found: dict[str, Round] = {}
    with log.open("rb") as file:
        file.seek(start)
        for line in file:
            entry = _entry(line)
            if entry.get("controller") == _PROVISIONER:
                _read(entry, found)
    return [each for each in found.values() if each.pods]


def _entry(line: bytes) -> dict[str, Any]:
    """A line of the log; empty for the part of a line, and for what is no JSON."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _read(entry: dict[str, Any], found: dict[str, Round]) -> None:
    number = str(entry.get("reconcileID", ""))
    match entry.get("message"):
        case "ignoring pod":
            made = found.setdefault(number, Round())
            made.pods += 1
            made.rejected.add(str(entry["Pod"]["name"]))
        case "computing scheduling decision for provisionable pod(s)":
            found.setdefault(number, Round()).pods += int(entry["pending-pods"])
        case "could not schedule pod" if number in found:
            found[number].rejected.add(str(entry["Pod"]["name"]))
