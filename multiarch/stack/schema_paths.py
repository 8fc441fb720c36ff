"""Walking a schema by a value's path: which keys are known there, and where else a key belongs.

The schema is the stack's unless another ``root`` is given.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from multiarch.errors import KeyPath
from multiarch.schema.base import Section
from multiarch.schema.stack import StackSpec

_STRUCTURED = (dict, list)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+")
_NEARLY = 0.75


def fields(model: type[Section]) -> dict[str, FieldInfo]:
    """The model's fields by the key that a team writes."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def descriptions(model: type[Section]) -> dict[str, str]:
    """What the docstrings below a model's fields say, base classes' included, by the key that a team writes."""
    import ast  # noqa: PLC0415  (only needed for the JSON Schema, and once a key is missing)
    import inspect  # noqa: PLC0415

    found: dict[str, str] = {}
    for owner in (each for each in reversed(model.__mro__) if _is_model(each)):
        classes = ast.parse(inspect.getsource(sys.modules[owner.__module__])).body
        body = next(
            (each.body for each in classes if isinstance(each, ast.ClassDef) and each.name == owner.__name__), []
        )
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
                found[field.target.id] = inspect.cleandoc(ast.literal_eval(text.value))
    fields_ = model.model_fields
    return {field.alias or name: field.description or found.get(name, "") for name, field in fields_.items()}


def models(root: type[Section] = StackSpec) -> Iterator[type[Section]]:
    """Every model of the schema, each once, ``root`` first."""
    seen: dict[type[Section], None] = {}

    def walk(annotation: Any) -> None:  # noqa: ANN401
        for option in options(annotation):
            if _is_model(option) and option not in seen:
                seen[option] = None
                for field in option.model_fields.values():
                    walk(field.annotation)
            elif get_origin(option) is dict:
                walk(get_args(option)[1])

    walk(root)
    yield from seen


def model_at(path: KeyPath, root: type[Section] = StackSpec) -> type[Section] | None:
    """The model whose keys stand below ``path``, or None where there is a scalar, a list or a free mapping."""
    annotations: list[Any] = [root]
    for part in path:
        annotations = [inner for outer in annotations for inner in _below(outer, part)]
    return next((a for a in annotations if _is_model(a)), None)


def elsewhere(key: str, root: type[Section] = StackSpec) -> tuple[str, ...]:
    """Where else in a file ``key`` is known: dotted paths with NAME for a node group's name, sorted."""
    return _places_by_key(root).get(key, ())


@cache
def _places_by_key(root: type[Section]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for where in _known(root, ()):
        found.setdefault(where.rpartition(".")[2], set()).add(where)
    return {key: tuple(sorted(places)) for key, places in found.items()}


def nearest(written: str, known: Sequence[str]) -> str | None:
    """The known word that was probably meant.

    It may be spelled otherwise (``instance_types``), have more parts (``kubernetesVersion`` for ``version``), or be
    few letters away.
    """
    plain = {_bare(word): word for word in known}
    bare = _bare(written)
    if bare in plain:
        return plain[bare]
    holding = [word for word in known if bare in map(str.lower, _WORD.findall(word))]
    if len(holding) == 1:
        return holding[0]
    from difflib import get_close_matches  # noqa: PLC0415  (only needed once something is wrong)

    close = get_close_matches(bare, plain, n=1, cutoff=_NEARLY)
    return plain[close[0]] if close else None


def _bare(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()


def is_structured(key: str) -> bool:
    """Whether the top-level ``key`` holds a mapping or a list, which the engine hands over as JSON."""
    field = fields(StackSpec).get(key)
    return field is not None and any(_is_model(a) or get_origin(a) in _STRUCTURED for a in options(field.annotation))


def options(annotation: Any) -> Iterator[Any]:  # noqa: ANN401  (an annotation has no better type)
    """The members of a union, without Annotated; anything else is its own only option."""
    if get_origin(annotation) is Annotated:
        yield from options(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, types.UnionType}:
        for member in get_args(annotation):
            yield from options(member)
    else:
        yield annotation


def _below(annotation: Any, part: str | int) -> Iterator[Any]:  # noqa: ANN401
    if _is_model(annotation):
        if isinstance(part, str) and (field := fields(annotation).get(part)):
            yield from options(field.annotation)
    elif get_origin(annotation) is dict and isinstance(part, str):
        yield from options(get_args(annotation)[1])
    elif get_origin(annotation) is list and isinstance(part, int):
        yield from options(get_args(annotation)[0])


def _is_model(annotation: Any) -> bool:  # noqa: ANN401
    return isinstance(annotation, type) and issubclass(annotation, Section)


def _known(model: type[Section], path: tuple[str, ...]) -> Iterator[str]:
    for key, field in fields(model).items():
        yield ".".join((*path, key))
        for option in options(field.annotation):
            if _is_model(option):
                yield from _known(option, (*path, key))
            elif get_origin(option) is dict and _is_model(get_args(option)[1]):
                yield from _known(get_args(option)[1], (*path, key, "NAME"))
