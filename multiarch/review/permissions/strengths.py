"""Settings whose values are stronger or weaker, and resources that become weaker by a change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from multiarch.review.model import Finding, ReviewRule, Risk
from multiarch.review.permissions.reporting import Difference, report
from multiarch.review.permissions.sides import Resource, Sides, hidden

Strength = Callable[[object], float]
"""How strong a value is, in numbers that only compare with each other; None is a value that is not set."""


def on(*values: object) -> Strength:
    """Strong for these values, by default for what is true."""
    strong = {str(each).lower() for each in values or (True,)}
    return lambda value: float(str(value).lower() in strong)


def off(value: object) -> float:
    """Strong unless it is true."""
    return float(str(value).lower() != "true")


def not_off(value: object) -> float:
    """Strong unless it is false: the default is strong."""
    return float(str(value).lower() != "false")


def contains(member: str) -> Strength:
    """Strong for a list with this member."""
    return lambda value: float(isinstance(value, list | tuple) and member in value)


def is_set(value: object) -> float:
    """Strong for any value."""
    return float(value not in (None, "", [], {}))


def at_least(default: float = 0) -> Strength:
    """The more, the stronger; ``default`` where it is not set."""
    return lambda value: _number(value, default)


def at_most(default: float = 0) -> Strength:
    """The less, the stronger."""
    return lambda value: -_number(value, default)


def _number(value: object, default: float) -> float:
    try:
        return default if value is None else float(str(value))
    except ValueError:
        return -inf


@dataclass(frozen=True, slots=True)
class Setting:
    """One property and how strong its values are.

    ``path`` has dots, and ``[]`` for each element of a list, of which the weakest counts. ``words`` say what a weaker
    value means, ``{}`` is the value. ``types`` may end with ``*``. ``if_new``: also said of a new resource that is not
    as strong as it could be; otherwise only if one of its type that is deleted was stronger.
    """

    rule: ReviewRule
    types: tuple[str, ...]
    path: str
    strength: Strength
    words: str
    if_new: bool = False

    def is_for(self, type_: str) -> bool:
        """Whether resources of a type have the setting."""
        return any(type_ == each or (each.endswith("*") and type_.startswith(each[:-1])) for each in self.types)

    def weakest(self, resource: Resource) -> tuple[float, object]:
        """The strength of a resource and the value that has it."""
        values = list(_values(resource.inputs, self.path.split("."))) or [None]
        return min(((self._strength_of(each), each) for each in values), key=lambda pair: pair[0])

    def _strength_of(self, value: object) -> float:
        """A value that is not known may be the weakest, unless any value is strong."""
        return -inf if hidden(value) and self.strength is not is_set else self.strength(value)


def _values(inputs: object, path: Sequence[str]) -> Iterator[object]:
    if not path:
        yield inputs
        return
    name = path[0].removesuffix("[]")
    value = inputs.get(name) if isinstance(inputs, Mapping) else inputs
    if not isinstance(inputs, Mapping) and not hidden(inputs):
        value = None
    if path[0].endswith("[]"):
        for each in value if isinstance(value, list | tuple) else [] if value is None else [value]:
            yield from _values(each, path[1:])
    elif isinstance(value, list | tuple) and len(path) > 1 and len(value) == 1:
        yield from _values(value[0], path[1:])  # blocks of at most one element
    else:
        yield from _values(value, path[1:])


@dataclass(frozen=True, slots=True)
class Companion:
    """A resource of its own that protects another one: ``words`` say what its deletion means for that."""

    rule: ReviewRule
    type: str
    targets: tuple[str, ...]
    name: str
    words: str


def weakened(sides: Sides, settings: Sequence[Setting], companions: Sequence[Companion] = ()) -> Iterator[Finding]:
    """Resources that have weaker settings, or lose a companion, by URN; one finding for each rule."""
    deleted = [each for urn, each in sides.before.items() if urn not in sides.after]
    for urn in sorted(sides.touched):
        old, new = sides.before.get(urn), sides.after.get(urn)
        lines: dict[ReviewRule, list[str]] = {}
        if new is not None:
            for setting in settings:
                if setting.is_for(new.type) and (line := _line(setting, old, new, deleted)):
                    lines.setdefault(setting.rule, []).append(line)
        elif old is not None:
            for companion in companions:
                if companion.type == old.type and not _target_is_gone(sides, companion, old):
                    lines.setdefault(companion.rule, []).append(companion.words)
        for rule, several in lines.items():
            subject = (new or old or sides.before[urn]).subject
            verb = "is created weaker than it could be" if old is None else "becomes weaker"
            difference = Difference(subject, verb, several, "", [], [urn], sides.outside)
            yield from report(rule, difference, Risk.MEDIUM if old is None else None)


def _line(setting: Setting, old: Resource | None, new: Resource, deleted: Iterable[Resource]) -> str:
    after, value = setting.weakest(new)
    if old is None:
        others = [setting.weakest(each)[0] for each in deleted if each.type == new.type]
        strong = max([*others, *([1.0] if setting.if_new else [])], default=-inf)
    else:
        strong, _ = setting.weakest(old)
    if after >= strong:
        return ""
    if reason := hidden(value):
        return f"{setting.path} {reason}"
    return setting.words.format("not set" if value is None else value if isinstance(value, str) else json.dumps(value))


def _target_is_gone(sides: Sides, companion: Companion, old: Resource) -> bool:
    found = {sides.reference(old, companion.name, each) for each in companion.targets}
    return any(each in sides.before and each not in sides.after for each in found if each is not None)
