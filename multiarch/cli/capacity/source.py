"""The workloads and budgets of ``multiarch capacity``, from manifests or from a live cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import progress
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.capacity.sources import Workloads
    from multiarch.capacity.workloads import ImageSupport, WorkloadName
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.manifests.disruption_budgets import PodCount
    from multiarch.registry.model import Registry
    from multiarch.simulate.settled import NodeState
    from multiarch.simulate.simulation import SimulationContext
    from multiarch.stack.model import Plan

_MINIMUM = re.compile(r"([0-9]{1,4})(%?)")
_WHOLE = 100
_SOURCE = "--workloads FILE reads manifests."


@dataclass(frozen=True, slots=True)
class Input:
    """Workloads, budgets, and the zones and nodes around them.

    ``objects`` are what they were read from; ``nodes`` are those of a live cluster, None for the nodes of the plan.
    """

    workloads: Workloads
    context: SimulationContext
    objects: tuple[LoadedObject, ...]
    nodes: tuple[NodeState, ...] | None = None

    def images(self, registries: RegistryOptions) -> Mapping[WorkloadName, ImageSupport]:
        """What the images of each workload support, by registry look-ups."""
        from multiarch.audit.uses import uses_in
        from multiarch.capacity.sources import image_support
        from multiarch.facts.architectures import Architecture

        uses = uses_in(self.objects)

        async def audited(registry: Registry) -> ImageAudit:
            from multiarch.audit.images import audit_images

            with progress("reading images") as step:
                return await audit_images(registry, uses, tuple(Architecture), looked_up=step)

        rows = ask(registries, audited).rows
        return image_support(
            ((use.workload.namespace, str(use.workload)), row.image, judgement)
            for row in rows
            for use in row.uses
            for judgement in row.judgements
        )


def from_manifests(plan: Plan, files: Sequence[str]) -> Input:
    """Workloads of manifests, on the nodes of a stack's plan. Raises MultiarchError as :func:`workloads_in` does."""
    from multiarch.capacity.sources import workloads_in
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.simulate.context import simulation_context

    found = tuple(read_manifests(files))
    workloads = workloads_in(found, files)
    return Input(workloads, simulation_context(plan), found)


def pod_count(text: str) -> PodCount:
    """Read ``--minimum``. Raises MultiarchError for anything but a number or a percentage up to 100."""
    from multiarch.manifests.disruption_budgets import PodCount

    found = _MINIMUM.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _WHOLE):
        raise MultiarchError(f"--minimum {text}: must be a number of pods, or a percentage up to 100%.")
    return PodCount(int(found[1]), percent=bool(found[2]))


def check(workloads: Sequence[str]) -> None:
    """Raise MultiarchError unless a source of workloads is given."""
    if not workloads:
        raise MultiarchError("No workloads are given.", hint=_SOURCE)
