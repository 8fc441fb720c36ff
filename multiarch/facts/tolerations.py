"""Tolerations: which taints each one matches, and how manifests write it.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from enum import StrEnum

from multiarch.facts.taints import Effect, Taint
from multiarch.frozen import dataclass

COMPARISON_GATE = "TaintTolerationComparisonOperators"
"""The feature gate of ``Lt`` and ``Gt``: alpha and off since 1.35. EKS turns on no alpha features."""


class TolerationOperator(StrEnum):
    """How a toleration compares the taint's value."""

    EQUAL = "Equal"
    EXISTS = "Exists"
    LT = "Lt"
    GT = "Gt"


_NUMBERS = (TolerationOperator.LT, TolerationOperator.GT)


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration. An empty ``key`` (with ``Exists``) matches every key, ``effect`` ``None`` every effect.

    ``seconds`` limits how long a pod stays on a node with a ``NoExecute`` taint; scheduling ignores it.
    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Effect | None = None
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Return whether a pod with this toleration may run on a node with ``taint``.

        ``Equal`` compares the whole value, so an empty one matches only a taint without a value; ``Exists`` matches
        every value. ``Lt`` and ``Gt`` match nothing: their feature gate is off.
        """
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator is TolerationOperator.EXISTS:
            return True
        return self.operator is TolerationOperator.EQUAL and bool(self.key) and self.value == taint.value

    @property
    def unsupported(self) -> str | None:
        """Why this toleration has no effect in EKS, as a clause, or ``None``."""
        if self.operator not in _NUMBERS:
            return None
        return f"toleration {self}: {self.operator} needs the alpha feature {COMPARISON_GATE}, which is off in EKS"

    def as_dict(self) -> dict[str, str | int]:
        """Return the fields of a manifest, without those that are not set."""
        fields: dict[str, str | int | None] = {
            "key": self.key or None,
            "operator": str(self.operator),
            "value": self.value or None,
            "effect": None if self.effect is None else str(self.effect),
            "tolerationSeconds": self.seconds,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        """``arch=arm64:NoSchedule``, ``arch:NoSchedule``, ``arch`` for any effect, ``everything``."""
        if self.operator is TolerationOperator.EXISTS:
            head = self.key or "everything"
        else:
            sign = {TolerationOperator.LT: "<", TolerationOperator.GT: ">"}.get(self.operator, "=")
            head = f"{self.key}{sign}{self.value}"
        return f"{head}:{self.effect}" if self.effect else head


CRITICAL_ADDONS = Toleration("CriticalAddonsOnly", TolerationOperator.EXISTS)
"""Tolerated by critical add-ons: nodes reserved for them have this taint."""


def make_toleration(taint: Taint) -> Toleration:
    """Return the toleration that matches ``taint`` and no other.

    A taint without a value gets ``Equal`` without a value: ``Exists`` would match every value.
    """
    return Toleration(taint.key, TolerationOperator.EQUAL, taint.value, taint.effect)
