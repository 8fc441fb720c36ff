"""What changed between two sets of inputs, property path by property path."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pulumi.provider.experimental.provider import DiffResponse, PropertyDiff, PropertyDiffKind

from sandbox.providers.values import UNKNOWN, Record, Value


def changes(old: Value, new: Value, path: str = "") -> Iterator[tuple[str, PropertyDiffKind]]:
    """Yield every path that was added, deleted or changed. A value that is not known yet counts as changed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            inner = _join(path, key)
            if key not in new:
                yield inner, PropertyDiffKind.DELETE
            elif key not in old:
                yield inner, PropertyDiffKind.ADD
            else:
                yield from changes(old[key], new[key], inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from changes(before, after, f"{path}[{index}]")
    elif old != new or new == UNKNOWN:
        yield path, PropertyDiffKind.UPDATE


def respond(old: Record, new: Record, replaces: Callable[[str], bool], *, delete_first: bool) -> DiffResponse:
    """Return Pulumi's answer for two sets of inputs; ``replaces`` says at which paths a change forces a replacement."""
    details: dict[str, PropertyDiff] = {}
    changed: set[str] = set()
    forced: set[str] = set()
    for path, kind in changes(old, new):
        top = path.split(".")[0].split("[")[0]
        changed.add(top)
        if replaces(path):
            forced.add(top)
        shown = _REPLACING[kind] if top in forced and replaces(path) else kind
        details[path] = PropertyDiff(shown, input_diff=True)
    return DiffResponse(
        changes=bool(changed),
        replaces=sorted(forced),
        diffs=sorted(changed),
        delete_before_replace=delete_first and bool(forced),
        detailed_diff=details,
    )


_REPLACING = {
    PropertyDiffKind.ADD: PropertyDiffKind.ADD_REPLACE,
    PropertyDiffKind.DELETE: PropertyDiffKind.DELETE_REPLACE,
    PropertyDiffKind.UPDATE: PropertyDiffKind.UPDATE_REPLACE,
}


def _join(path: str, key: str) -> str:
    """Return Pulumi's property paths: keys with dots or brackets are quoted."""
    if any(letter in key for letter in '.[]"/'):
        return f'{path}["{key}"]' if path else f'["{key}"]'
    return f"{path}.{key}" if path else key
