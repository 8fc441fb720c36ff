"""Requirements on labels, as node affinity and label selectors share them.

Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from multiarch.facts.labels import ARCHITECTURE, REPLACED_BY
from multiarch.frozen import dataclass
from multiarch.manifests.values import Value

ARCHITECTURE_LABELS = (ARCHITECTURE, *(old for old, new in REPLACED_BY.items() if new == ARCHITECTURE))
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_INT64 = 2**63


class Operator(StrEnum):
    """How a requirement compares a label. ``Gt`` and ``Lt`` exist for nodes only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


_SETS = (Operator.IN, Operator.NOT_IN)
_PRESENCE = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_NUMBERS = (Operator.GT, Operator.LT)
LABEL_SELECTOR_OPERATORS = (*_SETS, *_PRESENCE)
NODE_OPERATORS = tuple(Operator)


@dataclass(frozen=True, slots=True, order=True)
class Expression:
    """One requirement on one label; ``values`` keep the order in which they are written."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with ``labels`` meets this.

        Without the label, ``NotIn`` and ``DoesNotExist`` are met and all others are not; ``Gt`` and ``Lt`` compare
        64-bit integers and are not met by anything else.
        """
        value = labels.get(self.key)
        if value is None:
            return self.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return True
            case Operator.DOES_NOT_EXIST:
                return False
            case _:
                return self._compares(value)

    def _compares(self, value: str) -> bool:
        there, wanted = parse_integer(value), self.number
        if there is None or wanted is None:
            return False
        return there > wanted if self.operator is Operator.GT else there < wanted

    @property
    def number(self) -> int | None:
        """What ``Gt`` and ``Lt`` compare with, ``None`` if that is not a 64-bit integer."""
        return parse_integer(self.values[0]) if self.operator in _NUMBERS and self.values else None

    @property
    def invalid(self) -> bool:
        """Whether this compares with what is not a number. The API server accepts it; no node ever meets its term."""
        return self.operator in _NUMBERS and self.number is None

    def __str__(self) -> str:
        """What is required: ``architecture amd64``, ``disk in [hdd, ssd]``, ``no label spot``."""
        values = ", ".join(self.values)
        if self.operator in _SETS and len(self.values) == 1:
            return self._of_one_value(values)
        return {
            Operator.IN: f"{self.key} in [{values}]",
            Operator.NOT_IN: f"{self.key} not in [{values}]",
            Operator.EXISTS: f"a label {self.key}",
            Operator.DOES_NOT_EXIST: f"no label {self.key}",
            Operator.GT: f"{self.key}>{values}",
            Operator.LT: f"{self.key}<{values}",
        }[self.operator]

    def _of_one_value(self, value: str) -> str:
        wanted = self.operator is Operator.IN
        if self.key in ARCHITECTURE_LABELS:
            return f"architecture {value}" if wanted else f"architecture other than {value}"
        return f"{self.key}{'=' if wanted else '!='}{value}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that are all to be met; with none, everything is selected."""

    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with ``labels`` is selected."""
        return all(expression.matches(labels) for expression in self.expressions)

    def narrowed(self, *more: Expression) -> LabelSelector:
        """Return this selector with further requirements, in a form that is the same for the same requirements."""
        return LabelSelector(tuple(sorted({*self.expressions, *more})))

    def __str__(self) -> str:
        """``app=api and tier in [a, b]``, or ``every label`` where nothing is required."""
        return " and ".join(str(expression) for expression in self.expressions) or "every label"


def parse_integer(text: str) -> int | None:
    """Read a 64-bit integer in decimal digits, ``None`` for anything else, spaces and underscores included."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None


def read_expression(value: Value, operators: tuple[Operator, ...] = NODE_OPERATORS) -> Expression:
    """Read ``{key, operator, values}``. Raises ManifestError for what the API server rejects."""
    key = value["key"].required_text()
    written = value["operator"].required_text()
    if written not in operators:
        raise value["operator"].error(f"{written!r} is not an operator here.", hint=f"Use {', '.join(operators)}.")
    operator, values = Operator(written), value["values"].texts()
    if operator in _SETS and not values:
        raise value["values"].error(f"{operator} needs at least one value.")
    if operator in _PRESENCE and values:
        raise value["values"].error(f"{operator} takes no values.")
    if operator in _NUMBERS and len(values) != 1:
        raise value["values"].error(f"{operator} takes exactly one value.")
    return Expression(key, operator, values)


def read_label_selector(value: Value) -> LabelSelector | None:
    """Read ``{matchLabels, matchExpressions}``; ``None`` when there is no selector, which selects nothing."""
    if value.missing:
        return None
    equal = [Expression(key, Operator.IN, (text,)) for key, text in value["matchLabels"].pairs()]
    other = [read_expression(element, LABEL_SELECTOR_OPERATORS) for element in value["matchExpressions"].items()]
    return LabelSelector().narrowed(*equal, *other)
