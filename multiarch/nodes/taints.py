"""Taints: parsed from kubectl's notation, written in each spelling that a consumer wants.

Kubernetes and the kubelet say ``NoSchedule``, the EKS API says ``NO_SCHEDULE``
(https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from multiarch.errors import MultiarchError


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it, in Kubernetes' spelling."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


# Kubernetes' qualified names and label values: apimachinery, pkg/util/validation.
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PREFIX_LIMIT = 253


class TaintSyntaxError(MultiarchError):
    """A taint that Kubernetes would refuse, with the way out in ``hint``."""


def qualified_name_fault(name: str) -> str | None:
    """Say why ``name`` is no label or taint key (``[prefix/]name``), or return None when it is one."""
    prefix, slash, rest = name.rpartition("/")
    if slash and (len(prefix) > _PREFIX_LIMIT or not _SUBDOMAIN.fullmatch(prefix)):
        return f"the prefix {prefix!r} is no DNS subdomain"
    if not _NAME.fullmatch(rest):
        return f"{rest!r} is not 1 to 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
    return None


def label_value_fault(value: str) -> str | None:
    """Say why ``value`` is no label or taint value, or return None when it is one (the empty value is)."""
    if value and not _NAME.fullmatch(value):
        return f"{value!r} is not up to 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
    return None


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """One taint. ``value`` may be empty."""

    key: str
    value: str
    effect: Effect

    def __str__(self) -> str:
        """Kubectl's and the kubelet's notation: ``arch=arm64:NoSchedule``, without a value ``arch:NoSchedule``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def eks_effect(self) -> str:
        """The effect as the EKS API spells it, ``NO_SCHEDULE``."""
        return self.effect.name


def parse_taint(text: str) -> Taint:
    """Read ``key=value:Effect`` or ``key:Effect``.

    Raises TaintSyntaxError for anything the kubelet's ``--register-with-taints`` would refuse, among it the EKS
    API's spelling of the effect.
    """
    key_and_value, colon, effect = text.rpartition(":")
    if not colon:
        raise TaintSyntaxError(f"{text!r} has no effect.", hint=f"Write {text}:NoSchedule.")
    if effect not in set(Effect):
        spelled = {e.name: e for e in Effect} | {e.lower(): e for e in Effect} | {e.name.lower(): e for e in Effect}
        meant = spelled.get(effect) or spelled.get(effect.lower())
        hint = (
            f"That is the EKS API's spelling; write {key_and_value}:{meant}."
            if meant and "_" in effect
            else f"Write {key_and_value}:{meant or Effect.NO_SCHEDULE}; effects are {', '.join(Effect)}."
        )
        raise TaintSyntaxError(f"{effect!r} is no taint effect.", hint=hint)
    key, _, value = key_and_value.partition("=")
    if fault := qualified_name_fault(key):
        raise TaintSyntaxError(f"{key!r} is no taint key: {fault}.", hint="Write it as in arch=arm64:NoSchedule.")
    if fault := label_value_fault(value):
        raise TaintSyntaxError(f"{value!r} is no taint value: {fault}.", hint="Write it as in arch=arm64:NoSchedule.")
    return Taint(key, value, Effect(effect))
