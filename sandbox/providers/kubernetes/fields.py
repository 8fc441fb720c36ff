"""Fields of an object and who manages them, as server-side apply has it. Lists count as one value.

``managedFields`` stand in the live object, and name only others: the file of an object that nobody else wrote to has
what the program sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sandbox.providers import auto_name
from sandbox.providers.values import Record, Value

_HELP: Final = (
    "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/"
    "managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources"
)
_Path = tuple[str, ...]


def pruned(live: Value, wanted: Value) -> Value:
    """Return the part of ``live`` whose fields ``wanted`` has.

    Source: pulumi-kubernetes, provider/pkg/provider/util.go, pruneMap and pruneSlice.
    """
    if isinstance(live, dict) and isinstance(wanted, dict):
        return {key: pruned(live[key], wanted[key]) for key in wanted if key in live}
    if isinstance(live, list) and isinstance(wanted, list):
        return [pruned(there, item) for there, item in zip(live, wanted, strict=False)]
    return live


def as_inputs(live: Record) -> Record:
    """Return what an import makes of a live object. provider.go, Read and normalizeInputs."""
    metadata = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}


def applied(live: Record, old: Record, new: Record) -> Record:
    """Return ``live`` with the fields of ``new``, and without those that ``old`` alone had; fields of others stay."""
    result: Record = {}
    for key in {**live, **new}:
        there, before, wanted = live.get(key), old.get(key), new.get(key)
        if isinstance(there, dict) and (isinstance(wanted, dict) or (isinstance(before, dict) and key not in new)):
            inner = applied(there, before if isinstance(before, dict) else {}, wanted or {})
            if inner or key in new:
                result[key] = inner
        elif key in new or key not in old:
            result[key] = wanted if key in new else there
    return result


def find_conflict(live: Record, new: Record, urn: str) -> str:
    """Return the provider's message when others manage fields that ``new`` changes, or nothing.

    Sources: pulumi-kubernetes, provider/pkg/await/await.go, handleSSAErr; apimachinery,
    pkg/util/managedfields/internal/conflict.go, getConflictMessage.
    """
    found: dict[str, list[str]] = {}
    for entry in _entries(live):
        for path in _leaves(entry.get("fieldsV1") or {}):
            wanted = _at(new, path)
            if wanted is not None and wanted != _at(live, path):
                found.setdefault(_printed(entry), []).append(f".{'.'.join(path)}")
    paths = [path for each in found.values() for path in each]
    if not paths:
        return ""
    if len(paths) == 1:
        said = f"1 conflict: conflict with {next(iter(found))}: {paths[0]}"
    else:
        listed = "\n".join(f"conflicts with {who}:\n- " + "\n- ".join(each) for who, each in sorted(found.items()))
        said = f"{len(paths)} conflicts: {listed}"
    manager = auto_name("pulumi-kubernetes-", urn, 0, 63)  # provider.go, fieldManagerName
    return (
        f"server-side apply field conflict detected, see {_HELP} for troubleshooting help\n"
        f'The resource managed by field manager "{manager}" had an apply conflict: Apply failed with {said}'
    )


def _entries(live: Record) -> list[dict[str, Any]]:
    return live["metadata"].get("managedFields") or []


def _printed(entry: Record) -> str:
    name = f'"{entry.get("manager", "")}"'
    return f"{name} using {entry.get('apiVersion', 'v1')}" if entry.get("operation") == "Update" else name


def _leaves(fields: Record, path: _Path = ()) -> Iterator[_Path]:
    inner = {key.removeprefix("f:"): value for key, value in fields.items() if key.startswith("f:")}
    if not inner and path:
        yield path
    for key, value in inner.items():
        yield from _leaves(value, (*path, key))


def _at(obj: Value, path: _Path) -> Value:
    for key in path:
        obj = obj.get(key) if isinstance(obj, dict) else None
    return obj
