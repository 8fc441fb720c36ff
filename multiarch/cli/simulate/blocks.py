"""What a person reads of a simulation: one line per workload, then what got no node, then the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.cli.formats.report import Block, Details, Items, Table
from multiarch.cli.lines import format_amount
from multiarch.cost.pricing import OMITTED
from multiarch.cost.simulated import SimulatedCosts
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.manifests.quantities import format_bytes, format_cpu
from multiarch.plurals import format_count
from multiarch.runs.simulate import SimulatedStack
from multiarch.simulate.model import (
    EXPECTED_ZONE,
    GroupAnswer,
    GroupOutcome,
    SimulatedDaemonSet,
    WorkloadOutcome,
)


def make_blocks(
    found: SimulatedStack, *, explain: bool, only_unplaced: bool, prefer: Architecture | None
) -> Iterator[Block]:
    """Yield all blocks, the most important ones first.

    ``explain``: for every workload, why each group got its pods or not; ``only_unplaced``: only workloads with a pod
    without a node. ``prefer`` is the architecture that pods were made to prefer.
    """
    result = found.simulation
    workloads = (found.choose_unplaced() if only_unplaced else found).simulation.workloads
    yield from _head(found, prefer)
    if only_unplaced and not result.unplaced:
        yield "Every pod got a node."
    if workloads:
        yield _workloads(workloads, lacking=result.unplaced > 0)
    explained: list[Block] = [_explanation(each, found.arm64_taint) for each in workloads if each.unplaced or explain]
    moved = [each for each in result.workloads if each.on_amd64]
    on_amd64: list[Block] = [_on_amd64(moved, prefer)] if moved and prefer is not Architecture.AMD64 else []
    yield from on_amd64 + explained if explain else explained + on_amd64
    if result.daemon_sets:
        yield Items("DaemonSets take room on these nodes", [_daemon_set(each) for each in result.daemon_sets])
    yield _nodes(result.groups)
    yield from _costs(found.cost)
    if explain:
        yield from _use(result.groups)
    notes = [*result.notes, *_unchecked(workloads)]
    if notes:
        yield Items("Assumed, or not checked", notes)
    if not explain:
        yield "--explain adds the reason for each group, CPU and memory."


def _head(found: SimulatedStack, prefer: Architecture | None) -> Iterator[str]:
    result = found.simulation
    total = sum(workload.pods for workload in result.workloads)
    new = sum(group.new for group in result.groups)
    there = sum(group.existing for group in result.groups)
    autoscaler = "no autoscaler" if result.autoscaler == "none" else result.autoscaler
    yield (
        f"{found.stack}, {autoscaler}: {format_count(total, 'pod')}, {total - result.unplaced} placed; "
        f"{format_count(new, 'new node')}, {there} existing"
    )
    if prefer:
        yield f"what if: every pod that may run on {prefer} prefers it"
    for which, count in result.omitted:
        yield f"omitted: {format_count(count, 'pod')} {which}"


def _workloads(workloads: Sequence[WorkloadOutcome], *, lacking: bool) -> Table:
    rows = []
    for each in workloads:
        got = sorted((answer for answer in each.answers if answer.pods), key=lambda answer: -answer.pods)
        on = ", ".join(f"{answer.pods} {answer.group}" for answer in got)
        rows.append((f"{each.namespace} {each.name}", str(each.pods), str(len(each.unplaced) or ""), on))
    if lacking:
        return Table(("workload", "pods", "no node", "pods by group"), rows)
    return Table(("workload", "pods", "pods by group"), [(name, pods, on) for name, pods, _, on in rows])


def _explanation(workload: WorkloadOutcome, arm64_taint: Taint | None) -> Details:
    title = f"{workload.namespace} {workload.name}: {format_count(workload.pods, 'pod')}"
    if workload.unplaced:
        title += f", {len(workload.unplaced)} without a node"
    lines = [*_lines(workload.answers), *(_fixes(workload, arm64_taint) if workload.unplaced else ())]
    return Details(title, [(line, ()) for line in lines])


def _fixes(workload: WorkloadOutcome, arm64_taint: Taint | None) -> Iterator[str]:
    reasons = [answer.reason for answer in workload.answers]
    if arm64_taint and any(reason.startswith(f"does not tolerate {arm64_taint}") for reason in reasons):
        yield "If its images run on arm64: multiarch workload patch --manifests FILE --tolerate arm64"
    if any(reason.startswith(EXPECTED_ZONE) for reason in reasons):
        yield "One group per zone (onePerZone: true) lets the autoscaler choose the zone."


def _lines(answers: Sequence[GroupAnswer]) -> Iterator[str]:
    """Yield one line per group with pods, and one per reason of those without, in the order in which they are tried."""
    by_reason: dict[str, list[str]] = {}
    for answer in answers:
        if not answer.pods:
            by_reason.setdefault(answer.reason, []).append(answer.group)
    for answer in answers:
        if answer.pods:
            yield f"{answer.group}: {format_count(answer.pods, 'pod')}" + (
                f"; {answer.reason}" if answer.reason else ""
            )
        elif (groups := by_reason[answer.reason])[0] == answer.group:
            yield f"{', '.join(groups)}: {answer.reason}"


def _on_amd64(moved: Sequence[WorkloadOutcome], prefer: Architecture | None) -> str:
    count = sum(each.on_amd64 for each in moved)
    which = ", ".join(f"{each.namespace} {each.name} ({each.on_amd64})" for each in moved)
    text = f"{format_count(count, 'pod')} that could run on arm64 got amd64 nodes: {which}."
    if prefer is Architecture.ARM64:
        return (
            f"{text} A preference for arm64 does not keep them off: kube-scheduler takes amd64 nodes where arm64 nodes "
            "have no room, the autoscaler adds nodes in its own order, and a pod's other preferences count too. "
            "`multiarch workload patch --require arm64` does."
        )
    return (
        f"{text} kube-scheduler takes any node with room. `multiarch workload patch --prefer arm64` makes it take "
        "arm64 nodes that have room first; simulate with --prefer arm64 to see whether that is enough."
    )


def _daemon_set(each: SimulatedDaemonSet) -> str:
    taken = f"{format_cpu(each.cpu)} CPU, {format_bytes(each.memory)} memory"
    return f"{each.namespace} {each.name}: {taken} on each of {format_count(each.nodes, 'node')}"


def _nodes(groups: Sequence[GroupOutcome]) -> Table:
    rows = []
    for group in groups:
        types = ", ".join(f"{count} {name}" for name, count in group.instance_types)
        rows.append((group.name, group.kind, str(group.existing), str(group.new), str(group.pods), types))
    return Table(("group", "kind", "existing", "new", "pods", "new nodes"), rows, "Nodes")


def _costs(costs: SimulatedCosts | None) -> Iterator[Block]:
    if costs is None:
        return
    rows = [(group, format_amount(amount)) for group, amount in costs.groups if amount]
    rows.append(("all nodes", format_amount(costs.monthly)))
    yield Table(("group", "per month"), rows, f"Cost per month ({costs.currency})" if costs.currency else "Cost")
    yield f"New nodes cost {format_amount(costs.monthly_of_new_nodes)} of it."
    notes = [f"Unknown: {reason}" for reason in costs.unknown]
    if costs.prices_fetched_at is not None:
        notes.append(f"Prices of {costs.prices_fetched_at:%Y-%m-%d %H:%M} UTC, 730 hours, {OMITTED}")
    if costs.stale:
        notes.append(costs.stale)
    yield Items("How costs are computed", notes)


def _use(groups: Sequence[GroupOutcome]) -> Iterator[Table]:
    # In a table of its own: together they would be wider than most terminals.
    used = [
        (
            group.name,
            f"{format_cpu(group.cpu_requested)}/{format_cpu(group.cpu_allocatable)}",
            _part(group.cpu_waste, group.cpu_allocatable),
            f"{format_bytes(group.memory_requested)}/{format_bytes(group.memory_allocatable)}",
            _part(group.memory_waste, group.memory_allocatable),
        )
        for group in groups
        if group.cpu_allocatable
    ]
    if used:
        yield Table(("group", "CPU used/total", "waste", "memory used/total", "waste"), used, "CPU and memory")


def _part(waste: int, whole: int) -> str:
    return f"{100 * waste / whole:.0f}%" if whole else ""


def _unchecked(workloads: Sequence[WorkloadOutcome]) -> Iterator[str]:
    """Yield what workloads request and is not checked, each once with all workloads that request it."""
    by_note: dict[str, list[str]] = {}
    for workload in workloads:
        for note in workload.notes:
            by_note.setdefault(note, []).append(f"{workload.namespace} {workload.name}")
    yield from (f"{', '.join(names)}: not checked: {note}" for note, names in by_note.items())
