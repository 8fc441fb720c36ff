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
    return sorted(_compare(_list_surface(before), _list_surface(after)))


def unaccepted() -> list[str]:
    """The breaks since the last release that are not accepted, and the accepted lines that are not breaks."""
    found = breaks(read(RELEASED), read(SCHEMA))
    accepted = {line for line in ACCEPTED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"}
    return [*(line for line in found if line not in accepted), *sorted(accepted - set(found))]


def read(file: Path) -> Json:
    found: Json = json.loads(file.read_text(encoding="utf-8"))
    return found


def _list_surface(schema: Json) -> dict[tuple[str, str], dict[str, tuple[str, bool]]]:
    """The properties of each resource and type, by its name and whether they are inputs or outputs.

    A property has a type, and is required or not.
    """
    found = {}
    for token, row in schema["resources"].items():
        found[_name(token), "input"] = _list_properties(row["inputProperties"], row["requiredInputs"])
        found[_name(token), "output"] = _list_properties(row["properties"], row["required"])
    for token, row in schema["types"].items():
        kind = "input" if token.endswith("Settings") else "output"
        found[_name(token), kind] = _list_properties(row.get("properties", {}), row.get("required", []))
    return found


def _list_properties(properties: Json, required: list[str]) -> dict[str, tuple[str, bool]]:
    return {key: (shape(each), key in required) for key, each in properties.items()}


def _compare(
    before: Mapping[tuple[str, str], Mapping[str, tuple[str, bool]]],
    after: Mapping[tuple[str, str], Mapping[str, tuple[str, bool]]],
) -> Iterator[str]:
    gone = {name for name, _ in before} - {name for name, _ in after}
    for name in gone:
        whole = "resource" if {(name, "input"), (name, "output")} <= before.keys() else "type"
        yield f"{name}: the {whole} is removed"
    for (name, kind), old in before.items():
        new = after.get((name, kind), {})
        for key in old.keys() - new.keys() if name not in gone else ():
            yield f"{name}.{key}: the {kind} is removed"
        for key in old.keys() & new.keys():
            (was, needed), (now, needs) = old[key], new[key]
            # A value may be an output where it had to be known: every program that passed one still can.
            if now not in (was, was.replace("plain ", "") if kind == "input" else was):
                yield f"{name}.{key}: the {kind}'s type changed from {was} to {now}"
            if kind == "output" and needed and not needs:
                yield f"{name}.{key}: the output may be missing now"
        for key in new if kind == "input" else ():
            if new[key][1] and not (key in old and old[key][1]):
                yield f"{name}.{key}: the input is required now"


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


def _name(token: str) -> str:
    return token.rpartition(":")[2]


if __name__ == "__main__":
    print("\n".join(unaccepted()))  # noqa: T201
