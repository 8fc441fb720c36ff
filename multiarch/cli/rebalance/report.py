"""What ``multiarch rebalance`` prints: the plan, or what a run did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.plurals import format_count, join_names
from multiarch.rebalance.model import Move, MovePlan, Result, Skipped
from multiarch.runs.rebalance import FinishedRun, PlannedMoves

_NAMED = 3
"""Nodes that a sentence names; it counts the others."""


def plan_report(found: PlannedMoves) -> Report:
    """Return the report of a dry run."""
    return Report("rebalance-plan", data=found, blocks=partial(_plan, found))


def run_report(found: FinishedRun) -> Report:
    """Return the report of a run."""
    return Report("rebalance-run", data=found, blocks=partial(_run, found))


def _plan(found: PlannedMoves) -> Iterator[Block]:
    plan = found.plan
    yield (
        f"{found.stack}: {plan.possible} of {format_count(plan.on_amd64, 'pod')} on amd64 nodes could run on arm64; "
        f"{plan.moves} would be moved"
    )
    if found.quiet_hours:
        yield "These are quiet hours: a run would move nothing now."
    for each in plan.leftovers:
        run = f"the run {each.run} of {each.at}" if each.run and each.at else "a run"
        yield f"Node {each.node} is cordoned by {run}. A run with --apply uncordons it first."
    if plan.nodes:
        moved = [
            (node.node, _by_workload(node.moves), ", ".join(_targets(node.moves)), str(node.pods_left))
            for node in plan.nodes
        ]
        yield Table(("amd64 node", "pods to move", "to", "pods left"), moved)
    if plan.staying:
        rows = [(f"{each.workload.namespace} {each.workload}", str(each.pods), each.reason) for each in plan.staying]
        yield Table(("workload", "pods", "stays because"), rows, "Pods that stay")
    if plan.skipped:
        yield Items("Nodes left alone", list(_skipped(plan)))
    if plan.moves:
        yield "Nothing was changed. --apply moves the pods."
    elif plan.left_to_karpenter == plan.possible:
        yield "Nothing is needed. Karpenter moves these pods itself." if plan.possible else "Nothing is needed."


def _skipped(plan: MovePlan) -> Iterator[str]:
    """Yield one sentence for each reason."""
    by_reason: dict[str, list[Skipped]] = {}
    for each in plan.skipped:
        by_reason.setdefault(each.reason, []).append(each)
    for reason, nodes in by_reason.items():
        names = join_names([each.node for each in nodes], _NAMED)
        yield f"{names} ({format_count(sum(each.pods for each in nodes), 'pod')}): {reason}"


def _by_workload(moves: tuple[Move, ...]) -> str:
    counts = Counter(f"{each.workload.namespace} {each.workload}" for each in moves)
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _targets(moves: tuple[Move, ...]) -> list[str]:
    return sorted({f"{each.target} (new node)" if each.new_node else each.target for each in moves})


def _run(found: FinishedRun) -> Iterator[Block]:
    run = found.run
    yield f"{found.stack}: {format_count(run.count(Result.MOVED), 'pod')} moved. {run.ended}"
    if run.outcomes:
        rows = [(str(each.move), str(each.result), each.node or each.detail) for each in run.outcomes]
        yield Table(("pod", "result", "node or reason"), rows)
    if run.uncordoned:
        yield Items("Uncordoned for runs that did not end", list(run.uncordoned))
    if run.still_cordoned:
        yield Items("May still be cordoned", list(run.still_cordoned))
