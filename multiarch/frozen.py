"""``dataclass`` of :mod:`dataclasses`, which makes classes with slots in a fifth of the time.

Python before 3.13 compiles seven functions for each such class, one by one. That was a fifth of the time of ``stack
check``, whose modules take ``dataclass`` from here. Only ``__init__`` differs between classes by more than the names of
their fields: it is compiled for the first instance, since a command makes instances of few of its classes.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  (type checkers know the library's alone)
else:

    def dataclass(*, slots: bool = False, **options: bool) -> Callable[[type], type]:
        """Return the decorator. Without ``slots`` it is the library's."""
        return partial(_make_class, **options) if slots else dataclasses.dataclass(**options)


_ORDER = {f"__{each.__name__}__": each for each in (operator.lt, operator.le, operator.gt, operator.ge)}


def _make_class(written: type, *, frozen: bool = False, eq: bool = True, order: bool = False) -> type:
    made: type = dataclasses.dataclass(slots=True, init=False, repr=False, eq=False)(written)
    fields = dataclasses.fields(made)
    compared = [each.name for each in fields if each.compare]
    get_values: Callable[[Any], Any] = operator.attrgetter(*compared) if compared else lambda _: ()

    def compare(how: Callable[[Any, Any], bool]) -> Callable[[Any, object], bool]:
        def method(one: Any, other: object) -> bool:  # noqa: ANN401  (an instance of the class)
            return how(get_values(one), get_values(other)) if other.__class__ is one.__class__ else NotImplemented

        return method

    methods: dict[str, Any] = {"__init__": _Init(made, frozen=frozen), "__repr__": _show}
    if eq:
        methods |= {"__eq__": compare(operator.eq), "__hash__": None}
    if order:
        methods |= {name: compare(how) for name, how in _ORDER.items()}
    if frozen:
        methods |= {
            "__setattr__": _reject,
            "__delattr__": _reject,
            "__getstate__": _get_state,
            "__setstate__": _set_state,
        }
        if eq:
            methods["__hash__"] = lambda one: hash(get_values(one))
    for name, method in methods.items():
        if written.__dict__.get(name) is None:  # Python sets __hash__ to None in a class with an __eq__
            setattr(made, name, method)
    return made


class _Init:
    """``__init__`` of a class until it is used."""

    def __init__(self, made: type, *, frozen: bool) -> None:
        self._made, self._frozen = made, frozen

    def __get__(self, one: object, owner: type) -> Any:  # noqa: ANN401  (a function, or a bound method)
        init: Any = _compile_init(self._made, frozen=self._frozen)
        self._made.__init__ = init  # type: ignore[misc]
        return init.__get__(one, owner)


def _compile_init(made: type, *, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_missing": dataclasses.MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = ["pass"]
    fields = dataclasses.fields(made)
    for field in fields:
        name, default, set_field = field.name, f"_default_{field.name}", f"_set_{field.name}"
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
        if frozen:
            # Its slot sets a field in two thirds of the time of object.__setattr__.
            known[set_field] = getattr(made, name).__set__
        lines.append(f"{set_field}(self, {value})" if frozen else f"self.{name} = {value}")
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
