"""What a changed schema of the plugin breaks in programs that were written for an earlier one.

``python -m tests.components.provider.breaking`` prints it. docs/how-to/own-program.md says how a break is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.quotations import ROOT

FOLDER = ROOT / "provider"
SCHEMA, RELEASED, ACCEPTED = (FOLDER / name for name in ("schema.json", "released.json", "accepted-breaks.txt"))
"""The present schema, that of the last release, and the breaks that the next release makes on purpose."""

Json = Mapping[str, Any]


def breaks(before: Json, after: Json) -> list[str]:
    """One line for each thing that a program could use and can't any more, sorted."""
    return sorted({*_resources(before, after), *_types(before, after)})


def unaccepted() -> list[str]:
    """The breaks since the last release that are not accepted, and the accepted lines that are not breaks."""
    found = breaks(read(RELEASED), read(SCHEMA))
    accepted = {line for line in ACCEPTED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"}
    return [*(line for line in found if line not in accepted), *sorted(accepted - set(found))]


def read(file: Path) -> Json:
    found: Json = json.loads(file.read_text(encoding="utf-8"))
    return found


def _resources(before: Json, after: Json) -> Iterator[str]:
    for token, old in before["resources"].items():
        name, new = _name(token), after["resources"].get(token)
        if new is None:
            yield f"{name}: the resource is removed"
            continue
        yield from _inputs(
            name, old["inputProperties"], new["inputProperties"], old["requiredInputs"], new["requiredInputs"]
        )
        yield from _outputs(name, old["properties"], new["properties"], old["required"], new["required"])


def _types(before: Json, after: Json) -> Iterator[str]:
    """Types of inputs and of outputs: neither may lose a property, or a program that reads or sets it breaks."""
    of_outputs = _reached(before, "properties")
    for token, old in before["types"].items():
        name, new = _name(token), after["types"].get(token)
        if new is None:
            yield f"{name}: the type is removed"
            continue
        compare = _outputs if token in of_outputs else _inputs
        yield from compare(
            name, old.get("properties", {}), new.get("properties", {}), old.get("required", []), new.get("required", [])
        )


def _inputs(name: str, old: Json, new: Json, was_required: list[str], is_required: list[str]) -> Iterator[str]:
    yield from _changed(name, old, new, "input")
    for key in sorted(set(is_required) - set(was_required)):
        yield f"{name}.{key}: the input is required now"


def _outputs(name: str, old: Json, new: Json, was_required: list[str], is_required: list[str]) -> Iterator[str]:
    yield from _changed(name, old, new, "output")
    for key in sorted((set(was_required) - set(is_required)) & new.keys()):
        yield f"{name}.{key}: the output may be missing now"


def _changed(name: str, old: Json, new: Json, kind: str) -> Iterator[str]:
    for key, was in old.items():
        if key not in new:
            yield f"{name}.{key}: the {kind} is removed"
        elif (before := shape(was)) != (after := shape(new[key])):
            # A value may be an output where it had to be known: every program that passed one still can.
            if kind == "input" and before.replace("plain ", "") == after:
                continue
            yield f"{name}.{key}: the {kind}'s type changed from {before} to {after}"


def shape(prop: Json) -> str:
    """The type of a property, such as ``plain list of plain string``."""
    plain = "plain " if prop.get("plain") else ""
    if "$ref" in prop:
        return f"{plain}{prop['$ref'].rpartition(':')[2].rpartition('/')[2]}"
    if "items" in prop:
        return f"{plain}list of {shape(prop['items'])}"
    if "additionalProperties" in prop:
        return f"{plain}map of {shape(prop['additionalProperties'])}"
    return f"{plain}{prop['type']}"


def _reached(schema: Json, where: str) -> set[str]:
    """The types that outputs use."""
    found: set[str] = set()

    def walk(value: Any) -> None:  # noqa: ANN401  (JSON)
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/types/"):
                token = reference.removeprefix("#/types/")
                if token not in found:
                    found.add(token)
                    walk(schema["types"][token])
            for inner in value.values():
                walk(inner)

    for resource in schema["resources"].values():
        walk(resource[where])
    return found


def _name(token: str) -> str:
    return token.rpartition(":")[2]


if __name__ == "__main__":
    print("\n".join(unaccepted()))  # noqa: T201
