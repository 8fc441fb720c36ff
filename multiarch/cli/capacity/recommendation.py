"""``multiarch capacity --recommend``: the cheapest change of the stack file, as a table, as a patch, and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.capacity.model import NO_FAILURE
from multiarch.cli.formats import Format
from multiarch.cli.formats.report import Block, Items, Table
from multiarch.cli.options import stacks
from multiarch.cli.terminal import progress, say
from multiarch.errors import MultiarchError, StackError
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.capacity.model import CapacityReport, Failure
    from multiarch.capacity.recommendation.changes import Change
    from multiarch.capacity.recommendation.rates import Rates
    from multiarch.capacity.recommendation.recommend import Evaluate, Recommendation, Unsolved
    from multiarch.capacity.recommendation.tunables import Cost
    from multiarch.cli.workload_input import WorkloadInput
    from multiarch.prices.model import RegionPrices, UnknownPrice
    from multiarch.stack.model import Plan

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RecommendOptions:
    """Whether to look for a change of the stack file, and what to do with it."""

    recommend: Annotated[
        bool,
        typer.Option("--recommend", help="Find the cheapest change of the stack file that keeps every minimum."),
    ] = False
    write: Annotated[
        bool, typer.Option("--write", help="Write the recommended change to the stack file; comments stay.")
    ] = False
    prices: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prices that `multiarch prices fetch` wrote to FILE: Karpenter buys the cheapest types, and "
            "--recommend compares costs. Default: the smallest types, and vCPUs.",
        ),
    ] = None

    search_time: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="End the search of --recommend after this time, with the cheapest change so far.",
        ),
    ] = 60

    headroom: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write manifests of placeholder pods, whose room moving pods get at once."),
    ] = None

    def validate(self) -> None:
        """Raise MultiarchError for --write without --recommend."""
        if self.write and not self.recommend:
            raise MultiarchError("--write needs --recommend.")

    def prices_of(self, region: str | None) -> RegionPrices | UnknownPrice | None:
        """The prices of a region, None without --prices. Raises MultiarchError for a file that can't be read."""
        from multiarch.prices.file import read

        return None if self.prices is None else read(self.prices).of(region)


@dataclass(frozen=True, slots=True)
class Recommended:
    """A recommendation for the stack file ``path``, whose text is ``old`` before and ``new`` after the change.

    ``report`` is that of the changed stack; ``written`` says whether the file has the change.
    """

    path: Path
    old: str
    new: str
    result: Recommendation
    report: CapacityReport
    seconds: int
    written: bool = False

    @property
    def name(self) -> str:
        """The file, as a user would type it."""
        from multiarch.stack.yaml_source import shown

        return shown(self.path)

    @property
    def patch(self) -> str:
        """The change as ``diff -u`` writes it."""
        from multiarch.yaml_text.difference import difference

        return difference(self.name, self.old, self.new)

    def blocks(self) -> Iterator[Block]:
        """Yield the change with its cost, then what it does not solve."""
        result = self.result
        if result.changes:
            title = f"{'Written to' if self.written else 'Recommended for'} {self.name}: {_cost(result)}"
            rows = [(".".join(each.key), _shown(each.old), _shown(each.new)) for each in result.changes]
            yield Table(("key", "now", "recommended"), rows, title)
            yield from _notes(result, self.seconds)
        elif result.unsolved:
            yield f"No size, limit or zone in {self.name} helps another workload to keep its minimum."
        else:
            yield f"{self.name} needs no change: every workload keeps its minimum."
        if result.unsolved:
            lines = list(_unsolved(result.unsolved))
            if len(lines) > _SHOWN:
                lines[_SHOWN:] = [f"{len(lines) - _SHOWN} more: --output json has them all"]
            yield Items("Not solved by sizes, limits and zones", lines)

    def data(self) -> dict[str, object]:
        """The recommendation in JSON."""
        result = self.result
        return {
            "file": self.name,
            "written": self.written,
            "changes": [{"key": ".".join(each.key), "old": each.old, "new": each.new} for each in result.changes],
            "patch": self.patch,
            "unit": result.rates.unit,
            "noPrices": result.rates.unknown,
            "cost": _cost_data(result.cost),
            "bound": _cost_data(result.bound),
            "unsolved": [
                {
                    "failure": str(each.failure),
                    "namespace": each.workload.namespace,
                    "workload": each.workload.name,
                    "limit": each.workload.limit,
                    "change": each.workload.change,
                }
                for each in result.unsolved
            ],
        }

    def finish(self, output: Format) -> None:
        """Print the patch below a table, unless it was written."""
        if not self.result.changes:
            return
        if self.written:
            say(f"{counted(len(self.result.changes), 'value')} written to {self.name}.")
        elif output is Format.TABLE:
            typer.echo(f"\n{self.patch}", nl=False)
            say("--write writes this change.")


def recommended(
    stack: str,
    plan: Plan,
    failures: Sequence[Failure],
    evaluate: Evaluate,
    given: WorkloadInput,
    options: RecommendOptions,
) -> Recommended:
    """Search, check that the changed file is valid, and write it if that is asked for.

    Raises MultiarchError without the optimiser, for a file that can't be edited, and if the stack does not allow the
    sizes, as when its subnets are too small.
    """
    from multiarch.autoscaling.model import Autoscaler
    from multiarch.capacity.recommendation.patch import patched
    from multiarch.capacity.recommendation.recommend import Surroundings, recommend
    from multiarch.capacity.recommendation.time_limit import TimeLimit
    from multiarch.files import write_atomically
    from multiarch.rules import Severity
    from multiarch.stack.load import load_text
    from multiarch.stack.plan import make_plan
    from multiarch.today import today

    if given.nodes is not None and plan.autoscaling.use is Autoscaler.NONE:
        raise MultiarchError(
            "--recommend with --live needs an autoscaler: without one the cluster keeps the nodes that it has.",
            hint="Use --workloads instead of --live: each node group then starts with its desiredSize.",
        )
    prices = options.prices_of(plan.region)
    path = stacks.file(stack)
    text = path.read_bytes().decode("utf-8")
    # The nodes of a live cluster are not all the plan's, and belong to the groups that there are.
    planned = given.nodes is None
    surroundings = Surroundings(given.workloads.pods, given.budgets(), given.context) if planned else None

    def replan(changes: Sequence[Change]) -> Plan | None:
        try:
            return make_plan(load_text(patched(text, changes), path), today=today())
        except StackError:
            return None

    with progress("simulating changes"):
        result = recommend(
            plan,
            failures,
            evaluate,
            prices,
            surroundings=surroundings,
            replan=replan if planned else None,
            limit=TimeLimit(options.search_time),
        )
    if not result.changes:
        return Recommended(path, text, text, result, result.report, options.search_time)
    new = patched(text, result.changes)
    try:
        changed = make_plan(load_text(new, path), today=today())
    except StackError as error:
        refused = next(each for each in error.problems if each.severity is Severity.ERROR)
        needed = ", ".join(f"{'.'.join(each.key)} {_shown(each.new)}" for each in result.changes)
        raise MultiarchError(
            f"The stack does not allow what would help ({needed}): {refused.message}", hint=refused.hint
        ) from error
    if options.write:
        write_atomically(path, new)
    # What the file says now counts: another group can share a value with a changed one.
    report = evaluate(changed, result.failures, explain=True)
    return Recommended(path, text, new, result, report, options.search_time, written=options.write)


def write_headroom(file: Path, plan: Plan, report: CapacityReport, given: WorkloadInput) -> None:
    """Write the manifests of placeholder pods, and say what they hold."""
    from multiarch.capacity.headroom import headroom_of, manifests
    from multiarch.files import write_atomically
    from multiarch.manifests.quantities import bytes_in_words, cpu_in_words
    from multiarch.yaml_text.dump import dump

    placed = [pod for node in given.nodes or () for pod in node.pods]
    found = headroom_of(plan, report, [*given.workloads.pods, *placed])
    if not found:
        say(f"{file} was not written: no pods move when a zone or the largest nodes fail.")
        return
    write_atomically(file, "---\n".join(dump(each) for each in manifests(plan, found)))
    for each in found:
        amounts = f"{cpu_in_words(each.cpu)} CPU and {bytes_in_words(each.memory)}"
        say(
            f"{file}: {each.architecture}: {counted(each.replicas, 'placeholder pod')} of {amounts} for the pods that "
            f"move ({each.failure}), and {each.spread} more for those in the zone that fails."
        )


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


def _cost(result: Recommendation) -> str:
    """``8 vCPU more at most``, ``2 vCPU more all the time``, ``USD 120.50 more a month at most``."""
    parts = []
    for amount, when in ((result.cost.always, "all the time"), (result.cost.at_most, "at most")):
        if amount > 0:
            parts.append(f"{_amount(amount, result.rates)} {when}")
    return " and ".join(parts) or "no more nodes"


def _amount(amount: Decimal, rates: Rates) -> str:
    if rates.unit == "vCPU":
        return f"{amount.normalize():f} vCPU more"
    return f"{rates.unit} {amount:,.2f} more a month"


def _notes(result: Recommendation, seconds: int) -> Iterator[str]:
    if result.cost > result.bound:
        known = result.bound.always or result.bound.at_most
        least = f", but none below {_cost(replace(result, cost=result.bound))}" if known else ""
        yield f"A cheaper change may exist{least}. The search ends after {seconds} s; --search-time changes that."
    grown = result.plan.autoscaling.cluster_autoscaler is not None
    if not grown and any(each.key[-1] == "desiredSize" for each in result.changes):
        yield (
            "No autoscaler grows these node groups. desiredSize counts when a group is created; for one that exists: "
            "aws eks update-nodegroup-config --scaling-config."
        )
    if any(each.key[-1] in {"zones", "onePerZone"} and each.key[0] != "autoscaling" for each in result.changes):
        yield "A node group whose zones change is replaced."


def _unsolved(unsolved: Sequence[Unsolved]) -> Iterator[str]:
    """A line for each workload and way out: the first failure with its reason, then the names of the others."""
    found: dict[tuple[str, ...], list[Unsolved]] = {}
    for each in unsolved:
        workload = each.workload
        found.setdefault((workload.namespace, workload.name, workload.change, str(workload.pending)), []).append(each)
    for first, *others in found.values():
        workload = first.workload
        reason = workload.limit or f"{counted(workload.replicas, 'pod')}, {workload.minimum_text}"
        change = f" ({workload.change})" if workload.change else ""
        likewise = f"; likewise: {', '.join(_failure(each) for each in others)}" if others else ""
        yield f"{_failure(first)}: {workload.namespace} {workload.name}: {reason}{change}{likewise}"


def _failure(each: Unsolved) -> str:
    return "nothing fails" if each.failure == NO_FAILURE else str(each.failure)


def _cost_data(cost: Cost) -> dict[str, str]:
    return {"always": _number(cost.always), "atMost": _number(cost.at_most)}


def _number(amount: Decimal) -> str:
    """Text, so that nothing is rounded."""
    return f"{amount.normalize():f}"
