"""A run killed or failing at any call: no budget is violated, no node stays cordoned, and the next run cleans up."""

from __future__ import annotations

import pytest

from multiarch.kubernetes.errors import ClusterError, ForbiddenError
from multiarch.kubernetes.resources import EVICTIONS, PODS
from multiarch.rebalance.model import Result
from tests.rebalance.runs import API, number_of_calls, results, run, world
from tests.rebalance.world import KilledError, away, killed, only


def test_an_api_server_that_restarts_is_waited_for() -> None:
    # In steps: the calls that fail are ten each time.
    for number in range(2, number_of_calls(), 3):
        made = world()

        def restart(found: int, name: str, number: int = number) -> None:
            if number <= found < number + 10:
                away(found, name)

        made.before = restart
        report = run(made)
        assert report.exit_code == 0, (number, report.ended)
        assert made.places(API) == ["arm64-1"] * 3
        assert (made.cordoned, made.holder, made.fewest_ready[API]) == ([], "", 2)


@pytest.mark.exhaustive
def test_a_run_killed_after_any_call_is_cleaned_up_by_the_next() -> None:
    for number in range(1, number_of_calls() + 1):
        made = world()
        made.after = only(number, killed(made))
        with pytest.raises(KilledError):
            run(made)
        made.dead, made.after = False, lambda *_: None
        assert len(made.cordoned) <= 1
        made.seconds += 300
        report = run(made, name="run-2")
        assert (made.cordoned, made.holder, report.exit_code) == ([], "", 0), number
        assert made.places(API) == ["arm64-1"] * 3
        assert made.fewest_ready[API] == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_api_server_that_fails_for_good_ends_the_run_and_the_next_one_cleans_up(moment: str) -> None:
    # Half of the calls each: the others are tried at the other moment.
    for number in range(3 + (moment == "after"), number_of_calls() + 1, 2):
        made = world()

        def gone(found: int, name: str, number: int = number) -> None:
            if found >= number:
                away(found, name)

        setattr(made, moment, gone)
        report = run(made)
        named = {each.move.name for each in report.outcomes}
        assert set(made.evicted) <= named, "every pod that was evicted is named"
        cordoned = made.cordoned
        # Only the Lease's release is left to do after the last move: it ends by itself.
        assert report.exit_code == 3 or report.ended == "There is nothing more to move.", number
        assert set(cordoned) <= set(report.still_cordoned)
        made.before, made.after = lambda *_: None, lambda *_: None
        made.seconds += 300
        run(made, name="run-2")
        assert (made.cordoned, made.holder) == ([], ""), number
        assert made.fewest_ready[API] == 2


@pytest.mark.exhaustive
def test_an_answer_that_is_lost_changes_nothing() -> None:
    for number in range(2, number_of_calls() + 1):
        made = world()
        made.after = only(number, away)
        report = run(made)
        assert report.exit_code == 0, (number, report.ended)
        assert made.places(API) == ["arm64-1"] * 3, number
        assert (made.cordoned, made.holder, made.fewest_ready[API]) == ([], "", 2)


def test_an_api_server_that_starts_may_reject_for_a_while() -> None:
    made = world()

    def starting(_number: int, name: str) -> None:
        if 20 <= made.seconds < 30:
            raise ForbiddenError(name, PODS, None, None, "")

    made.before = starting
    report = run(made)
    assert results(report) == [Result.MOVED] * 3, report.ended
    assert (made.cordoned, made.holder) == ([], "")


def test_a_missing_right_stops_the_run_and_uncordons() -> None:
    made = world()

    def reject(_number: int, name: str) -> None:
        if name == "evict":
            raise ForbiddenError("create", EVICTIONS, "shop", None, "")

    made.before = reject
    report = run(made)
    assert (report.exit_code, made.cordoned, made.holder) == (3, [], "")
    assert "pods/eviction" in report.ended


def test_an_output_that_is_closed_does_not_leave_a_node_cordoned() -> None:
    def broken(_: str) -> None:
        raise BrokenPipeError

    made = world()
    with pytest.raises(BrokenPipeError):
        run(made, say=broken)
    assert (made.cordoned, made.holder) == ([], "")


def test_a_node_that_can_not_be_uncordoned_is_named() -> None:
    made = world()

    def reject(_number: int, name: str) -> None:
        if name == "patch Node" and made.evicted:
            raise ClusterError("no", status=403)

    made.before = reject
    said: list[str] = []
    report = run(made, say=said.append)
    assert (list(report.still_cordoned), report.exit_code) == (made.cordoned, 3)
    assert len(made.cordoned) == 1, "no other node is cordoned after it"
    assert any("Could not uncordon" in each for each in said)


def test_a_cluster_that_does_not_answer_at_all_is_not_waited_for() -> None:
    made = world()
    made.before = away
    with pytest.raises(ClusterError):
        run(made)
    assert (made.calls, made.seconds) == (1, 0)
