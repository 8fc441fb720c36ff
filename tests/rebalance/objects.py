"""Objects of a World, as the API server keeps them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def apply(value: Object, operation: Mapping[str, Any]) -> None:
    """One operation of a JSON patch."""
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
    here = value
    for part in way:
        here = here[part]
    if operation["op"] == "remove":
        del here[last]
    else:
        here[last] = copy.deepcopy(operation["value"])


def owner(pod: Object) -> str:
    return "".join(str(each["uid"]) for each in pod["metadata"].get("ownerReferences", ()))


def become_ready(pod: Object) -> None:
    if "deletionTimestamp" not in pod["metadata"]:
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def is_ready(pod: Object) -> bool:
    return any(each["type"] == "Ready" for each in pod["status"]["conditions"])
