"""The schema that programs in other languages see: up to date, and without breaks that are not accepted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from components.provider.host import COMPONENTS
from tests.components.provider import breaking
from tests.components.provider.breaking import breaks
from tools.generate import plugin as plugin_files

SCHEMA: Any = breaking.read(breaking.SCHEMA)
RESOURCE, TYPE, OUTPUT = (
    f"multiarch-eks:index:{name}" for name in ("NodeGroup", "NodePoolSettings", "NodeGroupOutput")
)


def test_every_generated_file_is_up_to_date() -> None:
    made = plugin_files.files()
    outdated = [str(path) for path, text in made.items() if not path.is_file() or path.read_text() != text]
    assert outdated == [], "run make generate"


def test_the_schema_has_every_component_and_describes_each_argument_and_output() -> None:
    assert {f"multiarch-eks:index:{component.__name__}" for component in COMPONENTS} == SCHEMA["resources"].keys()
    for resource in SCHEMA["resources"].values():
        assert resource["isComponent"]
        for prop in (*resource["inputProperties"].values(), *resource["properties"].values()):
            assert prop["description"]


def test_every_break_since_the_last_release_is_accepted() -> None:
    assert breaking.unaccepted() == [], "see docs/how-to/own-program.md"


def inputs(resources: Any) -> Any:  # noqa: ANN401  (JSON)
    return resources[RESOURCE]["inputProperties"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda resources, _: resources.pop(RESOURCE), "NodeGroup: the resource is removed"),
        (lambda resources, _: inputs(resources).pop("minSize"), "NodeGroup.minSize: the input is removed"),
        (
            lambda resources, _: resources[RESOURCE]["requiredInputs"].append("minSize"),
            "NodeGroup.minSize: the input is required now",
        ),
        (
            lambda resources, _: inputs(resources)["instanceTypes"].update(items={"type": "any"}),
            "NodeGroup.instanceTypes: the input's type changed from plain list of plain string to plain list of any",
        ),
        (
            lambda resources, _: resources[RESOURCE]["properties"].pop("nodeRoleArn"),
            "NodeGroup.nodeRoleArn: the output is removed",
        ),
        (
            lambda resources, _: resources[RESOURCE]["required"].remove("nodeRoleArn"),
            "NodeGroup.nodeRoleArn: the output may be missing now",
        ),
        (lambda _, types: types.pop(TYPE), "NodePoolSettings: the type is removed"),
        (
            lambda _, types: types[OUTPUT]["required"].remove("architecture"),
            "NodeGroupOutput.architecture: the output may be missing now",
        ),
    ],
)
def test_a_break_is_named(change: Callable[[Any, Any], object], line: str) -> None:
    changed = copy.deepcopy(SCHEMA)
    change(changed["resources"], changed["types"])
    assert breaks(SCHEMA, changed) == [line]


def test_an_addition_is_not_a_break() -> None:
    changed = copy.deepcopy(SCHEMA)
    group = changed["resources"][RESOURCE]
    group["inputProperties"]["new"] = {"type": "string"}
    group["properties"]["new"] = {"type": "string"}
    group["requiredInputs"].remove("subnetIds")
    group["inputProperties"]["minSize"]["description"] = "Other words."
    del group["inputProperties"]["minSize"]["plain"]
    changed["types"]["multiarch-eks:index:New"] = {"type": "object"}
    assert breaks(SCHEMA, changed) == []
