"""What all components share: type tokens, parents, tags, and aliases for renamed resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pulumi

from multiarch.nodes.model import Tags

from .account import Account

FORMER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({})
"""Logical names of resources in earlier versions, so that a rename in the code replaces nothing.

A key is ``KIND/NAME``: the component's kind and the new logical name of one of its children, ``KIND/.`` for the
component itself, or ``KIND/*`` for all its children. ``{name}`` in a former name stands for the new one. For example,
to rename the network's ``vpc`` to ``main-vpc``, change the name where it is declared and add
``"Network/main-vpc": ("vpc",)`` here; remove the entry once every stack has been updated. A changed *type or parent*
needs a ``pulumi.Alias`` where it changes. Children of a renamed component need no entry.
Source: https://www.pulumi.com/docs/iac/concepts/options/aliases/
"""


def former_names(kind: str, child: str, name: str) -> list[pulumi.Alias]:
    """Aliases for ``name``; ``child`` is the part of the key after ``KIND/``: the name, or ``.``."""
    keys = (f"{kind}/{child}",) if child == "." else (f"{kind}/{child}", f"{kind}/*")
    return [pulumi.Alias(name=old.format(name=name)) for key in keys for old in FORMER_NAMES.get(key, ())]


@dataclass(frozen=True, slots=True)
class Naming:
    """Names and tags of a stack's resources.

    ``cluster`` is the cluster's name, the first part of every ``Name`` tag; ``tags`` are the plan's, for every taggable
    resource.
    """

    cluster: str
    tags: Tags


@dataclass(frozen=True, slots=True)
class InCluster:
    """What every component in the cluster needs.

    ``provider`` reaches the Kubernetes API; ``ready`` are the nodes and add-ons that its pods run on.
    """

    cluster_name: pulumi.Input[str]
    naming: Naming
    account: Account
    provider: pulumi.ProviderResource
    ready: Sequence[pulumi.Resource]


class Component(pulumi.ComponentResource):
    """Base of all components.

    ``kind`` is the last part of the type token ``multiarch-eks:components:KIND``.
    """

    def __init__(self, kind: str, name: str, naming: Naming, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the component; its subclass declares the children and calls ``register_outputs``."""
        own = pulumi.ResourceOptions(aliases=former_names(kind, ".", name))
        merged = pulumi.ResourceOptions.merge(opts, own)
        super().__init__(f"multiarch-eks:components:{kind}", name, None, merged)
        self._kind = kind
        self.naming = naming

    def child(
        self,
        name: str,
        *,
        depends_on: Sequence[pulumi.Resource] = (),
        ignore_changes: Sequence[str] = (),
        provider: pulumi.ProviderResource | None = None,
        protect: bool = False,
        delete_within: str | None = None,
    ) -> pulumi.ResourceOptions:
        """Options of the child called ``name``: this component is the parent, former names are aliases.

        ``delete_within`` is a longer limit for its deletion than the provider's, such as ``30m``.
        """
        return pulumi.ResourceOptions(
            parent=self,
            depends_on=list(depends_on) or None,
            ignore_changes=list(ignore_changes) or None,
            provider=provider,
            protect=protect or None,  # None: as the parent
            custom_timeouts=pulumi.CustomTimeouts(delete=delete_within) if delete_within else None,
            aliases=list(former_names(self._kind, name, name)) or None,
        )

    def tags(self, name: str, extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """The plan's tags, a ``Name`` of ``CLUSTER-name`` and ``extra``, sorted by key."""
        return dict(sorted({**dict(self.naming.tags), "Name": f"{self.naming.cluster}-{name}", **extra}.items()))

    def prefix(self, name: str, longest: int) -> str:
        """The prefix of a physical name, ``CLUSTER-name-``, with the cluster's part cut to fit into ``longest``.

        AWS adds a unique suffix, so that a replacement can be created before the old resource is deleted.
        """
        return f"{self.naming.cluster[: longest - len(name) - 2]}-{name}-"
