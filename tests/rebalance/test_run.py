"""A run and what it meets: no budget is violated, no node stays cordoned, and a run stops when pods come back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from multiarch.facts.rebalance import CORDON_ANNOTATION, LEASE, SET_ASIDE_ANNOTATION
from multiarch.kubernetes.errors import ConflictError
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.lease import LeaseHeldError
from multiarch.rebalance.model import MovePlan, Result
from multiarch.rebalance.snapshot import Snapshot
from tests.rebalance.runs import API, everything, results, run, world
from tests.rebalance.world import World, first_with_room


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_all_pods_move_one_at_a_time_and_nothing_stays_cordoned(kind: str) -> None:
    made = world(kind=kind)
    report = run(made)
    assert results(report) == [Result.MOVED] * 3
    assert made.places(API) == ["arm64-1"] * 3
    assert (made.cordoned, made.holder, report.exit_code) == ([], "", 0)
    assert made.fewest_ready[API] == 2


def test_the_most_pods_of_a_run_are_not_exceeded() -> None:
    made = world()
    report = run(made, max_pods=2)
    assert (len(made.evicted), report.exit_code, made.cordoned) == (2, 0, [])
    assert report.ended == "The most pods of one run (2) are moved."


def test_the_pace_is_kept_between_a_moved_pod_and_the_next_eviction() -> None:
    made, times = world(), []
    made.before = lambda _, name: times.append(made.seconds) if name == "evict" else None
    run(made, pace=100.0)
    assert all(later - earlier >= 100 for earlier, later in pairwise(times))
    assert len(times) == 3


@pytest.mark.parametrize("alone_at", ["its workload's only ready pod", "karpenter.sh/do-not-disrupt"])
def test_what_changes_after_the_plan_keeps_pods_where_they_are(alone_at: str) -> None:
    made = world(budget=None, replicas=2)

    def planned(snapshot: Snapshot, aside: Mapping[WorkloadKey, str], done: Sequence[str], most: int) -> MovePlan:
        plan = everything(snapshot, aside, done, most)
        if "only" in alone_at:
            made.pods["api-1"].update(bound=1e9, status={"phase": "Running", "conditions": []})
        else:
            for pod in made.pods.values():
                pod["metadata"]["annotations"] = {alone_at: "true"}
        guarded = [
            replace(node, moves=tuple(replace(m, needs_another=True) for m in node.moves)) for node in plan.nodes
        ]
        return replace(plan, nodes=tuple(guarded))

    report = run(made, plan=planned, max_pods=1)
    assert (made.evicted, made.cordoned, report.exit_code) == ([], [], 0)
    assert report.outcomes[0].result is Result.LEFT
    assert alone_at in report.outcomes[0].detail


def test_the_lease_is_taken_also_if_the_answer_to_taking_it_is_lost() -> None:
    made = world()
    spec = {"holderIdentity": "dead", "renewTime": "some time", "leaseDurationSeconds": 90}
    made.leases[LEASE] = {"metadata": {"name": LEASE, "resourceVersion": "1"}, "spec": spec}
    lost: list[str] = []

    def after(_number: int, name: str) -> None:
        if name == "patch Lease" and not lost:
            lost.append(name)
            raise ConflictError("the request that was sent again found it changed")

    made.after = after
    assert results(run(made)) == [Result.MOVED] * 3
    assert (lost, made.holder) == (["patch Lease"], "")


def test_a_pod_that_comes_back_to_amd64_stops_the_run_and_its_workload_is_left_alone() -> None:
    made = world()
    made.pick = lambda here, pod: first_with_room(here, pod, prefer="amd64")
    report = run(made)
    assert (results(report), report.exit_code, len(made.evicted)) == ([Result.CAME_BACK], 1, 1)
    assert made.cordoned == []
    later = run(made, name="run-2")
    assert (results(later), later.exit_code, len(made.evicted)) == ([], 0, 1)
    made.seconds += 25 * 3600
    assert results(run(made, name="run-3")) == [Result.CAME_BACK]


def test_a_pod_that_finds_no_node_gets_its_room_back() -> None:
    made = world(replicas=1, budget=None, arm64_room=0)
    made.nodes["amd64-2"]["spec"]["unschedulable"] = True
    report = run(made)
    made.sleep(10)
    assert results(report) == [Result.PENDING]
    assert made.places(API) == ["amd64-1"]
    assert report.exit_code == 1
    assert made.cordoned == ["amd64-2"], "somebody else cordoned it"


def test_a_replacement_that_does_not_become_ready_stops_the_run() -> None:
    made = world()
    made.ready_after = 1e9
    report = run(made)
    assert (results(report), report.exit_code, len(made.evicted), made.cordoned) == ([Result.NOT_READY], 1, 1, [])


def test_a_moved_pod_that_fails_later_stops_the_run_before_the_next_eviction() -> None:
    made = world()

    def crash(here: World) -> None:
        for pod in here.pods.values():
            if pod["spec"].get("nodeName") == "arm64-1":
                pod["status"]["conditions"] = []
                pod["slow"] = 1e9

    made.at[20] = crash
    report = run(made, pace=60.0)
    assert (results(report), len(made.evicted), made.cordoned) == ([Result.NOT_READY], 1, [])


def test_a_budget_that_allows_nothing_leaves_the_pod() -> None:
    made = world(budget=3)
    report = run(made)
    assert set(results(report)) == {Result.LEFT}
    assert (made.evicted, report.exit_code, made.cordoned) == ([], 0, [])
    assert "disruption budget" in report.outcomes[0].detail


def test_a_workload_that_is_scaled_down_meanwhile_needs_no_replacement() -> None:
    made = world(budget=None)

    def scale(here: World) -> None:
        next(iter(here.controllers.values()))["spec"]["replicas"] = 2

    made.after = lambda _, name: scale(made) if name == "evict" else None
    made.pick = lambda _here, _pod: None
    first = run(made, max_pods=1)
    assert results(first) in ([Result.NOT_REPLACED], [Result.PENDING])


def test_a_replacement_that_appears_between_two_requests_is_waited_for() -> None:
    made = world()
    made.still = True
    made.after = lambda _, name: made.step() if name == "list" else None
    assert results(run(made)) == [Result.MOVED] * 3


def test_quiet_hours_end_a_run_and_leftovers_are_undone_all_the_same() -> None:
    made = world()
    left_by(made, "amd64-2", "run-0")
    report = run(made, quiet=lambda _: True)
    assert (report.uncordoned, made.cordoned, made.evicted, report.exit_code) == (("amd64-2",), [], [], 0)
    begun = world()
    report = run(begun, quiet=lambda at: at.minute >= 1, pace=30.0)
    assert 0 < len(begun.evicted) < 3
    assert report.ended == "Quiet hours have begun."


def left_by(made: World, node: str, run_name: str) -> None:
    made.nodes[node]["spec"]["unschedulable"] = True
    made.nodes[node]["metadata"]["annotations"] = {CORDON_ANNOTATION: f"{run_name} 2026-11-22T11:00:00Z"}


def test_two_runs_do_not_meet() -> None:
    made = world()
    run(made, max_pods=1)
    lease = made.leases[LEASE]["spec"]
    lease["holderIdentity"] = "somebody"

    def renewed(here: World) -> None:
        lease["renewTime"] = str(here.seconds)
        here.at[here.seconds + 15] = renewed

    made.at[made.seconds + 5] = renewed
    before = list(made.evicted)
    with pytest.raises(LeaseHeldError, match="somebody") as raised:
        run(made, name="run-2")
    assert (made.evicted, raised.value.exit_code) == (before, 1)


def test_a_lease_that_nobody_renews_is_taken_over_after_its_duration() -> None:
    made = world()
    run(made, max_pods=1)
    made.leases[LEASE]["spec"]["holderIdentity"] = "somebody"
    began = made.seconds
    said: list[str] = []
    assert run(made, name="run-2", say=said.append).count(Result.MOVED) == 2
    assert made.seconds - began >= 90
    assert said[0] == "Run somebody holds the Lease: waiting for up to 90 s, in case it was killed."
    assert sum("holds the Lease" in each for each in said) == 1


def test_a_run_that_loses_the_lease_evicts_nothing_more_and_uncordons() -> None:
    made = world()

    def stolen(here: World) -> None:
        here.leases[LEASE]["spec"]["holderIdentity"] = "somebody"

    made.at[12] = stolen
    report = run(made, pace=60.0)
    assert (len(made.evicted), made.cordoned, report.exit_code) == (1, [], 1)
    assert made.holder == "somebody"


def test_a_signal_ends_a_run_at_once_and_uncordons() -> None:
    for second in range(1, 60, 6):
        made = world()
        made.stop_at = second
        report = run(made)
        assert (made.cordoned, made.holder) == ([], ""), second
        assert len(made.evicted) <= 3
        assert report.exit_code == 0
        assert made.fewest_ready[API] >= 2


@pytest.mark.parametrize("happens", ["deleted", "not ready", "uncordoned", "drained"])
def test_a_node_that_is_lost_in_the_middle_is_left_alone(happens: str) -> None:
    made = world(replicas=3)
    made.add_workload("web", ["amd64-1", "amd64-1"])

    def lose(here: World) -> None:
        if happens == "deleted":
            here.nodes.pop("amd64-1")
        elif happens == "drained":
            taints = [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]
            here.nodes["amd64-1"]["spec"]["taints"] = taints
        elif happens == "not ready":
            here.nodes["amd64-1"]["status"]["conditions"][0]["status"] = "Unknown"
        else:
            del here.nodes["amd64-1"]["spec"]["unschedulable"]

    made.at[3] = lose
    said: list[str] = []
    run(made, say=said.append)
    assert sum("amd64-1" in each and "left alone" in each for each in said) == 1, said
    assert made.cordoned == []


@pytest.mark.parametrize(("pods", "result"), [("stay", Result.NOT_READY), ("are collected", Result.CAME_BACK)])
def test_the_node_that_pods_move_to_is_lost_in_the_middle(pods: str, result: Result) -> None:
    made = world()
    made.ready_after = 1e9

    def lose(here: World) -> None:
        here.nodes.pop("arm64-1")
        for name in [name for name, pod in here.pods.items() if pod["spec"].get("nodeName") == "arm64-1"]:
            if pods != "stay":
                here.pods.pop(name)

    made.at[8] = lose
    report = run(made)
    assert (results(report), report.exit_code, len(made.evicted)) == ([result], 1, 1)
    assert (made.cordoned, made.holder, made.fewest_ready[API]) == ([], "", 2)


def test_a_node_that_somebody_cordons_first_is_left_alone_and_stays_cordoned() -> None:
    made = world()
    made.after = lambda _, name: cordon_all(made) if name == "create" else None
    report = run(made)
    assert (made.evicted, report.exit_code, made.cordoned) == ([], 0, ["amd64-1", "amd64-2"])


def cordon_all(made: World) -> None:
    for name in ("amd64-1", "amd64-2"):
        made.nodes[name]["spec"]["unschedulable"] = True


def test_what_is_set_aside_is_kept_with_its_reason_and_what_others_wrote_there_is_ignored() -> None:
    made = world()
    made.pick = lambda here, pod: first_with_room(here, pod, prefer="amd64")
    run(made)
    (row,) = json.loads(made.leases[LEASE]["metadata"]["annotations"][SET_ASIDE_ANNOTATION]).values()
    assert row["why"].startswith("came back to amd64: kube-scheduler put its replacement")
    for text in ("", "[]", "{", '{"a": 1}', '{"shop/ReplicaSet/api": {"at": "never", "why": "x"}}', "null"):
        made.leases[LEASE]["metadata"]["annotations"][SET_ASIDE_ANNOTATION] = text
        made.sleep(30)
        assert results(run(made, name="again")) == [Result.CAME_BACK], text


def test_pods_that_a_workload_gets_while_a_budget_is_waited_for_are_not_taken_for_the_replacement() -> None:
    made = world(replicas=2, budget=2)

    def scale(here: World) -> None:
        next(iter(here.controllers.values()))["spec"]["replicas"] = 3
        here.pick = lambda _here, pod: "amd64-2" if len(here.pods) == 3 else first_with_room(here, pod)

    made.at[5] = scale
    assert Result.MOVED in results(run(made, max_pods=1))
