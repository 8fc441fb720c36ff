"""What one list of policy statements allows that another did not, and what it no longer denies.

A request is denied by a Deny statement, else allowed by an Allow statement, else neither. Statements widen where a
request moves from denied to neither or allowed, or from neither to allowed. Statements of other policies, which are
not compared, can only make that less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from multiarch.review.permissions.difference import Box, Values, choices_beyond, exceeds, overlapping
from multiarch.review.permissions.document import Statement, box_of, texts
from multiarch.review.permissions.effort import Effort, TooMuchEffortError
from multiarch.review.permissions.sides import hidden

TOO_MUCH = "has too many statements or wildcards to be compared; read it"


Elements = Mapping[str, Any]
_PARTS = ("Principal", "Action", "Resource")


@dataclass(frozen=True, slots=True)
class Grant:
    """A part of a statement. ``elements`` are the statement's, with only those actions and so on that count.

    ``other`` are the elements of a statement of the other side that differs from it in its conditions only.
    ``problem`` says, as a predicate, why the statement could not be compared; it is empty where it was.
    """

    elements: Elements
    allows: bool
    other: Elements | None = None
    problem: str = ""


def widened(old: Sequence[Statement], new: Sequence[Statement], effort: Effort) -> list[Grant]:
    """What ``new`` allows that ``old`` did not, then what ``old`` denied and ``new`` does not. Empty: it is certain."""
    effort.begin()
    allows, denies = _split(new), _split(new, allows=False)
    before, denied = _split(old), _split(old, allows=False)
    return [
        *_beyond(allows, before, [*_boxes(denies), *_boxes(before)], effort),
        *_beyond(denied, denies, _boxes(denies), effort),
    ]


def _split(statements: Iterable[Statement], *, allows: bool = True) -> list[Statement]:
    return [each for each in statements if each.allows is allows]


def _boxes(statements: Iterable[Statement]) -> list[Box]:
    return [each.box for each in statements if each.box is not None]


def _beyond(
    statements: Sequence[Statement], others: Sequence[Statement], covers: Sequence[Box], effort: Effort
) -> list[Grant]:
    """Those parts of the statements that no cover has. ``others`` are the statements of the other side."""
    known = {each.written for each in others if not hidden(each.written)}
    found: list[Grant] = []
    seen: set[str] = set()
    for each in statements:
        if each.written in known or each.written in seen:
            continue
        seen.add(each.written)
        if each.box is None:
            found.append(Grant(each.elements, each.allows, problem=each.problem))
            continue
        try:
            near = overlapping(each.box, covers, effort)
            if exceeds(each.box, near, effort):
                found += _parts(each, others, near, effort)
        except TooMuchEffortError:
            found.append(Grant(each.elements, each.allows, problem=TOO_MUCH))
    return found


def _parts(statement: Statement, others: Sequence[Statement], covers: Sequence[Box], effort: Effort) -> list[Grant]:
    """The principals, actions and resources of a statement that exceed the covers, as few grants as say so."""
    values = [_values(statement.elements, name) for name in _PARTS]

    def beyond(*choice: Values) -> bool:
        return exceeds(box_of(_reduced(statement.elements, choice), variables=statement.variables), covers, effort)

    chosen = choices_beyond(values, beyond)
    reduced = [_reduced(statement.elements, choice) for choice in chosen] or [statement.elements]
    return [Grant(each, statement.allows, _nearest(each, statement, others, effort)) for each in reduced]


def _values(elements: Elements, name: str) -> list[Any]:
    """The values of an element one by one; of a principal its kind with each. [None] for what is not a list of them."""
    value = elements.get(name)
    if isinstance(value, Mapping):
        return [(kind, each) for kind, several in value.items() for each in texts(several)] or [None]
    return [None] if value is None else list(texts(value)) or [None]


def _reduced(elements: Elements, choice: Sequence[Values]) -> Elements:
    """The elements with only the chosen values of principal, action and resource."""
    reduced = dict(elements)
    for name, values in zip(_PARTS, choice, strict=True):
        if values[0] is None:
            continue
        if isinstance(values[0], tuple):
            kinds: dict[str, list[str]] = {}
            for kind, each in values:
                kinds.setdefault(kind, []).append(each)
            reduced[name] = kinds
        else:
            reduced[name] = "*" if name == "Principal" else list(values)
    return reduced


def _nearest(elements: Elements, statement: Statement, others: Sequence[Statement], effort: Effort) -> Elements | None:
    """The elements of the first of ``others`` that has the same without its conditions."""
    try:
        box = replace(box_of(elements, variables=statement.variables), tests=())
        for each in others:
            if each.box is not None and not exceeds(box, [replace(each.box, tests=())], effort):
                return each.elements
    except TooMuchEffortError:
        pass
    return None
