"""Room on new nodes, which a run makes with placeholder pods before it evicts for it."""

from __future__ import annotations

import copy
from functools import partial

import pytest

from multiarch.facts.rebalance import LEASE, PLACEHOLDER_LABEL
from multiarch.kubernetes.errors import ClusterError
from multiarch.rebalance.model import Result
from tests.rebalance.runs import API, needing_nodes, results, run, world
from tests.rebalance.world import KilledError, World, away, killed, only


def full(node_after: float) -> World:
    made = world(arm64_room=0)
    made.node_after = node_after
    return made


def test_room_on_new_nodes_is_made_before_pods_are_evicted() -> None:
    made = full(40.0)
    first = []
    made.before = lambda _, name: first.append(len(made.nodes)) if name == "evict" else None
    report = run(made, plan=needing_nodes)
    assert results(report) == [Result.MOVED] * 3
    assert first[0] > 3, "a node came before the first eviction"
    assert all(each.startswith("arm64-new") for each in made.places(API))
    assert (made.cordoned, made.placeholders, made.fewest_ready[API]) == ([], [], 2)


@pytest.mark.parametrize(
    ("node_after", "left"), [(40.0, []), (float("inf"), ["no arm64 node was added for it within 60 s"])]
)
def test_placeholders_do_not_take_the_room_that_other_pods_of_the_node_move_to(
    node_after: float, left: list[str]
) -> None:
    """An arm64 node has room for one of two pods; the amd64 node beside has room for both."""
    made = World(node_after=node_after)
    for name, architecture, room in (("amd64-1", "amd64", 10), ("amd64-2", "amd64", 10), ("arm64-1", "arm64", 1)):
        made.add_node(name, architecture, room=room)
    made.add_workload(API, ["amd64-1", "amd64-1"])
    report = run(made, plan=partial(needing_nodes, room=1))
    assert results(report) == [Result.LEFT] * len(left) + [Result.MOVED] * (2 - len(left))
    assert ([each.detail for each in report.outcomes if each.detail], report.exit_code) == (left, 0)
    assert (made.cordoned, made.placeholders, len(made.evicted)) == ([], [], 2 - len(left))


def test_pods_with_room_move_where_placeholders_can_not_be_created() -> None:
    """The second one is rejected, by a quota for example."""
    made = full(float("inf"))
    made.add_node("arm64-2", "arm64", room=2)

    def reject(_number: int, name: str) -> None:
        if name == "create" and made.placeholders:
            raise ClusterError("exceeded quota: pods=1", status=403)

    made.before = reject
    report = run(made, plan=partial(needing_nodes, room=1))
    assert sorted(results(report)) == [Result.LEFT, Result.MOVED, Result.MOVED]


def test_without_a_new_node_nothing_is_evicted_and_no_placeholder_stays() -> None:
    made = full(float("inf"))
    report = run(made, plan=needing_nodes)
    assert (made.evicted, made.cordoned, made.placeholders, report.exit_code) == ([], [], [], 0)
    assert {each.detail for each in report.outcomes} == {"no arm64 node was added for it within 60 s"}
    assert made.seconds < 2 * 60 + 30, "it waits once"


@pytest.mark.parametrize("status", [403, 404])
def test_without_the_right_to_create_placeholders_their_pods_stay(status: int) -> None:
    made = full(40.0)

    def reject(_number: int, name: str) -> None:
        if name == "create" and made.leases:
            raise ClusterError("There is no namespace multiarch-rebalance.", status=status)

    made.before = reject
    report = run(made, plan=needing_nodes)
    assert (made.evicted, made.placeholders, report.exit_code) == ([], [], 0)
    assert "no placeholder can be created in namespace multiarch-rebalance" in report.outcomes[0].detail


@pytest.mark.exhaustive
@pytest.mark.parametrize(("fault", "moment"), [("killed", "after"), ("away", "before"), ("away", "after")])
def test_placeholders_do_not_outlive_the_next_run_whatever_fails(fault: str, moment: str) -> None:
    made = full(10.0)
    run(made, plan=needing_nodes)
    # Half of the calls each: which of them matter is tried with all of them elsewhere.
    for number in range(5 + (moment == "after"), made.calls + 1, 2):
        made = full(10.0)
        setattr(made, moment, only(number, killed(made) if fault == "killed" else away))
        if fault == "killed":
            with pytest.raises(KilledError):
                run(made, plan=needing_nodes)
            made.dead, made.before, made.after = False, lambda *_: None, lambda *_: None
            made.seconds += 300
        assert run(made, name="run-2", plan=needing_nodes).exit_code == 0, number
        assert (made.cordoned, made.placeholders, made.holder) == ([], [], ""), number
        assert made.fewest_ready[API] == 2
        assert all(each.startswith("arm64") for each in made.places(API)), number


def test_a_run_that_has_lost_the_lease_leaves_the_placeholders_of_the_other_run() -> None:
    made = full(float("inf"))

    def stolen(here: World) -> None:
        here.leases[LEASE]["spec"]["holderIdentity"] = "somebody"
        other = copy.deepcopy(here.pods[here.placeholders[0]])
        other["metadata"] |= {"name": "theirs", "labels": {PLACEHOLDER_LABEL: "somebody"}}
        here.pods["theirs"] = other

    made.at[10] = stolen
    assert run(made, plan=needing_nodes).exit_code == 1
    assert (made.placeholders, made.evicted) == (["theirs"], [])
