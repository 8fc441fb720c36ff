"""What all components share: type tokens, parents, tags, and aliases for names that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pulumi

from multiarch.nodes.model import Tags

FORMER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({})
"""Logical names that resources had in earlier versions, so that a rename in the code replaces nothing.

A key is ``KIND/NAME``: the component's kind and the new logical name of one of its children, or of the component
itself as ``KIND/.``. ``KIND/*`` speaks for all children of that kind. A former name may hold ``{name}``, which stands
for the new one. To rename, for example, the network's ``vpc`` to ``main-vpc``, change the name where it is declared and
add ``"Network/main-vpc": ("vpc",)`` here; an entry can go once every stack has been updated with it. A changed *type or
parent* needs a ``pulumi.Alias`` of its own at the place of the change. Children of a renamed component need no entry.
Source: https://www.pulumi.com/docs/iac/concepts/options/aliases/
"""


def former_names(kind: str, child: str, name: str) -> list[pulumi.Alias]:
    """Aliases for ``name``; ``child`` is the part of the key behind ``KIND/``: the name itself, or ``.``."""
    keys = (f"{kind}/{child}",) if child == "." else (f"{kind}/{child}", f"{kind}/*")
    return [pulumi.Alias(name=old.format(name=name)) for key in keys for old in FORMER_NAMES.get(key, ())]


class Component(pulumi.ComponentResource):
    """Base of all components.

    ``kind`` ends the type token ``multiarch-eks:components:KIND``. ``cluster`` is the cluster's name: it begins the
    ``Name`` tag of every resource. ``tags`` are the plan's and go onto every taggable resource.
    """

    def __init__(
        self, kind: str, name: str, *, cluster: str, tags: Tags, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the component; its subclass declares the children and calls ``register_outputs``."""
        own = pulumi.ResourceOptions(aliases=former_names(kind, ".", name))
        merged = pulumi.ResourceOptions.merge(opts, own)
        super().__init__(f"multiarch-eks:components:{kind}", name, None, merged)
        self._kind = kind
        self._cluster = cluster
        self._tags = tags

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

        ``delete_within`` is how long its deletion may take, such as ``30m``, where that is more than the provider's
        own limit.
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
        return dict(sorted({**dict(self._tags), "Name": f"{self._cluster}-{name}", **extra}.items()))

    def prefix(self, name: str, longest: int) -> str:
        """Begin a physical name: ``CLUSTER-name-``, the cluster's part cut so that the whole fits into ``longest``.

        AWS gets a prefix and adds a unique suffix, so that a replacement can be made before the old resource goes; what
        is cut off is for people's eyes only.
        """
        return f"{self._cluster[: longest - len(name) - 2]}-{name}-"
