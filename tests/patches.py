"""Patches that a test has left in the project's modules and classes, where later tests of the process meet them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

_PACKAGES = ("multiarch", "components", "sandbox")


def left() -> list[str]:
    """Name each function, class or property of the project in whose place is one of a test's, or a mock, sorted."""
    return sorted(name for name, value in _attributes() if _from_tests(value))


def _attributes() -> Iterator[tuple[str, object]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES:
            for key, value in list(vars(module).items()):
                yield f"{name}.{key}", value
                if isinstance(value, type) and value.__module__ == name:
                    yield from ((f"{name}.{key}.{part}", inner) for part, inner in list(vars(value).items()))


def _from_tests(value: object) -> bool:
    match value:
        case property():
            value = value.fget
        case staticmethod() | classmethod():
            value = value.__func__
    if isinstance(value, partial):
        value = value.func
    module = getattr(value, "__module__", None)
    return str(module).startswith("tests.") or type(value).__module__ == "unittest.mock"
