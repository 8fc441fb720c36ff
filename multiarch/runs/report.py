"""The contents of the page about a stack or its cluster, part by part: one that fails leaves the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from multiarch.audit.daemonset_model import DaemonSetAudit
from multiarch.audit.daemonsets import audit_objects
from multiarch.audit.subjects import gather_subjects
from multiarch.audit.workloads import WorkloadAudit
from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures
from multiarch.capacity.model import CapacityReport
from multiarch.capacity.sources import Workloads
from multiarch.cost.model import CostReport
from multiarch.cost.pricing import Pricing
from multiarch.cost.stack import compute_stack_costs, find_label_group
from multiarch.errors import MultiarchError, OutsideError
from multiarch.existing.proposal import DEFAULT_TAINT, Proposal, plan_addition
from multiarch.existing.saving import compute_group_costs, compute_savings
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.kubernetes.manifests import format_names
from multiarch.kubernetes.resources import DAEMON_SETS
from multiarch.kubernetes.source import ClusterAccess, LoadedObject
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.verdicts import ImageVerdicts
from multiarch.observed.workloads import list_uses
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.report.contents import ClusterContents, Placement, ReportContents, Unread
from multiarch.runs.audits import audit_with_tags
from multiarch.runs.cost import compute_placement_cost
from multiarch.runs.eks_clusters import read_cluster_nodes
from multiarch.runs.images import list_image_support
from multiarch.runs.workload_input import (
    WorkloadInput,
    place_workloads,
    read_cluster,
    read_cluster_workloads,
    read_manifest_workloads,
)
from multiarch.simulate.context import build_simulation_context
from multiarch.stack.model import Plan
from multiarch.today import get_now, get_today

Result = TypeVar("Result")
_NO_WORKLOADS = "No workloads were given: --manifests FILE reads manifests, --live reads the cluster."
_NO_IMAGES = "Images were not read: architectures follow from scheduling rules alone."
_NO_PRICES = Unread("No prices were given: `multiarch prices fetch` writes them to a file, and --prices FILE reads it.")


@dataclass(frozen=True, slots=True)
class PageContents:
    """The contents of a page. ``failed`` are parts that could not be made, each with the reason."""

    contents: ReportContents | ClusterContents
    failed: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def gather_page(
    plan: Plan,
    pricing: Pricing | None,
    registries: RegistryAccess,
    *,
    files: Sequence[str] = (),
    live: ClusterAccess | None = None,
    progress: Progress = ignore_progress,
) -> PageContents:
    """Gather the contents of a page, from manifests, a live cluster, or the stack file alone. Raises MultiarchError."""
    failed: list[tuple[str, str]] = []
    prices = None if pricing is None else pricing.known
    description, unread = "Stack file", _NO_WORKLOADS
    source = None
    if live is not None:
        try:
            opened = read_cluster(plan, live, owners=True, budgets=True)
        except OutsideError as error:
            failed.append(("the cluster", str(error)))
            description, unread = "Stack file; the cluster could not be read", str(error)
        else:
            name = f"Cluster of context {opened.running.name}"
            source = _PageSource(name, read_cluster_workloads(plan, opened, prices=prices))
    elif files:
        source = _PageSource(
            f"Stack file, and workloads of {format_names(files)}", read_manifest_workloads(plan, files, prices=prices)
        )
    if source is None:
        nothing = WorkloadInput(build_simulation_context(plan, prices=prices), Workloads((), ()))
        source = _PageSource(description, nothing, unread)
    parts = _PageParts(plan, source, pricing, registries, progress, failed)
    return PageContents(parts.contents(), tuple(parts.failed), tuple(parts.notes))


@dataclass(frozen=True, slots=True)
class _PageSource:
    """What the parts are made of, in words and as it was read. ``unread`` says why there are no workloads."""

    description: str
    given: WorkloadInput
    unread: str = ""


@dataclass(frozen=True, slots=True)
class _Images:
    """What the registries say about the images of all workloads, and what follows for the workloads."""

    images: ImageVerdicts
    workloads: WorkloadAudit


def _judge_images(
    objects: Sequence[LoadedObject],
    credentials: PodCredentials,
    taint: Taint | None,
    access: RegistryAccess,
    progress: Progress,
) -> _Images:
    own = credentials.credentials
    images = look_up(list_uses(objects), Architecture, access, credentials=own, progress=progress)
    subjects = gather_subjects(objects, taint)
    return _Images(images, audit_with_tags(subjects, images, taint, access, credentials=own))


def gather_cluster_page(
    name: str,
    region: str | None,
    access: ClusterAccess,
    pricing_of: Callable[[str], Pricing | None],
    registries: RegistryAccess,
    *,
    progress: Progress = ignore_progress,
) -> PageContents:
    """Gather the contents of the page of a cluster without a stack. Raises MultiarchError if AWS can't be read."""
    cluster = read_cluster_nodes(name, region, access)
    proposal: Proposal | Unread
    try:
        proposal = plan_addition(cluster, get_today())
    except MultiarchError as error:
        proposal = Unread(str(error))
    taint = DEFAULT_TAINT if isinstance(proposal, Unread) else proposal.taint
    pricing = pricing_of(cluster.region)
    page = ClusterContents(
        cluster=cluster,
        made=get_now(),
        proposal=proposal,
        placement=Unread(cluster.why_outside),
        workloads=Unread(cluster.why_outside),
        daemon_sets=Unread(cluster.why_outside),
        cost=_NO_PRICES if pricing is None else compute_group_costs(cluster, pricing),
        savings=() if pricing is None or isinstance(proposal, Unread) else compute_savings(proposal, pricing),
    )
    if cluster.inside is None:
        return PageContents(page, (("the cluster", cluster.why_outside),), ())
    try:
        live = read_cluster(None, access, owners=True)
        found = _judge_images(live.objects, live.credentials, taint, registries, progress)
        daemon_sets = [each for each in live.objects if each.value.get("kind") == DAEMON_SETS.kind]
        audit = audit_objects(daemon_sets, found.images, nodes=live.running.nodes, taints=[taint])
    except MultiarchError as error:
        reason = Unread(str(error))
        page = replace(page, placement=reason, workloads=reason, daemon_sets=reason)
        return PageContents(page, (("the cluster", str(error)),), ())
    nodes = tuple(replace(node, group=find_label_group(node)) for node in live.state.nodes)
    placement = Placement(nodes, live.state.pending, live=True, notes=live.state.notes)
    page = replace(page, placement=placement, workloads=found.workloads, daemon_sets=audit)
    return PageContents(page, (), live.credentials.notes)


@dataclass(slots=True)
class _PageParts:
    """Makes the parts of a page about ``plan``. ``failed`` are those that could not be made, with the reason."""

    plan: Plan
    source: _PageSource
    pricing: Pricing | None
    access: RegistryAccess
    progress: Progress
    failed: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def contents(self) -> ReportContents:
        """Make all parts."""
        placement = self._of_workloads("nodes and pods", partial(place_workloads, self.plan, self.source.given))
        images = self._of_workloads("images", self._images)
        workloads = images if isinstance(images, Unread) else images.workloads
        return ReportContents(
            plan=self.plan,
            source=self.source.description,
            made=get_now(),
            placement=placement,
            workloads=workloads,
            daemon_sets=self._part("DaemonSets", partial(self._daemon_sets, images)),
            capacity=self._of_workloads("failures", partial(self._capacity, images)),
            cost=self._part("cost", partial(self._cost, placement, workloads)),
        )

    def _part(self, name: str, make: Callable[[], Result]) -> Result | Unread:
        """Return what ``make`` returns, or why it could not."""
        try:
            return make()
        except MultiarchError as error:
            self.failed.append((name, str(error)))
            return Unread(str(error))

    def _of_workloads(self, name: str, make: Callable[[], Result]) -> Result | Unread:
        return Unread(self.source.unread) if self.source.unread else self._part(name, make)

    def _images(self) -> _Images:
        given = self.source.given
        self.notes += given.credentials.notes
        return _judge_images(given.objects, given.credentials, self.plan.arm64_taint, self.access, self.progress)

    def _daemon_sets(self, images: _Images | Unread) -> DaemonSetAudit:
        """Audit DaemonSets on the groups of the plan, or on the nodes of the cluster."""
        source = self.source.given
        found = tuple(each for each in source.objects if each.value.get("kind") == DAEMON_SETS.kind)
        if found and isinstance(images, Unread):
            raise MultiarchError(images.reason)
        judged = ImageVerdicts(tuple(Architecture), ()) if isinstance(images, Unread) else images.images
        live, taint = source.cluster, self.plan.arm64_taint
        if live is None:
            return audit_objects(found, judged, plan=self.plan)
        return audit_objects(found, judged, nodes=live.running.nodes, taints=[taint] if taint else [])

    def _capacity(self, images: _Images | Unread) -> CapacityReport:
        given = self.source.given
        supported = {} if isinstance(images, Unread) else list_image_support(images.images)
        evaluate = Evaluation(given.workloads.pods, given.budgets(), given.context, given.nodes, supported)
        report = evaluate(self.plan, list_failures(self.plan, given.context.zones))
        unread = (_NO_IMAGES,) if isinstance(images, Unread) else ()
        assumptions = (*given.notes, *report.assumptions)
        return replace(report, assumptions=assumptions, warnings=(*unread, *report.warnings))

    def _cost(self, placement: Placement | Unread, workloads: WorkloadAudit | Unread) -> CostReport | Unread:
        """Return the costs of the nodes; with workloads, also what amd64 costs more than arm64 would."""
        if self.pricing is None:
            return _NO_PRICES
        if isinstance(placement, Unread):
            return compute_stack_costs(self.plan, self.pricing)
        audit = None if isinstance(workloads, Unread) else workloads
        return compute_placement_cost(self.plan, self.pricing, placement, self.source.given.objects, audit)
