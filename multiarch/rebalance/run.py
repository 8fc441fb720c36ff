"""A run: take the Lease, undo what killed runs left, then node by node cordon, move pods one at a time, and uncordon.

Only the node whose pods are moved is cordoned. The room that a pod leaves there is kept for it until its replacement is
ready elsewhere: where that finds no arm64 node in time, the node is uncordoned, and the pod gets its room back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import NODES
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.clock import Clock, Patience
from multiarch.rebalance.cordon import cordon_node, uncordon_node
from multiarch.rebalance.lease import Lease, LeaseHeldError, read_set_aside
from multiarch.rebalance.model import Leftover, Move, MovePlan, NodeMoves, PodOutcome, Result, RunReport
from multiarch.rebalance.moving import Mover
from multiarch.rebalance.placeholders import Placeholders
from multiarch.rebalance.snapshot import Snapshot, explain_unfit, read_leftover, read_snapshot

_STEP_SECONDS = 5.0
_ALONE = "Runs leave the workload alone for a day."
_CLEANUP_SECONDS = 90.0
"""How long a run that ends tries to uncordon a node while the API server does not answer."""

Plan = Callable[[Snapshot, Mapping[WorkloadKey, str], Sequence[str], int], MovePlan]
"""Plans for a snapshot: workloads that are set aside, nodes that were done, the most pods."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run goes: at most ``max_pods``, ``pace`` seconds from one move to the next eviction.

    ``timeout`` are the seconds that a pod's replacement may take to be ready. ``quiet`` says whether a time is in
    quiet hours. ``name`` is the run's.
    """

    name: str
    max_pods: int
    pace: float
    timeout: float
    quiet: Callable[[datetime], bool] = lambda _: False


class Run:
    """One run; :meth:`execute` it once."""

    def __init__(
        self, cluster: KubernetesCluster, clock: Clock, settings: Settings, plan: Plan, say: Callable[[str], None]
    ) -> None:
        """``say`` is told of each step, a sentence."""
        self._cluster, self._clock, self._settings, self._plan, self._say = cluster, clock, settings, plan, say
        self._lease = Lease(cluster, clock, settings.name)
        self._patience = Patience(clock)
        self._mover = Mover(cluster, clock, self._patience, self._lease, settings.timeout)
        self._placeholders = Placeholders(cluster, clock, self._patience, self._lease, settings.name)
        self._no_room = ""
        self._last: PodOutcome | None = None
        self._last_at = -math.inf
        self._outcomes: list[PodOutcome] = []
        self._uncordoned: list[str] = []
        self._still_cordoned: list[str] = []
        self._code = 0

    def execute(self) -> RunReport:
        """Run to the end. What goes wrong meanwhile is in the report; LeaseHeldError is raised before anything is done.

        Raises ClusterError if the cluster can't be reached at all.
        """
        self._lease.acquire(self._patience, self._say)
        error: MultiarchError | None = None
        try:
            ended = self._under_lease()
        except LeaseHeldError as lost:
            ended, error = f"It stopped: {lost}", lost
        except MultiarchError as fault:
            ended, error = f"It stopped: {fault}", fault
        finally:
            self._finally("release the Lease", self._lease.release)
        if error is not None:
            self._code = error.exit_code
        failed = any(each.result.failed for each in self._outcomes)
        return RunReport(
            outcomes=tuple(self._outcomes),
            ended=ended,
            uncordoned=tuple(self._uncordoned),
            still_cordoned=tuple(self._still_cordoned),
            exit_code=self._code or int(failed),
        )

    def _under_lease(self) -> str:
        self._undo_leftovers()
        self._finally("delete placeholders", partial(self._placeholders.clear, others=True))
        done: list[str] = []
        while True:
            if why := self._why_end():
                return why
            nodes = self._next(done)
            if nodes is None:
                return "There is nothing more to move." if done else "There is nothing to move."
            done.append(nodes.node)
            try:
                ended = self._empty(nodes)
            finally:
                if any(each.new_node for each in nodes.moves):
                    self._finally("delete placeholders", self._placeholders.clear)
            self._remember_failures()
            if ended:
                return ended

    def _next(self, done: Sequence[str]) -> NodeMoves | None:
        """Return the node to empty next. What was read of the cluster is gone before it is read again."""
        snapshot = self._patience.do(lambda: read_snapshot(self._cluster))
        self._patience.do(self._lease.renew)
        aside = self._patience.do(lambda: read_set_aside(self._cluster, self._clock.now()))
        return next(iter(self._plan(snapshot, aside, done, self._left).nodes), None)

    @property
    def _left(self) -> int:
        """How many pods may still be moved. One that failed counts too."""
        return self._settings.max_pods - sum(each.result is not Result.LEFT for each in self._outcomes)

    def _why_end(self) -> str:
        """Return why no further pod is moved, a sentence, or an empty string."""
        if self._still_cordoned:
            return f"It stopped: {', '.join(self._still_cordoned)} could not be uncordoned."
        if self._clock.wait(0):
            return "A signal ended it."
        if self._settings.quiet(self._clock.now()):
            return "Quiet hours have begun." if self._outcomes else "It is within quiet hours: nothing is moved."
        return "" if self._left > 0 else f"The most pods of one run ({self._settings.max_pods}) are moved."

    def _undo_leftovers(self) -> None:
        """Uncordon what earlier runs left: they have ended, because this one has the Lease."""
        nodes = self._patience.do(lambda: list(self._cluster.objects([NODES])))
        for found in nodes:
            if (leftover := read_leftover(found.value)) is not None:
                self._undo(leftover)

    def _undo(self, leftover: Leftover) -> None:
        node = leftover.node
        if self._finally(
            f"uncordon {node}", lambda: uncordon_node(self._cluster, self._clock, node, leftover.run), node=node
        ):
            self._uncordoned.append(node)
            self._say(f"{node}: uncordoned; run {leftover.run} cordoned it at {leftover.at} and did not end.")

    def _empty(self, nodes: NodeMoves) -> str:
        """Move a node's pods. Returns why the run ends, a sentence, or an empty string."""
        name, run = nodes.node, self._settings.name
        self._patience.do(self._lease.renew)
        moves = self._with_room(nodes)
        if not moves:
            return ""
        try:
            # In the try: a request whose answer is lost may have cordoned it.
            why = self._patience.do(lambda: cordon_node(self._cluster, self._clock, name, run))
            if why:
                self._say(f"{name}: left alone: {why}.")
                return ""
            self._say(f"{name}: cordoned; {len(moves)} of its pods are to be moved.")
            ended = self._move_all(name, moves)
        finally:
            self._finally(f"uncordon {name}", lambda: uncordon_node(self._cluster, self._clock, name, run), node=name)
        return ended

    def _with_room(self, nodes: NodeMoves) -> tuple[Move, ...]:
        """Return the moves for which an arm64 node has room; one is added for those that need one.

        Then the others have placeholders too: without them, those that wait for a node would take the others' room.
        """
        placed = {each.uid for each in nodes.moves if not each.new_node}
        if len(placed) == len(nodes.moves):
            return nodes.moves
        if not self._no_room:
            self._say(f"{nodes.node}: waiting for room on arm64 nodes for {len(nodes.moves)} of its pods.")
            placed, why = self._placeholders.make(nodes.moves, self._settings.timeout)
            self._no_room = "" if len(placed) == len(nodes.moves) else why
        for each in nodes.moves:
            if each.uid not in placed:
                self._told(nodes.node, PodOutcome(each, Result.LEFT, self._no_room))
        return tuple(each for each in nodes.moves if each.uid in placed)

    def _told(self, node: str, outcome: PodOutcome) -> PodOutcome:
        self._outcomes.append(outcome)
        detail = f": {outcome.detail}" if outcome.detail else ""
        at = f" to {outcome.node}" if outcome.result is Result.MOVED else ""
        self._say(f"{node}: {outcome.move}: {outcome.result}{at}{detail}.")
        return outcome

    def _move_all(self, node: str, moves: Sequence[Move]) -> str:
        for move in moves:
            self._pause()
            if why := self._why_end() or self._why_moved_pod_failed():
                return why
            if why := self._why_node_is_lost(node):
                self._say(f"{node}: left alone: {why}.")
                return ""
            try:
                moved = self._mover.move(move, node, self._placeholders.free)
            except MultiarchError as error:
                self._told(node, PodOutcome(move, Result.INTERRUPTED, f"it may have been evicted: {error.message}"))
                raise
            outcome = self._told(node, moved)
            if outcome.result.failed:
                return self._stopped_by(outcome)
            if outcome.result is Result.MOVED:
                self._last, self._last_at = outcome, self._clock.elapsed()
        return ""

    def _why_moved_pod_failed(self) -> str:
        """Return why a pod that was moved is no longer ready, as the end of the run, or an empty string."""
        if self._last is None or not (why := self._mover.why_moved_pod_failed(self._last)):
            return ""
        failed = replace(self._last, result=Result.NOT_READY, detail=why)
        self._outcomes[self._outcomes.index(self._last)] = failed
        self._last = None
        return self._stopped_by(failed)

    def _stopped_by(self, outcome: PodOutcome) -> str:
        return f"It stopped: {outcome.move} of {outcome.move.workload}: {outcome.result}. {_ALONE}"

    def _remember_failures(self) -> None:
        for each in self._outcomes:
            if each.result.failed:
                why = f"{each.result}: {each.detail}"
                self._patience.do(partial(self._lease.set_aside, each.move.workload, why))

    def _why_node_is_lost(self, node: str) -> str:
        """Return why a node that this run has cordoned is not to be emptied any more, a clause, or an empty string."""
        self._patience.do(self._lease.renew)
        value = self._patience.do(lambda: self._cluster.get(NODES, None, node))
        if value is None:
            return "it was deleted"
        found = read_leftover(value)
        if found is None or found.run != self._settings.name or not (value.get("spec") or {}).get("unschedulable"):
            return "somebody uncordoned it"
        return explain_unfit(value)

    def _pause(self) -> None:
        """Wait until the pace allows the next eviction."""
        end = self._last_at + self._settings.pace
        while (left := end - self._clock.elapsed()) > 0 and not self._clock.wait(min(left, _STEP_SECONDS)):
            self._patience.do(self._lease.renew)

    def _finally(self, what: str, do: Callable[[], None], *, node: str = "") -> bool:
        """Do what a run that ends has to do, also while the API server is away. Says whether it was done."""
        try:
            Patience(self._clock, seconds=_CLEANUP_SECONDS, to_the_end=True).do(do)
        except MultiarchError as error:
            self._say(f"Could not {what}: {error}")
            if node:
                self._still_cordoned.append(node)
                self._code = error.exit_code
            return False
        return True
