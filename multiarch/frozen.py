"""``dataclass`` of :mod:`dataclasses`, which makes frozen classes with slots in a quarter of the time.

Python before 3.13 compiles seven functions for each such class, one by one. That was a fifth of the time of ``stack
check``, whose modules take ``dataclass`` from here. Only ``__init__`` differs between classes by more than the names of
their fields, and is compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  (type checkers know the library's alone)
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """Return the decorator. With other options than ``frozen`` and ``slots`` it is the library's."""
        return _make_class if options == {"frozen": True, "slots": True} else dataclasses.dataclass(**options)


def _make_class(written: type) -> type:
    made: type = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(written)
    fields = dataclasses.fields(made)
    compared = [each.name for each in fields if each.compare]
    get_values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    def is_equal(one: Any, other: object) -> bool:  # noqa: ANN401  (an instance of the class)
        return get_values(one) == get_values(other) if other.__class__ is one.__class__ else NotImplemented

    methods = {
        "__init__": _compile_init(made, fields),
        "__repr__": _show,
        "__eq__": is_equal,
        "__hash__": lambda one: hash(get_values(one)),
        "__setattr__": _reject,
        "__delattr__": _reject,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
    }
    for name, method in methods.items():
        if written.__dict__.get(name) is None:  # Python sets __hash__ to None in a class with an __eq__
            setattr(made, name, method)
    return made


def _compile_init(made: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = ["pass"]
    for field in fields:
        name, default = field.name, f"_default_{field.name}"
        parameter = value = name
        if field.default_factory is not dataclasses.MISSING:
            known[default] = field.default_factory
            value = f"{default}() if {name} is _missing else {name}" if field.init else f"{default}()"
            parameter = f"{name}=_missing"
        elif field.default is not dataclasses.MISSING:
            known[default] = field.default
            value = name if field.init else default
            parameter = f"{name}={default}"
        elif not field.init:
            continue
        if field.init:
            parameters[bool(field.kw_only)].append(parameter)
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    given = ["self", *parameters[False], *(["*", *parameters[True]] if parameters[True] else [])]
    exec(f"def __init__({', '.join(given)}):\n " + "\n ".join(lines), known)  # noqa: S102  (as the library does)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields if field.init}
    return init


def _show(one: Any) -> str:  # noqa: ANN401  (an instance of any of the classes, as below)
    shown = (f"{field.name}={getattr(one, field.name)!r}" for field in dataclasses.fields(one) if field.repr)
    return f"{one.__class__.__qualname__}({', '.join(shown)})"


def _reject(_: object, name: str, *_value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r}")


def _get_state(one: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(one, field.name) for field in dataclasses.fields(one)]


def _set_state(one: Any, state: list[Any]) -> None:  # noqa: ANN401
    for field, value in zip(dataclasses.fields(one), state, strict=True):
        object.__setattr__(one, field.name, value)
