"""The EKS add-ons: one key for each row of :mod:`multiarch.facts.addons`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model
from pydantic.alias_generators import to_snake

from multiarch.facts.addons import add_on, add_ons
from multiarch.schema.base import Section


class Addon(Section):
    """One EKS add-on."""

    enabled: bool = True
    """Install it."""
    version: str | None = None
    """An exact version such as ``v1.12.4-eksbuild.1``. ``multiarch stack pin`` writes it. Default: EKS's default
    for the cluster's version.
    """


class VpcCniAddon(Addon):
    """The VPC CNI add-on."""

    network_policy: bool = True
    """Enforce NetworkPolicies. Without it, and without another network policy engine, they have no effect."""
    prefix_delegation: bool = False
    """Give nodes /28 prefixes instead of single addresses: more pods per node, more addresses per subnet."""


class AddonsByName(Section):
    """The add-ons that a cluster needs; all are on by default."""

    def __getitem__(self, name: str) -> Addon:
        """Return the settings of the add-on that EKS calls ``name``."""
        settings: Addon = getattr(self, to_snake(add_on(name).key))
        return settings

    @property
    def prefix_delegation(self) -> bool:
        """Whether the VPC CNI is installed and gives nodes prefixes."""
        cni = self["vpc-cni"]
        return isinstance(cni, VpcCniAddon) and cni.enabled and cni.prefix_delegation


_WITH_KEYS_OF_THEIR_OWN: dict[str, type[Addon]] = {"vpc-cni": VpcCniAddon}


def _fields() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in add_ons().values():
        model = _WITH_KEYS_OF_THEIR_OWN.get(row.name, Addon)
        found[to_snake(row.key)] = (model, Field(default_factory=model.model_construct, description=row.description))
    return found


if TYPE_CHECKING:
    Addons = AddonsByName
else:
    Addons = create_model("Addons", __base__=AddonsByName, __doc__=AddonsByName.__doc__, **_fields())
