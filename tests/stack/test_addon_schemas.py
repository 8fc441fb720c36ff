"""Configuration values of add-ons, checked by the schema that was fetched, as jsonschema reads it."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.stack.addon_schemas import find_faults, get_schema_file
from multiarch.stack.load import load_from_engine
from multiarch.stack.plan import make_plan
from sandbox.aws.addon_table import get_schema
from tests.stack.files import CONFIG, Project
from tests.stack.words import TODAY

NAME, VERSION = "aws-efs-csi-driver", "v3.4.1-eksbuild.1"
STACK = f"""{CONFIG}\
    graviton:
      instanceTypes: [m7g.large]
  multiarch-eks:addons:
    extra:
      {NAME}:
        version: {VERSION}
        configurationValues:
          controller:
            replicaCount: 3
"""
WORDS = {"team": "shop", "environment": "dev", "owner": "shop@example.com", "costCenter": "4711"}
GROUPS = {"web": {"instanceTypes": ["m7i.large"]}, "graviton": {"instanceTypes": ["m7g.large"]}}


def write_schema(project: Project, text: str) -> None:
    project.write(CONFIG)
    file = get_schema_file(project.file.parent, NAME, VERSION)
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")


def test_values_that_the_schema_takes_pass_with_the_toleration_that_is_added(project: Project) -> None:
    write_schema(project, json.dumps(get_schema(NAME)))
    plan = make_plan(project.load(STACK), today=TODAY)
    assert {each.rule for each in plan.warnings} == {"ami-not-pinned"}
    # `pulumi up` checks the same: the engine passes the values on, and the file says where schemas are.
    config = {f"multiarch-eks:{key}": value for key, value in WORDS.items()}
    addons = {"extra": {NAME: {"version": VERSION, "configurationValues": {"controller": {"replicaCount": 3}}}}}
    config |= {"multiarch-eks:nodeGroups": json.dumps(GROUPS), "multiarch-eks:addons": json.dumps(addons)}
    passed_on = load_from_engine("shop-dev", config, file=project.file, project_file=None)
    assert passed_on.addon_schemas == {NAME: get_schema(NAME)}
    (driver,) = [each for each in plan.addons if each.extra]
    controller = json.loads(driver.configuration)["controller"]
    assert controller["replicaCount"] == 3
    assert controller["tolerations"][-1] == {
        "key": "arch",
        "operator": "Equal",
        "value": "arm64",
        "effect": "NoSchedule",
    }


@pytest.mark.parametrize(
    ("written", "line"),
    [
        (
            "replicaCounts: 3",
            "controller.replicaCounts: the add-on has no key replicaCounts here. Did you mean replica",
        ),
        ("replicaCount: 0", "controller.replicaCount: AWS's schema rejects it: 0 is less than the minimum of 1."),
        ("tolerations: [{effect: Never}]", "controller.tolerations: document 1"),
    ],
)
def test_what_the_schema_rejects_is_named_with_its_line(project: Project, written: str, line: str) -> None:
    write_schema(project, json.dumps(get_schema(NAME)))
    text = STACK.replace("replicaCount: 3", written)
    stack = project.load(text)
    with pytest.raises(MultiarchError) as caught:
        make_plan(stack, today=TODAY)
    expected = f"Pulumi.shop-dev.yaml:{text.splitlines().index('            ' + written) + 1} "
    found = str(caught.value)
    assert expected in found
    assert f"addons.extra.{NAME}.configurationValues.{line.partition(': document')[0]}" in found


@pytest.mark.parametrize(
    ("text", "says"), [("{", "is not JSON"), ('{"type": "strange"}', "'strange' is not valid"), ("[]", "[] is not")]
)
def test_a_file_that_is_no_schema_rejects_the_stack(project: Project, text: str, says: str) -> None:
    write_schema(project, text)
    with pytest.raises(MultiarchError) as caught:
        make_plan(project.load(STACK), today=TODAY)
    assert says in str(caught.value)
    assert "run `multiarch stack pin shop-dev`" in str(caught.value)


def test_without_the_library_the_check_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fake(name: str, *rest: Any) -> Any:  # noqa: ANN401  (as the built-in)
        if name == "jsonschema":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fake)
    schema: Mapping[str, Any] = {}
    with pytest.raises(MultiarchError, match=r"pip install 'multiarch-eks\[addons\]'"):
        list(find_faults(schema, {}))


def test_a_schema_is_never_fetched_from_where_it_refers_to() -> None:
    schema = {"properties": {"a": {"$ref": "https://example.com/schema.json"}}}
    with pytest.raises(Exception, match="Unresolvable"):
        list(find_faults(schema, {"a": 1}))
