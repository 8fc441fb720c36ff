"""The workloads and budgets of ``multiarch capacity``, from manifests or from a live cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import progress
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.capacity.sources import Workloads
    from multiarch.capacity.workloads import ImageSupport, WorkloadName
    from multiarch.cli.options.cluster import AccessOptions
    from multiarch.manifests.disruption_budgets import PodCount
    from multiarch.registry.credentials.model import Credentials
    from multiarch.registry.model import Registry
    from multiarch.simulate.settled import NodeState
    from multiarch.simulate.simulation import SimulationContext
    from multiarch.stack.model import Plan

_MINIMUM = re.compile(r"([0-9]{1,4})(%?)")
_WHOLE = 100
_SHOWN = 5
"""Nodes that a note names."""
_TEMPLATE_HASH = "pod-template-hash"
_SOURCES = "--workloads FILE reads manifests, --live reads a cluster."


@dataclass(frozen=True, slots=True)
class Input:
    """Workloads, budgets, and the zones and nodes around them.

    ``uses`` are the images of the workloads, ``credentials`` those of a cluster for them. ``nodes`` are those of a live
    cluster, None for the nodes of the plan; ``notes`` say what of the cluster is left out.
    """

    workloads: Workloads
    context: SimulationContext
    uses: tuple[ImageUse, ...] = ()
    credentials: Credentials | None = None
    nodes: tuple[NodeState, ...] | None = None
    notes: tuple[str, ...] = ()

    def images(self, registries: RegistryOptions) -> Mapping[WorkloadName, ImageSupport]:
        """What the images of each workload support, by registry look-ups."""
        from multiarch.capacity.sources import image_support
        from multiarch.facts.architectures import Architecture

        async def audited(registry: Registry) -> ImageAudit:
            from multiarch.audit.images import audit_images

            with progress("reading images") as step:
                return await audit_images(registry, self.uses, tuple(Architecture), looked_up=step)

        rows = ask(registries, audited, credentials=self.credentials).rows
        return image_support(
            ((use.workload.namespace, str(use.workload)), row.image, judgement)
            for row in rows
            for use in row.uses
            for judgement in row.judgements
        )


def from_manifests(plan: Plan, files: Sequence[str]) -> Input:
    """Workloads of manifests, on the nodes of a stack's plan. Raises MultiarchError as :func:`workloads_in` does."""
    from multiarch.audit.uses import uses_in
    from multiarch.capacity.sources import workloads_in
    from multiarch.kubernetes.manifests import read_manifests
    from multiarch.simulate.context import simulation_context

    found = tuple(read_manifests(files))
    return Input(workloads_in(found, files), simulation_context(plan), tuple(uses_in(found)))


def from_cluster(plan: Plan, options: AccessOptions, *, images: bool) -> Input:
    """The pods of a cluster, on the nodes that it has. Raises MultiarchError and OutsideError.

    ``images``: also the credentials that its pods have for their images.
    """
    from multiarch.audit.uses import uses_in
    from multiarch.capacity.sources import Workloads, budgets_in
    from multiarch.cli.reading import pull_secrets
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.running import read_running
    from multiarch.simulate.context import simulation_context
    from multiarch.simulate.running import cluster_state

    with open_cluster(options.access) as cluster:
        running = read_running(cluster, budgets=True)
        uses = tuple(_of_deployment(each) for each in uses_in(running.pods))
        credentials = pull_secrets(cluster, uses) if images else None
    karpenter = plan.autoscaling.karpenter
    state = cluster_state(running, plan.node_groups, [pool.name for pool in karpenter.pools] if karpenter else [])
    workloads = Workloads((*state.pending, *state.daemon_sets), budgets_in(running.budgets))
    context = simulation_context(plan, seen=state.zones)
    return Input(workloads, context, uses, credentials, state.nodes, (*of_no_group(state.unknown), *state.notes))


def _of_deployment(use: ImageUse) -> ImageUse:
    """The use under the name of its pod's Deployment, which the hash of the pod template tells."""
    from dataclasses import replace

    made = dict(use.labels).get(_TEMPLATE_HASH, "")
    name = use.workload.name.removesuffix(f"-{made}")
    if use.workload.kind != "ReplicaSet" or not made or name == use.workload.name:
        return use
    return replace(use, workload=replace(use.workload, kind="Deployment", name=name))


def of_no_group(names: Sequence[str]) -> Iterator[str]:
    """Yield a note about nodes that no group of the stack made, if there are any."""
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield (
            f"Nodes outside the stack's managed node groups and NodePools: {', '.join(names[:_SHOWN])}{more}. They do "
            "not count towards maxSize, and nothing replaces them."
        )


def pod_count(text: str) -> PodCount:
    """Read ``--minimum``. Raises MultiarchError for anything but a number or a percentage up to 100."""
    from multiarch.manifests.disruption_budgets import PodCount

    found = _MINIMUM.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _WHOLE):
        raise MultiarchError(f"--minimum {text}: must be a number of pods, or a percentage up to 100%.")
    return PodCount(int(found[1]), percent=bool(found[2]))


def check(workloads: Sequence[str], cluster_options: str, *, live: bool) -> None:
    """Raise MultiarchError unless exactly one source of workloads is given."""
    if workloads and live:
        raise MultiarchError("--workloads and --live exclude each other.", hint=_SOURCES)
    if not workloads and not live:
        raise MultiarchError("No workloads are given.", hint=_SOURCES)
    if workloads and cluster_options:
        raise MultiarchError(f"{cluster_options} can't be combined with --workloads.", hint=_SOURCES)
