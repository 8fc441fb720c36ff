"""Writing values into a stack file: comments, order and every other byte stay."""

from __future__ import annotations

from collections.abc import Iterable

from multiarch.stack.engine_config import NAMESPACE
from multiarch.stack.origin import Origin
from multiarch.stack.yaml_source import parse_yaml_file
from multiarch.yaml_text.additions import APPEND, Addition
from multiarch.yaml_text.edit import set_value

_BELOW = {"maxSize": "minSize", "desiredSize": "minSize"}
"""The key below which a new one is written; others go below the instance types, which they belong to."""


def write_values(text: str, values: Iterable[Addition]) -> str:
    """Return a stack file's text with values added or replaced; their paths start below ``config``, without namespaces.

    A tuple is a list, which can only grow. Raises EditError for a value that other places share by an alias.
    """
    keys = parse_yaml_file(text, "").value["config"]
    # As the engine reads them: NAMESPACE:key, key, or NAMESPACE:config:key.
    spelled = {key.rpartition(":")[2]: key for key in keys if ":" not in key or key.startswith(f"{NAMESPACE}:")}
    prefix = f"{NAMESPACE}:" if any(":" in key for key in spelled.values()) else ""
    for each in values:
        head, *rest = map(str, each.path)
        path, value = ("config", spelled.get(head, f"{prefix}{head}"), *rest), each.value
        below = _BELOW.get(path[-1], "instanceTypes")
        if isinstance(value, tuple):
            value, there = list(value), Origin(values=parse_yaml_file(text, "").value).value(path)
            if there is None:
                text = set_value(text, Addition(path, value), below=below)
            for item in value if there is not None else ():
                text = text if item in there else set_value(text, Addition((*path, APPEND), item))
        else:
            text = set_value(text, Addition(path, value, each.comment), below=below)
    return text
