"""What the SDK knows of a type, in exactly the version whose provider the stand-in is for."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import get_args


@functools.cache
def read_properties(token: str) -> Mapping[str, bool]:
    """Return the properties of a type in the SDK: whether a thing always has them, whatever the program omits."""
    _, path, name = token.split(":")
    kind = getattr(importlib.import_module(f"pulumi_aws.{path.partition('/')[0]}"), name)
    getters = [each.fget for each in vars(kind).values() if isinstance(each, property) and each.fget]
    kinds = {vars(each).get("_pulumi_name", each.__name__): each.__annotations__["return"] for each in getters}
    # An output is an Output of one type.
    return {key: type(None) not in get_args(*get_args(each)) for key, each in kinds.items()}
