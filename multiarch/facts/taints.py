"""Taints: parsed from kubectl's notation, and written as kubectl, the kubelet and the EKS API do.

Kubernetes and the kubelet say ``NoSchedule``, the EKS API says ``NO_SCHEDULE``
(https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from multiarch.errors import MultiarchError
from multiarch.facts.limits import NameKind, check_name
from multiarch.frozen import dataclass

__all__ = ["UNTAINTED", "Effect", "Taint", "TaintSyntaxError", "keeps_pods_away", "parse_taint"]


UNTAINTED = ("multiarch-eks/arm64-taint", "none")
"""Tag of a group, or annotation of a NodePool, whose arm64 nodes have no taint on purpose."""


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it, in Kubernetes' spelling."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TaintSyntaxError(MultiarchError):
    """A taint that Kubernetes would reject; ``hint`` says what to write."""


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """One taint. ``value`` may be empty."""

    key: str
    value: str
    effect: Effect

    def __str__(self) -> str:
        """Kubectl's and the kubelet's notation: ``arch=arm64:NoSchedule``, without a value ``arch:NoSchedule``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    def to_json(self) -> str:
        """Return kubectl's notation."""
        return str(self)

    @property
    def eks_effect(self) -> str:
        """The effect as the EKS API spells it, ``NO_SCHEDULE``."""
        return self.effect.name


def keeps_pods_away(taints: Iterable[Taint]) -> bool:
    """Return whether one of the taints keeps pods off that do not tolerate it; ``PreferNoSchedule`` does not."""
    return any(taint.effect is not Effect.PREFER_NO_SCHEDULE for taint in taints)


def parse_taint(text: str) -> Taint:
    """Read ``key=value:Effect`` or ``key:Effect``.

    Raises TaintSyntaxError for anything the kubelet's ``--register-with-taints`` would reject, including the EKS
    API's spelling of the effect.
    """
    key_and_value, colon, effect = text.rpartition(":")
    if not colon:
        form = f"{text}:NoSchedule" if "=" in text else "KEY=VALUE:EFFECT, such as arch=arm64:NoSchedule"
        raise TaintSyntaxError(f"{text!r} has no effect.", hint=f"Write {form}.")
    if effect not in set(Effect):
        meant = {each.lower(): each for each in Effect}.get(effect.replace("_", "").lower(), Effect.NO_SCHEDULE)
        hint = f"Write {key_and_value}:{meant}; effects are {', '.join(Effect)}."
        raise TaintSyntaxError(f"Unknown taint effect {effect!r}.", hint=hint)
    key, _, value = key_and_value.partition("=")
    if fault := check_name(NameKind.TAINT_KEY, key) or check_name(NameKind.TAINT_VALUE, value):
        raise TaintSyntaxError(f"{fault}.", hint="Write it as in arch=arm64:NoSchedule.")
    return Taint(key, value, Effect(effect))
