"""Tolerations, and the taint that keeps a pod off a node.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from multiarch.facts.taints import Effect, Taint
from multiarch.manifests.values import Value

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
    """One toleration. An empty ``key`` (with ``Exists``) is any taint, ``effect`` ``None`` is any effect.

    ``seconds`` bounds how long a ``NoExecute`` taint is borne; it plays no part in scheduling.
    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Effect | None = None
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Say whether a pod with this toleration may be on a node with ``taint``.

        ``Lt`` and ``Gt`` tolerate nothing: that is what they do while their feature gate is off.
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
        """Why this toleration is not judged by its own rule, in words, or ``None``."""
        if self.operator not in _NUMBERS:
            return None
        return f"toleration {self}: {self.operator} counts only with the alpha feature {COMPARISON_GATE}, so not in EKS"

    def __str__(self) -> str:
        """``arch=arm64:NoSchedule``, ``arch:NoSchedule``, ``arch`` for any effect, ``everything``."""
        if self.operator is TolerationOperator.EXISTS:
            head = self.key or "everything"
        else:
            sign = {TolerationOperator.LT: "<", TolerationOperator.GT: ">"}.get(self.operator, "=")
            head = f"{self.key}{sign}{self.value}"
        return f"{head}:{self.effect}" if self.effect else head


def first_untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> Taint | None:
    """Find the first taint that keeps the pod off: ``NoSchedule`` or ``NoExecute``, and no toleration for it.

    ``PreferNoSchedule`` is a wish and keeps nobody off.
    """
    borne = tuple(tolerations)
    for taint in taints:
        if taint.effect is Effect.PREFER_NO_SCHEDULE:
            continue
        if not any(toleration.tolerates(taint) for toleration in borne):
            return taint
    return None


def tolerations_from(value: Value) -> tuple[Toleration, ...]:
    """Read a list of tolerations, in its order. Raises ManifestError for what the API server refuses."""
    return tuple(_toleration_from(element) for element in value.items())


def _toleration_from(value: Value) -> Toleration:
    key, text = value["key"].text(), value["value"].text()
    written = value["operator"].text() or TolerationOperator.EQUAL
    if written not in set(TolerationOperator):
        raise value["operator"].error(
            f"{written!r} is no operator of a toleration.", hint=f"Known are {', '.join(TolerationOperator)}."
        )
    operator = TolerationOperator(written)
    if not key and operator is not TolerationOperator.EXISTS:
        raise value["operator"].error("without a key the operator must be Exists.")
    if operator is TolerationOperator.EXISTS and text:
        raise value["value"].error("Exists takes no value.")
    effect = value["effect"].text()
    if effect and effect not in set(Effect):
        raise value["effect"].error(f"{effect!r} is no taint effect.", hint=f"Effects are {', '.join(Effect)}.")
    seconds = value["tolerationSeconds"]
    limit = None if seconds.missing else seconds.whole(0, least=-(2**63))
    if limit is not None and effect != Effect.NO_EXECUTE:
        raise value["effect"].error("tolerationSeconds needs the effect NoExecute.")
    return Toleration(key, operator, text, Effect(effect) if effect else None, limit)


def daemon_tolerations(pod_spec: Value) -> tuple[Toleration, ...]:
    """What the DaemonSet controller lets its pods tolerate besides what is written.

    Source: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
    """
    schedule = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    if pod_spec["hostNetwork"].truth():
        schedule.append("network-unavailable")
    pairs = [("not-ready", Effect.NO_EXECUTE), ("unreachable", Effect.NO_EXECUTE)]
    pairs += [(name, Effect.NO_SCHEDULE) for name in schedule]
    return tuple(
        Toleration(f"node.kubernetes.io/{name}", TolerationOperator.EXISTS, effect=effect) for name, effect in pairs
    )
