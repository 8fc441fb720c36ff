"""EKS add-ons: their names, and how their controllers come to tolerate a taint.

Add-on versions are not pinned here: they depend on cluster and region, and ``multiarch stack pin`` writes
them into the stack file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from multiarch.errors import UnknownFactError
from multiarch.facts.taints import Effect
from multiarch.facts.tolerations import CRITICAL_ADDONS, Toleration, TolerationOperator


@dataclass(frozen=True, slots=True)
class AddOn:
    """One EKS add-on.

    ``toleration_path`` is the place in the add-on's ``configurationValues`` that takes a list of tolerations for its
    controller, from the outside in; ``None`` when nothing has to be set, because all of its pods run in a
    DaemonSet that tolerates every taint. The list there replaces the add-on's own, so ``default_tolerations``
    have to be repeated in it.
    """

    name: str
    toleration_path: tuple[str, ...] | None
    default_tolerations: tuple[Toleration, ...] = ()

    def configuration(self, *tolerations: Toleration) -> dict[str, object]:
        """Return configuration values that add ``tolerations`` to the defaults; empty when there is nothing to set."""
        if self.toleration_path is None or not tolerations:
            return {}
        merged = dict.fromkeys((*self.default_tolerations, *tolerations))
        value: object = [toleration.as_dict() for toleration in merged]
        for name in reversed(self.toleration_path):
            value = {name: value}
        if not isinstance(value, dict):
            raise TypeError(f"{self.name}: toleration_path is empty")
        return value


_CONTROL_PLANE = Toleration(
    "node-role.kubernetes.io/control-plane", TolerationOperator.EXISTS, effect=Effect.NO_SCHEDULE
)
_FIVE_MINUTES = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE, seconds=300)

_ADD_ONS = (
    AddOn("vpc-cni", None),
    AddOn("kube-proxy", None),
    AddOn("eks-pod-identity-agent", None),
    AddOn(
        "coredns",
        ("tolerations",),
        (_CONTROL_PLANE, CRITICAL_ADDONS),
    ),
    # The node DaemonSet of the driver tolerates everything; its controller does not.
    # Source: the driver's chart, values.yaml, controller.tolerations.
    AddOn(
        "aws-ebs-csi-driver",
        ("controller", "tolerations"),
        (CRITICAL_ADDONS, _FIVE_MINUTES),
    ),
)


@cache
def add_ons() -> Mapping[str, AddOn]:
    """All known add-ons by name, sorted by name."""
    return MappingProxyType({add_on.name: add_on for add_on in sorted(_ADD_ONS, key=lambda row: row.name)})


def add_on(name: str) -> AddOn:
    """Look an add-on up. Raises :class:`UnknownFactError` with the known names."""
    try:
        return add_ons()[name]
    except KeyError:
        raise UnknownFactError("EKS add-on", name, hint=f"Known are {', '.join(add_ons())}.") from None
