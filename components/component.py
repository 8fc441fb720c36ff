"""What all components share: type tokens, parents, names and tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

import pulumi

from multiarch.nodes.model import Tags
from multiarch.schema.iam import Iam

from .account import Account, look_up

State = TypeVar("State")
_LEAST_OF_CLUSTER = 4
After = Sequence[pulumi.Input[pulumi.Resource]]
"""What a resource comes after. An output among them may end the run: see :func:`require_healthy`."""


@dataclass(frozen=True, slots=True)
class Naming:
    """Names and tags of a stack's resources.

    ``cluster`` is the cluster's name, the first part of every ``Name`` tag; ``tags`` are the plan's, for every taggable
    resource; ``iam`` says what roles get.
    """

    cluster: str
    tags: Tags
    iam: Iam = field(default_factory=Iam.model_construct)

    @property
    def path(self) -> str | None:
        """The path of roles, instance profiles and policies; None for IAM's default, so that nothing is sent."""
        return self.iam.path if self.iam.path != "/" else None


class Component(pulumi.ComponentResource):
    """Base of all components. The type token is ``multiarch-eks:components:CLASS``."""

    def __init__(
        self,
        name: str,
        naming: Naming,
        opts: pulumi.ResourceOptions | None = None,
        *,
        module: str = "components",
    ) -> None:
        """Register the component; its subclass declares the children and calls ``register_outputs``."""
        super().__init__(f"multiarch-eks:{module}:{type(self).__name__}", name, None, opts)
        self.naming = naming

    @cached_property
    def account(self) -> Account:
        """The account, partition and region of the component's AWS provider."""
        return look_up(self)

    def child(
        self,
        *,
        depends_on: After = (),
        ignore_changes: Sequence[str] = (),
        provider: pulumi.ProviderResource | None = None,
        protect: bool = False,
        delete_within: str | None = None,
        replaced_by: str | None = None,
    ) -> pulumi.ResourceOptions:
        """Return options of a child: this component is the parent.

        ``delete_within`` is a longer limit for its deletion than the provider's, such as ``30m``. A change of
        ``replaced_by`` replaces the child, whatever its provider says.
        """
        return pulumi.ResourceOptions(
            parent=self,
            depends_on=list(depends_on) or None,
            ignore_changes=list(ignore_changes) or None,
            provider=provider,
            protect=protect or None,  # None: as the parent
            custom_timeouts=pulumi.CustomTimeouts(delete=delete_within) if delete_within else None,
            replacement_trigger=replaced_by,
        )

    def tags(self, name: str, extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the plan's tags, a ``Name`` of ``CLUSTER-name`` and ``extra``, sorted by key."""
        return dict(sorted({**dict(self.naming.tags), "Name": f"{self.naming.cluster}-{name}", **extra}.items()))

    def prefix(self, name: str, longest: int) -> str:
        """Return the prefix of a physical name, ``CLUSTER-name-``, with the cluster's part cut to fit into ``longest``.

        AWS adds a unique suffix, so that a replacement can be created before the old resource is deleted. A name that
        leaves no room for the cluster's is cut too.
        """
        name = name[: longest - _LEAST_OF_CLUSTER - 2]
        return f"{self.naming.cluster[: longest - len(name) - 2]}-{name}-"


class Child(Component):
    """Base of the components that are part of another, their owner: they have its naming and account."""

    def __init__(self, name: str, owner: Component, *, protect: bool = False) -> None:
        """Register the component as a child of its owner."""
        super().__init__(name, owner.naming, owner.child(protect=protect))
        self.account = owner.account


def require_healthy(
    resource: pulumi.Resource, state: pulumi.Output[State], find_problem: Callable[[State], str | None]
) -> pulumi.Output[pulumi.Resource]:
    """Return ``resource`` for others to depend on, unless ``find_problem`` finds one in its ``state``.

    ``state`` is the resource's after the refresh, or after this run's change. With a problem an update ends, and what
    depends on the resource is not declared; a preview warns, because the update may be what fixes it.
    """

    def check(known: State) -> pulumi.Resource:
        if problem := find_problem(known):
            if not pulumi.runtime.is_dry_run():
                raise pulumi.RunError(problem)
            pulumi.log.warn(problem, resource)
        return resource

    return state.apply(check)
