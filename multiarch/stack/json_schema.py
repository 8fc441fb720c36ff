"""The JSON Schema of a stack file, for editors: ``config/stack.schema.json``.

It describes the whole file as it is written, draft 2020-12: the stack's keys with and without the project's namespace,
other namespaces, and what Pulumi itself writes beside ``config``. No top-level key is required, because
``Pulumi.yaml`` may bring any of them. ``multiarch stack schema --write`` writes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from multiarch.schema.stack import StackSpec
from multiarch.stack.engine_config import NAMESPACE
from multiarch.stack.schema_paths import list_models, read_descriptions

SCHEMA_FILE = Path("config", "stack.schema.json")
_STACK = "StackSpec"


def render_schema() -> str:
    """Return the schema as the file holds it. The same schema gives the same bytes."""
    return json.dumps(build_stack_file_schema(), indent=2, ensure_ascii=False) + "\n"


def build_stack_file_schema() -> dict[str, Any]:
    """Return the schema of a stack file, as JSON values."""
    root = StackSpec.model_json_schema()
    definitions = root.pop("$defs")
    for model in list_models():
        described = definitions.get(model.__name__, root)["properties"]
        for key, text in read_descriptions(model).items():
            described[key] = dict(sorted({**described[key], "description": text}.items()))
    properties = root["properties"]
    for schema in properties.values():
        _accept_flags_as_text(schema)
    keys = {name: {"$ref": f"#/$defs/{_STACK}/properties/{name}"} for name in properties}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A stack of multiarch-eks",
        "description": "config/stacks/Pulumi.TEAM-ENV.yaml",
        "type": "object",
        "properties": {
            "config": {
                "description": (
                    f"The stack's configuration. Write the keys with {NAMESPACE}: before them: writing this file, "
                    "Pulumi adds it, and then the comments between the keys are lost."
                ),
                "type": "object",
                "properties": {f"{NAMESPACE}:{name}": ref for name, ref in keys.items()} | keys,
                "patternProperties": {f"^(?!{NAMESPACE}:)[^:]+:.+$": {"description": "Configuration of a provider."}},
                "additionalProperties": False,
                "allOf": [{"not": {"required": [name, f"{NAMESPACE}:{name}"]}} for name in keys],
            },
            "encryptedkey": {"description": "Written by Pulumi: the secrets' encrypted key.", "type": "string"},
            "encryptionsalt": {"description": "Written by Pulumi: the passphrase's salt.", "type": "string"},
            "environment": {
                "description": "Pulumi ESC environments. `multiarch stack check` does not see their values."
            },
            "secretsprovider": {"description": "Who encrypts Pulumi's secrets, such as awskms://….", "type": "string"},
        },
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())) | {_STACK: {"type": "object", "properties": properties}},
    }
    written: dict[str, Any] = tidy_schema(schema)
    return written


def _accept_flags_as_text(schema: dict[str, Any]) -> None:
    """``pulumi config set`` writes a top-level flag as the text ``"true"``."""
    options = schema.get("anyOf", [schema])
    if any(option.get("type") == "boolean" for option in options):
        schema.pop("type", None)
        others = [option for option in options if option is not schema]
        schema["anyOf"] = [*(others or [{"type": "boolean"}]), {"enum": ["true", "false"]}]


def tidy_schema(value: Any) -> Any:  # noqa: ANN401  (JSON)
    """Omit what tells an editor's user nothing.

    That is the titles that pydantic makes of names, the defaults of whole sections, null where a key may be omitted,
    and the marks of code and line breaks in descriptions.
    """
    if isinstance(value, list):
        return [tidy_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    written = {}
    for key, inner in _without_null(value).items():
        if key == "title" and "$schema" not in value and isinstance(inner, str):
            continue
        if key == "default" and (inner is None or isinstance(inner, dict)):
            continue
        plain = " ".join(inner.replace("``", "").split()) if key == "description" and isinstance(inner, str) else inner
        written[key] = tidy_schema(plain)
    if "patternProperties" in written:  # pydantic allows keys of other forms there, which loading rejects
        written.setdefault("additionalProperties", False)
    return written


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    others = [option for option in options if option != {"type": "null"}]
    rest = {key: inner for key, inner in schema.items() if key != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
