"""The plans of single components in a program of one's own: a node group, Karpenter, or the cluster autoscaler.

The same rules make them as a whole stack's plan. Problems have the key of the component's argument, and no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from multiarch.autoscaling.model import ClusterAutoscalerPlan, KarpenterPlan
from multiarch.autoscaling.plan import plan_autoscaling
from multiarch.autoscaling.spec import ROOT
from multiarch.autoscaling.tags import build_autoscaler_tags, check_tags
from multiarch.errors import KeyPath, Problem, StackError
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.limits import NameKind, check_name
from multiarch.facts.taints import Taint
from multiarch.nodes.labels_taints import read_taint
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.nodes.plan import plan_node_group
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext, list_node_group_specs
from multiarch.patching.transform import SchedulingChange
from multiarch.rules import Severity
from multiarch.schema.autoscaling import Autoscaling, ClusterAutoscaler, Karpenter
from multiarch.schema.base import Section
from multiarch.schema.parts import Cluster, PatchedWorkloads, SingleClusterAutoscaler, SingleKarpenter, SingleNodeGroup
from multiarch.stack import wording
from multiarch.stack.checks import cluster, names
from multiarch.stack.existing_cluster import report_custom_networking
from multiarch.stack.origin import Origin

Model = TypeVar("Model", bound=Section)
Planned = TypeVar("Planned")
_NOWHERE = Origin()
_OWN_TAGS = {"managed-by": "multiarch-eks"}
_RENAMED: Mapping[KeyPath, KeyPath] = {("network", "privateSubnetIds"): ("subnetIds",)}


@dataclass(frozen=True, slots=True)
class Part(Generic[Planned]):
    """A component's plan, and the arm64 taint of its cluster.

    ``controller_taints`` are those of the nodes that Karpenter's controller runs on; by ``autoscaler_tags`` the cluster
    autoscaler finds a node group.
    """

    plan: Planned
    arm64_taint: Taint | None
    warnings: tuple[Problem, ...]
    controller_taints: tuple[Taint, ...] = ()
    autoscaler_tags: Tags = ()


def validate_arguments(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Validate a component's arguments. Raises StackError with every problem."""
    omitted: Mapping[str, str] = getattr(model, "omitted", {})
    problems = [
        _NOWHERE.problem("unknown-key", (key,), f"{key} is unknown here.", hint=hint)
        for key, hint in omitted.items()
        if key in values
    ]
    try:
        settings = model.model_validate(dict(values), by_alias=True, by_name=False)
    except ValidationError as error:
        problems += wording.describe_problems(error.errors(include_url=False), Origin(values=dict(values)), model)
        raise StackError(problems) from error
    if problems:
        raise StackError(problems)
    return settings


def plan_node_group_part(name: str, settings: SingleNodeGroup, *, today: date) -> Part[NodeGroupPlan]:
    """Derive the plan of one node group. Raises StackError with every problem."""
    report = _Report()
    # Subnets that Pulumi does not know yet may be in several zones.
    subnets = settings.subnet_ids if isinstance(settings.subnet_ids, list) else ()
    context = _cluster_context(settings.cluster, AmiFamily.AL2023, today, report)
    context = replace(context, subnet_ids=tuple(map(str, subnets)), existing=True)
    (spec,) = list_node_group_specs({name: settings}, {}, ())
    plan = plan_node_group(replace(spec, path=()), context, report)
    tags: Tags = ()
    if plan is not None:
        names.check_group_name(plan, report)
        if settings.cluster_autoscaler:
            tags = build_autoscaler_tags(plan, context.name)
            check_tags(plan, report)
    names.check_tags(settings.tags, report, own=_OWN_TAGS)
    return report.part(plan, context, autoscaler_tags=tags)


def plan_karpenter_part(settings: SingleKarpenter, *, region: str | None, today: date) -> Part[KarpenterPlan]:
    """Derive Karpenter's plan. Raises StackError with every problem."""
    report = _Report((*ROOT, "karpenter"), ROOT)
    context = _autoscaler_context(settings, region, today, report)
    taints = _taints(settings.controller_taints, "controllerTaints", report)
    names.check_tags(settings.tags, report, own=_OWN_TAGS)
    plan = plan_autoscaling(_autoscaling("karpenter", settings), (), context, report).karpenter
    return report.part(plan, context, controller_taints=taints)


def plan_autoscaler_part(
    settings: SingleClusterAutoscaler, *, region: str | None, today: date
) -> Part[ClusterAutoscalerPlan]:
    """Derive the cluster autoscaler's plan. Raises StackError with every problem.

    What only warns about a node group is not among the warnings: the component of that group says it.
    """
    report = _Report((*ROOT, "clusterAutoscaler"), ROOT, quiet=("nodeGroups", "multiArchitectureGroups"))
    context = _autoscaler_context(settings, region, today, report)
    specs = list_node_group_specs(settings.node_groups, settings.multi_architecture_groups, ())
    planned = [plan_node_group(spec, context, report) for spec in specs]
    groups = sorted((plan for plan in planned if plan), key=lambda plan: plan.name)
    if not planned:
        hint = "Pass the arguments that each group was declared with."
        report("no-node-groups", ("nodeGroups",), "there is no node group.", hint=hint)
    names.check_tags(settings.tags, report, own=_OWN_TAGS)
    plan = plan_autoscaling(_autoscaling("cluster-autoscaler", settings), groups, context, report)
    return report.part(plan.cluster_autoscaler, context)


def plan_change(settings: PatchedWorkloads) -> SchedulingChange:
    """Return what is to be changed in workloads. Raises StackError with every problem."""
    report = _Report()
    taints = _taints(settings.tolerate, "tolerate", report)
    if settings.prefer and settings.require:
        message = "prefer and require are mutually exclusive."
        report("prefer-and-require", ("require",), message)
    if not (taints or settings.prefer or settings.require):
        report("no-change", ("tolerate",), "no change is requested.")
    if settings.objects is None and settings.manifests is None:
        report("no-manifests", ("objects",), "there are no objects and no manifests.")
    report.accepted()
    prefer, require = (Architecture(each) if each else None for each in (settings.prefer, settings.require))
    return SchedulingChange(require=require, prefer=prefer, tolerate=taints, weight=settings.weight)


def _taints(written: Sequence[str], key: str, report: ProblemReport) -> tuple[Taint, ...]:
    found = (read_taint(text, (key, index), report) for index, text in enumerate(written))
    return tuple(taint for taint in found if taint)


def build_part_tags(tags: dict[str, str]) -> Tags:
    """Return the tags of a component's resources."""
    return tuple(sorted((tags | _OWN_TAGS).items()))


class _Report(ProblemReport):
    """Collects problems under the keys of the component's arguments.

    ``prefixes`` are the paths in a stack whose keys the component has at its top; warnings below ``quiet`` are dropped.
    """

    def __init__(self, *prefixes: KeyPath, quiet: Sequence[str] = ()) -> None:
        super().__init__(_NOWHERE.placed)
        self._prefixes, self._quiet = prefixes, quiet

    def take(self, path: KeyPath, problem: Problem) -> None:
        if problem.severity is not Severity.ERROR and path and path[0] in self._quiet:
            return
        prefix = next((each for each in self._prefixes if path[: len(each)] == each), ())
        super().take(_RENAMED.get(path, path[len(prefix) :]), problem)

    def accepted(self) -> tuple[Problem, ...]:
        """Return the warnings. Raises StackError if there is an error."""
        problems = self.sorted()
        if any(problem.severity is Severity.ERROR for problem in problems):
            raise StackError(problems)
        return problems

    def part(self, plan: Planned | None, context: ClusterContext, **more: Any) -> Part[Planned]:
        """Return the accepted plan; without one, a problem says why. Raises StackError."""
        warnings = self.accepted()
        if plan is None:
            raise StackError(warnings)
        return Part(plan, context.arm64_taint, warnings, **more)


def _cluster_context(settings: Cluster, family: AmiFamily, today: date, report: ProblemReport) -> ClusterContext:
    path = ("cluster",)
    if fault := check_name(NameKind.CLUSTER, settings.name):
        report("cluster-name", (*path, "name"), f"{fault}.")
    if not cluster.check_kubernetes(settings.kubernetes_version, today, report, (*path, "kubernetesVersion")):
        raise StackError(report.sorted())
    report_custom_networking(settings, report)
    written = settings.arm64_taint
    taint = None if written == "none" else read_taint(written, (*path, "arm64Taint"), report)
    return ClusterContext(
        name=settings.name,
        version=settings.kubernetes_version,
        ami_family=family,
        arm64_taint=taint,
        # With IPv6 the VPC CNI always gives nodes prefixes.
        prefix_delegation=settings.prefix_delegation or settings.ip_family == "ipv6",
        ipv6=settings.ip_family == "ipv6",
        custom_networking=settings.custom_networking,
    )


def _autoscaler_context(
    settings: SingleKarpenter | SingleClusterAutoscaler, region: str | None, today: date, report: ProblemReport
) -> ClusterContext:
    context = _cluster_context(settings.cluster, AmiFamily(settings.ami_family), today, report)
    cluster.check_chart_registry(settings.charts, report)
    return replace(context, region=region, tags=build_part_tags(settings.tags))


def _autoscaling(use: str, settings: SingleKarpenter | SingleClusterAutoscaler) -> Autoscaling:
    """Return the section ``autoscaling`` of a stack that says the same."""
    key, model = ("karpenter", Karpenter) if use == "karpenter" else ("cluster_autoscaler", ClusterAutoscaler)
    own = settings.model_fields_set & (model.model_fields.keys() - {"controller_group"})
    values: dict[str, Any] = {name: getattr(settings, name) for name in settings.model_fields_set & {"prefer", "order"}}
    values["use"] = use
    values[key] = model.model_construct(_fields_set=own, **{name: getattr(settings, name) for name in own})
    return Autoscaling.model_construct(**values)
