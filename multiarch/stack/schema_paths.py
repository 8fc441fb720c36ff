"""Walking a schema by a value's path: which keys are known there, and where else a key belongs.

The schema is the stack's unless another ``root`` is given.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from multiarch.errors import KeyPath
from multiarch.schema.base import LaterSection, Section
from multiarch.schema.stack import StackSpec

_WORD = re.compile(r"[A-Z]?[a-z0-9]+")
_NEARLY = 0.75
_NAME, _ELEMENT = "NAME", "[]"
_BELOW = {dict: (_NAME,), list: (_ELEMENT,)}


def list_fields(model: type[Section]) -> dict[str, FieldInfo]:
    """Return the model's fields by the key that a team writes."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def read_descriptions(model: type[Section]) -> dict[str, str]:
    """Return what the docstrings below a model's fields say, base classes' included, by the key that a team writes."""
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


@cache
def list_sections(root: type[Section] = StackSpec) -> Mapping[KeyPath, type[Section]]:
    """Return every section of the schema by its path, ``root`` first: NAME for names that a team gives, [] in lists."""
    found: list[tuple[KeyPath, type[Section]]] = [((), root)]
    for path, model in found:  # it grows
        for key, field in list_fields(model).items():
            for option in list_options(field.annotation):
                below = _BELOW.get(get_origin(option), ())
                inner = get_args(option)[-1] if below else option
                if _is_model(inner):
                    found.append(((*path, key, *below), inner))
    return dict(found)


def list_models(root: type[Section] = StackSpec) -> Iterable[type[Section]]:
    """Return every model of the schema, each once, ``root`` first."""
    return dict.fromkeys(list_sections(root).values())


def find_model(path: KeyPath, root: type[Section] = StackSpec) -> type[Section] | None:
    """Return the model whose keys stand below ``path``, or None where there is a scalar, a list or a free mapping."""
    known = list_sections(root)
    place: KeyPath = ()
    for part in path:
        place = next((each for each in ((*place, _NAME), (*place, _ELEMENT)) if each in known), (*place, part))
    return known.get(place)


def is_required(path: KeyPath, root: type[Section] = StackSpec) -> bool:
    """Return whether a key can't be omitted."""
    model = find_model(path[:-1], root)
    field = list_fields(model).get(str(path[-1])) if model else None
    return field is not None and field.is_required()


def find_elsewhere(key: str, root: type[Section] = StackSpec) -> tuple[str, ...]:
    """Return where else in a file ``key`` is known: dotted paths with NAME for a node group's name, sorted."""
    return tuple(
        sorted(
            ".".join((*map(str, path), key))
            for path, model in list_sections(root).items()
            if key in list_fields(model) and _ELEMENT not in path
        )
    )


def find_nearest(written: str, known: Sequence[str], similarity: float = _NEARLY) -> str | None:
    """Return the known word that was probably meant.

    It may be spelled otherwise (``instance_types``), have more parts (``kubernetesVersion`` for ``version``), or be
    few letters away: by ``similarity``, of which 1 is the same word.
    """
    plain = {_bare(word): word for word in known}
    bare = _bare(written)
    if bare in plain:
        return plain[bare]
    holding = [word for word in known if bare in map(str.lower, _WORD.findall(word))]
    if len(holding) == 1:
        return holding[0]
    from difflib import get_close_matches  # noqa: PLC0415  (only needed once something is wrong)

    close = get_close_matches(bare, plain, n=1, cutoff=similarity)
    return plain[close[0]] if close else None


def _bare(word: str) -> str:
    # Sizes are written xxl and 2xl.
    return re.sub(r"xx+(?=l)", lambda size: f"{len(size[0])}x", re.sub(r"[-_ ]", "", word).lower())


def list_options(annotation: Any) -> Iterator[Any]:  # noqa: ANN401  (an annotation has no better type)
    """Yield the members of a union, without Annotated; anything else is its own only option."""
    if get_origin(annotation) is Annotated:
        yield from list_options(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, types.UnionType}:
        for member in get_args(annotation):
            yield from list_options(member)
    else:
        yield annotation.load() if isinstance(annotation, LaterSection) else annotation


def _is_model(annotation: Any) -> bool:  # noqa: ANN401
    return isinstance(annotation, type) and issubclass(annotation, Section)
