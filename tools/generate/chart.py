"""The generated files of the Helm chart, and what ``multiarch webhook manifests`` prints of it.

``values.yaml`` has every value with its default and its docstring, ``values.schema.json`` is the schema of the same
model.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multiarch.schema.base import Section
from multiarch.schema.webhook_installation import ChartValues
from multiarch.stack.json_schema import tidy_schema
from multiarch.stack.schema_paths import list_fields, list_models, read_descriptions
from multiarch.webhook import manifests
from multiarch.yaml_text.dump import dump_yaml
from sandbox.cluster import helm
from tools.generate import ROOT

CHART = ROOT / "charts" / "multiarch-webhook"
TARGET = Path(manifests.__file__).with_name(manifests.FILE)
_WIDTH = 110


def values() -> str:
    """Return the text of ``values.yaml``."""
    head = "# Generated from multiarch/schema/webhook_installation.py: the defaults of all values.\n"
    return head + "\n".join(_values(ChartValues, "")) + "\n"


def _values(model: type[Section], indent: str) -> Iterator[str]:
    meanings = read_descriptions(model)
    for key, field in list_fields(model).items():
        if not indent:
            yield ""
        text = " ".join(meanings[key].replace("``", "").split())
        yield from textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
        default = field.get_default(call_default_factory=True)
        if isinstance(default, Section):
            parts = list(_values(type(default), f"{indent}  "))
            yield f"{indent}{key}: {{}}" if all(part.lstrip().startswith("# ") for part in parts) else f"{indent}{key}:"
            yield from parts
        elif field.is_required() or default is None:
            yield f"{indent}# {key}:"
        else:
            yield textwrap.indent(dump_yaml({key: default}).rstrip("\n"), indent)


def schema() -> str:
    """Return the text of ``values.schema.json``."""
    root = ChartValues.model_json_schema()
    definitions = root.pop("$defs")
    for model in list_models(ChartValues):
        described = root["properties"] if model is ChartValues else definitions[model.__name__]["properties"]
        for key, text in read_descriptions(model).items():
            if key in described:
                described[key]["description"] = text
    # Helm adds the values that a chart shares with those that it depends on.
    root["properties"]["global"] = {"description": "Not used.", "type": "object"}
    # The draft that every version of Helm knows; what is used here is the same in later ones.
    written = {"$schema": "http://json-schema.org/draft-07/schema#", **root}
    written |= {"title": "multiarch-webhook", "description": "The values of the chart multiarch-webhook."}
    content: Any = tidy_schema({**written, "$defs": dict(sorted(definitions.items()))})
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def files() -> dict[Path, str]:
    """Return the text of each generated file."""
    return {CHART / "values.yaml": values(), CHART / "values.schema.json": schema()}


def generate_manifests() -> str:
    """Return what ``webhook manifests`` prints: the Namespace, and the chart with placeholders and cert-manager."""
    values = {"image": manifests.IMAGE, "name": manifests.NAME, "certificates": "cert-manager"}
    return "---\n".join(dump_yaml(each) for each in helm.render_webhook(values, manifests.NAMESPACE))
