"""The schema that editors use: current, and of one mind with the loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from multiarch.schema.base import FORMS, Section
from multiarch.schema.parts import SingleClusterAutoscaler, SingleKarpenter, SingleNodeGroup
from multiarch.schema.stack import StackSpec
from multiarch.schema.webhook import WebhookTaint
from multiarch.schema.webhook_installation import ChartValues
from multiarch.stack.json_schema import SCHEMA_FILE, render_schema
from multiarch.stack.load import list_stack_files
from multiarch.stack.yaml_source import parse_yaml_file, read_yaml_file
from tests.stack.files import CONFIG, Project

CLONE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator() -> Any:  # noqa: ANN401  (jsonschema has no types)
    return Draft202012Validator(json.loads((CLONE / SCHEMA_FILE).read_text(encoding="utf-8")))


def test_the_committed_schema_is_current_and_written_for_people() -> None:
    written = render_schema()
    assert (CLONE / SCHEMA_FILE).read_text(encoding="utf-8") == written, "run `multiarch stack schema --write`"
    assert "``" not in written


@pytest.mark.parametrize("model", [StackSpec, ChartValues, SingleNodeGroup, SingleKarpenter, SingleClusterAutoscaler])
def test_every_pattern_has_its_form_in_words(model: type[Section]) -> None:
    def patterns(node: object) -> set[str]:
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        own = {node["pattern"]} if isinstance(node, dict) and isinstance(node.get("pattern"), str) else set()
        keys = node.get("patternProperties", {}).keys() if isinstance(node, dict) else ()
        return own.union(keys, *map(patterns, below))

    # Faults of the webhook's taints have messages of their own.
    of_taints = patterns(TypeAdapter(WebhookTaint).json_schema())
    assert patterns(model.model_json_schema()) - of_taints <= FORMS.keys()


@pytest.mark.parametrize("file", list_stack_files(CLONE), ids=lambda file: file.stem)
def test_the_shipped_stacks_are_accepted(validator: Any, file: Path) -> None:  # noqa: ANN401
    assert [error.message for error in validator.iter_errors(read_yaml_file(file).value)] == []
    schema = file.read_text().splitlines()[0].partition("$schema=")[2]
    assert (file.parent / schema).resolve() == CLONE / SCHEMA_FILE


@pytest.mark.parametrize(
    "added",
    [
        "  multiarch-eks:colour: red\n",
        "  multiarch-eks:network: {colour: red}\n",
        "      colour: red\n",
        "      ami: {colour: red}\n",
        "colour: red\n",
    ],
)
def test_a_key_that_the_loader_rejects_is_rejected(
    validator: Any,  # noqa: ANN401
    project: Project,
    added: str,
) -> None:
    text = CONFIG + added
    assert next(problem.rule for problem in project.problems(text)) in {"unknown-key", "duplicate-key"}
    assert not validator.is_valid(parse_yaml_file(text, "F").value)


@pytest.mark.parametrize(
    "added",
    [
        "",
        '  multiarch-eks:deletionProtection: "true"\n',
        "  kubernetes:context: any\n",
        "encryptionsalt: v1:abc\n",
        "environment: [shared]\n",
        "  multiarch-eks:network: {zones: [eu-west-1a, eu-west-1b]}\n",
        "      minSize: 0\n",
    ],
)
def test_what_the_loader_accepts_is_accepted(validator: Any, project: Project, added: str) -> None:  # noqa: ANN401
    project.load(CONFIG + added)
    assert validator.is_valid(parse_yaml_file(CONFIG + added, "F").value)


@pytest.mark.parametrize(
    "added",
    [
        "  multiarch-eks:network: {nat: best}\n",
        '      minSize: "1"\n',
        "      kind: 3\n",
        "  multiarch-eks:registryMirrors: {Docker.io: [https://mirror.example.com]}\n",
    ],
)
def test_a_value_that_the_loader_rejects_is_rejected(validator: Any, project: Project, added: str) -> None:  # noqa: ANN401
    assert project.problems(CONFIG + added)
    assert not validator.is_valid(parse_yaml_file(CONFIG + added, "F").value)


def test_every_key_is_described(validator: Any) -> None:  # noqa: ANN401
    def undescribed(node: Any, path: str) -> list[str]:  # noqa: ANN401
        if not isinstance(node, dict):
            return []
        found = [f"{path}.{key}" for key, value in node.get("properties", {}).items() if "description" not in value]
        return found + [name for key, value in node.items() for name in undescribed(value, f"{path}.{key}")]

    assert [name for name in undescribed(validator.schema["$defs"], "") if ".config." not in name] == []
