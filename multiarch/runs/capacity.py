"""What keeps running when something fails, and the change of the stack file that helps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from multiarch.autoscaling.model import Autoscaler
from multiarch.capacity.evaluation import Evaluation
from multiarch.capacity.failures import list_failures, parse_failure
from multiarch.capacity.headroom import Headroom, build_headroom_manifests, plan_headroom
from multiarch.capacity.model import CapacityFailure, CapacityReport
from multiarch.capacity.recommendation.changes import apply_changes
from multiarch.capacity.recommendation.recommend import Recommendation, find_recommendation
from multiarch.capacity.recommendation.search import TimeLimit
from multiarch.capacity.workloads import ImageSupport, WorkloadName
from multiarch.errors import MultiarchError, StackError
from multiarch.facts.architectures import Architecture
from multiarch.files import write_atomically
from multiarch.manifests.disruption_budgets import PodCount
from multiarch.manifests.owners import name_deployment
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up
from multiarch.observed.workloads import list_uses
from multiarch.prices.model import RegionPrices, UnknownPrice
from multiarch.rules import Severity
from multiarch.runs.images import list_image_support
from multiarch.runs.workload_input import WorkloadInput
from multiarch.serialization import INLINED, OMITTED, JsonProperty
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from multiarch.stack.yaml_source import format_path
from multiarch.today import get_today
from multiarch.yaml_text.difference import format_patch
from multiarch.yaml_text.dump import dump_yaml

_MINIMUM = re.compile(r"([0-9]{1,4})(%?)")
_WHOLE = 100


def choose_failures(plan: Plan, given: WorkloadInput, written: Sequence[str], largest: int) -> list[CapacityFailure]:
    """Return the failures that are ``written``, or else all of the plan. Raises MultiarchError for an invalid one."""
    zones = given.context.zones
    found = [parse_failure(each, plan, zones) for each in written]
    return found or list(list_failures(plan, zones, largest_nodes=largest))


def find_image_support(
    given: WorkloadInput, registries: RegistryAccess, progress: Progress = ignore_progress
) -> dict[WorkloadName, ImageSupport]:
    """Return what the images of each workload support, as their registries say."""
    if given.cluster is None:
        uses = list(list_uses(given.objects))
    else:
        uses = [
            replace(each, workload=name_deployment(each.workload, dict(each.labels)))
            for each in list_uses(given.cluster.running.pods)
        ]
    credentials = given.credentials.credentials
    return list_image_support(
        look_up(uses, tuple(Architecture), registries, credentials=credentials, progress=progress)
    )


def parse_pod_count(text: str) -> PodCount:
    """Read ``--minimum``. Raises MultiarchError for anything but a number or a percentage up to 100."""
    found = _MINIMUM.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _WHOLE):
        raise MultiarchError(f"--minimum {text}: must be a number of pods, or a percentage up to 100%.")
    return PodCount(int(found[1]), percent=bool(found[2]))


@dataclass(frozen=True, slots=True)
class RecommendedChange:
    """A recommendation for a stack file, whose text is ``old`` before and ``new`` after the change.

    ``report`` is that of the changed stack; ``written`` says whether the file has the change.
    """

    file: str
    written: bool
    result: Recommendation = field(metadata=INLINED)
    report: CapacityReport = field(metadata=OMITTED)
    old: str = field(metadata=OMITTED)
    new: str = field(metadata=OMITTED)

    @JsonProperty
    def patch(self) -> str:
        """Return the change as ``diff -u`` writes it."""
        return format_patch(self.file, self.old, self.new)


def recommend_change(
    path: Path,
    plan: Plan,
    failures: Sequence[CapacityFailure],
    evaluate: Evaluation,
    prices: RegionPrices | UnknownPrice | None,
    *,
    seconds: int,
    write: bool,
) -> RecommendedChange:
    """Search the cheapest change, check that the changed file is valid, and write it if that is wanted.

    Raises MultiarchError without the optimiser, for a file that can't be edited, and if the stack does not allow the
    sizes, as when its subnets are too small.
    """
    if evaluate.nodes is not None and plan.autoscaling.use is Autoscaler.NONE:
        raise MultiarchError(
            "--recommend with --live needs an autoscaler: without one the cluster keeps the nodes that it has.",
            hint="Use --manifests instead of --live: each node group then starts with its desiredSize.",
        )
    text = path.read_bytes().decode("utf-8")
    result = find_recommendation(plan, failures, evaluate, prices, limit=TimeLimit(seconds))
    if not result.changes:
        return RecommendedChange(
            format_path(path), written=False, result=result, report=result.report, old=text, new=text
        )
    new = apply_changes(text, result.changes)
    try:
        changed = make_plan(load_file(path, text=new), today=get_today())
    except StackError as error:
        rejected = next(each for each in error.problems if each.severity is Severity.ERROR)
        needed = ", ".join(f"{each.name} {format_value(each.new)}" for each in result.changes)
        raise MultiarchError(
            f"The stack does not allow what would help ({needed}): {rejected.message}", hint=rejected.hint
        ) from error
    if write:
        write_atomically(path, new)
    # What the file says now counts: another group can share a value with a changed one.
    report = evaluate(changed, failures)
    return RecommendedChange(format_path(path), written=write, result=result, report=report, old=text, new=new)


def format_value(value: object) -> str:
    """Return a value of the stack file as a person reads it; several zones are separated by commas."""
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


def write_headroom(file: Path, plan: Plan, report: CapacityReport, given: WorkloadInput) -> tuple[Headroom, ...]:
    """Write the manifests of placeholder pods, unless no pod moves; return what they hold."""
    placed = [pod for node in given.nodes or () for pod in node.pods]
    found = tuple(plan_headroom(plan, report, [*given.workloads.pods, *placed]))
    if found:
        write_atomically(file, "---\n".join(dump_yaml(each) for each in build_headroom_manifests(plan, found)))
    return found


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """What ``multiarch capacity`` found; ``recommendation`` is None unless one was wanted."""

    report: CapacityReport = field(metadata=INLINED)
    recommendation: RecommendedChange | None = None
