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
    made = {**plugin_files.arguments(), **plugin_files.schema_files()}
    outdated = [str(path) for path, text in made.items() if not path.is_file() or path.read_text() != text]
    assert outdated == [], "run make generate"
    assert {*plugin_files.FOLDER.glob("*.py")} == {path for path in made if path.suffix == ".py"}


def test_the_schema_has_every_component_and_describes_each_argument_and_output() -> None:
    assert {f"multiarch-eks:index:{component.__name__}" for component in COMPONENTS} == SCHEMA["resources"].keys()
    for resource in SCHEMA["resources"].values():
        assert resource["isComponent"]
        for prop in (*resource["inputProperties"].values(), *resource["properties"].values()):
            assert prop["description"]


def test_every_break_since_the_last_release_is_accepted() -> None:
    assert breaking.unaccepted() == [], "see docs/how-to/own-program.md"


def remove_resource(schema: Any) -> None:  # noqa: ANN401  (JSON)
    del schema["resources"][RESOURCE]


def remove_input(schema: Any) -> None:  # noqa: ANN401
    del schema["resources"][RESOURCE]["inputProperties"]["minSize"]


def require_input(schema: Any) -> None:  # noqa: ANN401
    schema["resources"][RESOURCE]["requiredInputs"].append("minSize")


def change_input(schema: Any) -> None:  # noqa: ANN401
    schema["resources"][RESOURCE]["inputProperties"]["minSize"]["type"] = "string"


def make_plain(schema: Any) -> None:  # noqa: ANN401
    schema["resources"][RESOURCE]["inputProperties"]["subnetIds"]["plain"] = True


def change_items(schema: Any) -> None:  # noqa: ANN401
    schema["resources"][RESOURCE]["inputProperties"]["instanceTypes"]["items"] = {"type": "any"}


def remove_output(schema: Any) -> None:  # noqa: ANN401
    del schema["resources"][RESOURCE]["properties"]["nodeRoleArn"]


def free_output(schema: Any) -> None:  # noqa: ANN401
    schema["resources"][RESOURCE]["required"].remove("nodeRoleArn")


def remove_type(schema: Any) -> None:  # noqa: ANN401
    del schema["types"][TYPE]


def remove_key(schema: Any) -> None:  # noqa: ANN401
    del schema["types"][TYPE]["properties"]["weight"]


def require_key(schema: Any) -> None:  # noqa: ANN401
    schema["types"][TYPE].setdefault("required", []).append("weight")


def free_key_of_output(schema: Any) -> None:  # noqa: ANN401
    schema["types"][OUTPUT]["required"].remove("architecture")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (remove_resource, "NodeGroup: the resource is removed"),
        (remove_input, "NodeGroup.minSize: the input is removed"),
        (require_input, "NodeGroup.minSize: the input is required now"),
        (change_input, "NodeGroup.minSize: the input's type changed from plain integer to plain string"),
        (make_plain, "NodeGroup.subnetIds: the input's type changed from list of string to plain list of string"),
        (
            change_items,
            "NodeGroup.instanceTypes: the input's type changed from plain list of plain string to plain list of any",
        ),
        (remove_output, "NodeGroup.nodeRoleArn: the output is removed"),
        (free_output, "NodeGroup.nodeRoleArn: the output may be missing now"),
        (remove_type, "NodePoolSettings: the type is removed"),
        (remove_key, "NodePoolSettings.weight: the input is removed"),
        (require_key, "NodePoolSettings.weight: the input is required now"),
        (free_key_of_output, "NodeGroupOutput.architecture: the output may be missing now"),
    ],
)
def test_a_break_is_named(change: Callable[[Any], None], line: str) -> None:
    changed = copy.deepcopy(SCHEMA)
    change(changed)
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
