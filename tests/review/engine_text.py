"""What the Pulumi engine writes of a preview, made from a few words: the JSON digest, and the event log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

STACK, PROJECT = "checkout-dev", "multiarch-eks"
Json = dict[str, Any]


def urn(token: str, name: str, *, stack: str = STACK, project: str = PROJECT) -> str:
    """The URN of a resource below the platform."""
    return f"urn:pulumi:{stack}::{project}::multiarch-eks:components:Platform${token}::{name}"


def state(token: str, name: str, inputs: Mapping[str, Any], **more: Any) -> Json:
    """A state; ``more`` are further keys of it: ``outputs``, ``protect``, ``retainOnDelete``, ``parent``."""
    made = {"urn": urn(token, name), "custom": True, "id": f"id-of-{name}", "type": token, "inputs": dict(inputs)}
    return {**made, "outputs": dict(inputs), **more}


def step(
    op: str,
    token: str,
    name: str,
    old: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
    detailed: Mapping[str, str] | None = None,
    **more: Any,
) -> Json:
    """A step with the inputs before and after. ``detailed`` has a kind by path; ``more`` goes into both states."""
    made: Json = {"op": op, "urn": urn(token, name)}
    if old is not None:
        made["oldState"] = state(token, name, old, **more)
    if new is not None:
        made["newState"] = state(token, name, new, **more)
    found = detailed or {}
    made["detailedDiff"] = {path: {"kind": kind, "inputDiff": True} for path, kind in found.items()} or None
    made["diffReasons"] = sorted({path.partition(".")[0].partition("[")[0] for path in found})
    made["replaceReasons"] = sorted(path for path, kind in found.items() if kind.endswith("-replace"))
    return made


def digest(*steps: Json, diagnostics: Sequence[Json] = (), **more: Any) -> bytes:
    """What ``pulumi preview --json`` prints."""
    return json.dumps({"steps": list(steps), "diagnostics": list(diagnostics), **more}, indent=4).encode()


def error(message: str) -> Json:
    """A diagnostic of an error."""
    return {"message": f"error: {message}\n", "severity": "error"}


def event_log(*steps: Json, result: str | None = "succeeded", ends: bool = True) -> bytes:
    """The events of these steps, each before it and for its outputs."""
    events: list[Json] = [{"preludeEvent": {"config": {}}}]
    for each in steps:
        metadata = {
            "op": each["op"],
            "urn": each["urn"],
            "old": each.get("oldState"),
            "new": each.get("newState"),
            "keys": each.get("replaceReasons"),
            "diffs": each.get("diffReasons"),
            "detailedDiff": {
                path: {"diffKind": found["kind"], "inputDiff": True}
                for path, found in (each.get("detailedDiff") or {}).items()
            },
        }
        before = {**metadata, "new": metadata["old"]} if each["op"] == "refresh" else metadata
        events += [{"resourcePreEvent": {"metadata": before}}, {"resOutputsEvent": {"metadata": metadata}}]
    if result is not None:
        events.append({"summaryEvent": {"resourceChanges": {}, "result": result}})
    if ends:
        events.append({"cancelEvent": {}})
    numbered = [{"sequence": number, "timestamp": 1, **event} for number, event in enumerate(events)]
    return "".join(f"{json.dumps(event)}\n" for event in numbered).encode()
