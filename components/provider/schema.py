"""The plugin's schema: its inputs come from the models in ``multiarch/schema``; the SDK infers its outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from multiarch.schema import parts
from multiarch.schema.base import Section
from multiarch.schema.parts import KNOWN_LATER
from multiarch.schema.stack import StackSpec
from multiarch.stack.schema_paths import list_fields, list_models, list_options, read_descriptions

PACKAGE = "multiarch-eks"
ARGUMENTS: Mapping[str, type[Section]] = {
    "Platform": StackSpec,
    "NodeGroup": parts.SingleNodeGroup,
    "Karpenter": parts.SingleKarpenter,
    "ClusterAutoscaler": parts.SingleClusterAutoscaler,
    "PatchedWorkloads": parts.PatchedWorkloads,
}
"""What each component's arguments are checked by."""
_ANY = {"$ref": "pulumi.json#/Any"}
_SCALARS = {bool: "boolean", float: "number", int: "integer", str: "string"}

Json = dict[str, Any]


def complete_schema(inferred: str) -> str:
    """Add the inputs, and what a package's page shows, to the outputs that the SDK inferred."""
    made: Json = {
        "description": "Amazon EKS with amd64 and arm64 (Graviton) nodes.",
        "license": "Apache-2.0",
        **json.loads(inferred, object_hook=_tidy),
    }
    for name, root in ARGUMENTS.items():
        described = _object(root)
        resource = made["resources"][f"{PACKAGE}:index:{name}"]
        resource |= {"inputProperties": described["properties"], "requiredInputs": described.get("required", [])}
        for model in list_models(root):
            if model is not root:
                made["types"][_token(model)] = _object(model) | {"description": _line(str(model.__doc__))}
    return json.dumps(made)


def _token(model: type[Section]) -> str:
    """Return the token of a nested model's type: ``Settings`` keeps its name apart from those of resources."""
    return f"{PACKAGE}:index:{model.__name__}Settings"


def _object(model: type[Section]) -> Json:
    meanings, omitted = read_descriptions(model), getattr(model, "omitted", {})
    known = {key: field for key, field in list_fields(model).items() if key not in omitted}
    properties = {
        key: _property(field) | {"description": _describe(meanings[key], field)} for key, field in known.items()
    }
    required = sorted(key for key, field in known.items() if field.is_required())
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _property(field: FieldInfo) -> Json:
    if KNOWN_LATER in field.metadata:  # its type comes last
        return _shape(field.metadata[-1], {})
    return _shape(field.annotation, {"plain": True})


def _shape(annotation: Any, plain: Json) -> Json:  # noqa: ANN401  (an annotation)
    """Return a type; ``plain`` marks a value, and all parts of it, that can't be an output."""
    shapes = [_single(option, plain) for option in list_options(annotation) if option is not NoneType]
    # A schema's unions would have no name in most languages.
    return plain | (shapes[0] if all(each == shapes[0] for each in shapes) else _ANY)


def _single(option: Any, plain: Json) -> Json:  # noqa: ANN401  (an annotation)
    origin, arguments = get_origin(option), get_args(option)
    if origin is list:
        return {"type": "array", "items": _shape(arguments[0], plain)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _shape(arguments[1], plain)}
    if option is Any:
        return _ANY
    scalar = type(arguments[0]) if origin is Literal else option
    return {"type": _SCALARS[scalar]} if scalar in _SCALARS else {"$ref": f"#/types/{_token(option)}"}


def _describe(text: str, field: FieldInfo) -> str:
    """Say what a field is, the values that it can have, and its default."""
    sentences = [_line(text)]
    literals = [option for option in list_options(field.annotation) if get_origin(option) is Literal]
    if allowed := [value for option in literals for value in get_args(option)]:
        sentences.append(f"One of {', '.join(map(str, allowed))}.")
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if "Default:" not in text and isinstance(default, str | int) and default != "":
        sentences.append(f"Default: {str(default).lower() if isinstance(default, bool) else default}.")
    return " ".join(sentences)


def _line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _tidy(described: Json) -> Json:
    """Write a description in one line, and only once: the SDK gives it to a list's or a map's items too."""
    if isinstance(text := described.get("description"), str):
        described["description"] = _line(text)
    for items in ("items", "additionalProperties"):
        described.get(items, {}).pop("description", None)
    return described
