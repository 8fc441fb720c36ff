"""What a person reads of a recommendation: the cheapest change of the stack file, its patch, and what it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

import typer

from multiarch.capacity.model import NO_FAILURE
from multiarch.capacity.recommendation.rates import Rates
from multiarch.capacity.recommendation.recommend import Recommendation, Unsolved
from multiarch.cli.formats import Format
from multiarch.cli.formats.report import Block, Items, Table
from multiarch.cli.terminal import print_message
from multiarch.plurals import format_count
from multiarch.runs.capacity import RecommendedChange, format_value

_SHOWN = 20


def build_recommendation_blocks(found: RecommendedChange, seconds: int) -> Iterator[Block]:
    """Yield the change with its cost, then what it does not solve."""
    result = found.result
    if result.changes:
        title = f"{'Written to' if found.written else 'Recommended for'} {found.file}: {_cost(result)}"
        rows = [(each.name, format_value(each.old), format_value(each.new)) for each in result.changes]
        yield Table(("key", "now", "recommended"), rows, title)
        yield from _notes(result, seconds)
    elif result.unsolved:
        yield f"No size, limit or zone in {found.file} helps another workload to keep its minimum."
    else:
        yield f"{found.file} needs no change: every workload keeps its minimum."
    if result.unsolved:
        lines = list(_unsolved(result.unsolved))
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [f"{len(lines) - _SHOWN} more: --output json has them all"]
        yield Items("Not solved by sizes, limits and zones", lines)


def show_patch(found: RecommendedChange, output: Format) -> None:
    """Print the patch below a table, unless it was written."""
    if not found.result.changes:
        return
    if found.written:
        print_message(f"{format_count(len(found.result.changes), 'value')} written to {found.file}.")
    elif output is Format.TABLE:
        typer.echo(f"\n{found.patch}", nl=False)
        print_message("--write writes this change.")


def _cost(result: Recommendation) -> str:
    """Return ``8 vCPU more at most``, ``2 vCPU more all the time``, ``USD 120.50 more a month at most``."""
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
    if any(each.key[-1] == "zones" and each.key[0] != "autoscaling" for each in result.changes):
        yield "A node group whose zones change is replaced."


def _unsolved(unsolved: Sequence[Unsolved]) -> Iterator[str]:
    """Yield a line for each workload and fix: the first failure with its reason, then the names of the others."""
    found: dict[tuple[str, ...], list[Unsolved]] = {}
    for each in unsolved:
        workload = each.workload
        found.setdefault((workload.namespace, workload.name, workload.change, str(workload.pending)), []).append(each)
    for first, *others in found.values():
        workload = first.workload
        reason = workload.limit or f"{format_count(workload.replicas, 'pod')}, {workload.minimum_text}"
        change = f" ({workload.change})" if workload.change else ""
        likewise = f"; likewise: {', '.join(_failure(each) for each in others)}" if others else ""
        yield f"{_failure(first)}: {workload.namespace} {workload.name}: {reason}{change}{likewise}"


def _failure(each: Unsolved) -> str:
    return "nothing fails" if each.failure == NO_FAILURE else str(each.failure)
