"""Weights: no two the same, and in the order of capacities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from multiarch.autoscaling.model import Kind
from multiarch.autoscaling.order import DEFAULT_ORDER, parse_kind, preferring, rank
from multiarch.autoscaling.weights import MOST_WISHES, Wish, cordon, weigh
from multiarch.facts.architectures import Architecture


def wishes(number: int, written: dict[int, int]) -> list[Wish]:
    """Pools of ``number`` wishes with all kinds; those in ``written`` are of one kind and have a weight."""
    made = []
    for index in range(number):
        if index in written:
            made.append(Wish(f"w{index}", (DEFAULT_ORDER[0],), index, written[index]))
        else:
            made += [Wish(f"w{index}-{kind}", (kind,), index, None) for kind in DEFAULT_ORDER]
    return made


WRITTEN = st.dictionaries(st.integers(0, MOST_WISHES - 1), st.integers(1, 100), max_size=10).filter(
    lambda weights: len(set(weights.values())) == len(weights)
)


@given(st.integers(1, MOST_WISHES), WRITTEN)
def test_weights_are_unique_in_karpenters_range_and_written_ones_stay(number: int, written: dict[int, int]) -> None:
    made = wishes(number, written)
    weights = weigh(made, DEFAULT_ORDER)
    assert set(weights) == {wish.name for wish in made}
    assert len(set(weights.values())) == len(weights)
    assert all(1 <= weight <= 100 for weight in weights.values())
    assert all(weights[wish.name] == wish.written for wish in made if wish.written is not None)


@given(st.integers(1, MOST_WISHES))
def test_every_pool_of_a_more_wanted_kind_comes_before_all_of_a_less_wanted_one(number: int) -> None:
    made = wishes(number, {})
    weights = weigh(made, DEFAULT_ORDER)
    in_order = sorted(made, key=lambda wish: -weights[wish.name])
    places = [rank(wish.kinds[0], DEFAULT_ORDER) for wish in in_order]
    assert places == sorted(places)


@given(st.integers(1, MOST_WISHES))
def test_cordoned_pools_have_the_lowest_weights_in_the_same_order(number: int) -> None:
    made = wishes(number, {})
    low, usual = cordon(made, DEFAULT_ORDER), weigh(made, DEFAULT_ORDER)
    assert sorted(low.values()) == list(range(1, len(made) + 1))
    assert sorted(low, key=low.__getitem__) == sorted(usual, key=usual.__getitem__)


def test_the_default_weights_are_ninety_seventy_fifty_thirty() -> None:
    weights = weigh(wishes(1, {}), DEFAULT_ORDER)
    assert list(weights.values()) == [90, 70, 50, 30]


def test_a_pool_of_both_architectures_counts_with_the_more_wanted_one() -> None:
    both = tuple(Kind(each, DEFAULT_ORDER[0].capacity_type) for each in Architecture)
    assert weigh([Wish("general-spot", both, 0, None)], DEFAULT_ORDER) == {"general-spot": 90}


def test_a_derived_weight_moves_out_of_a_written_ones_way() -> None:
    made = [Wish("a", (DEFAULT_ORDER[1],), 0, 90), Wish("b", (DEFAULT_ORDER[0],), 0, None)]
    assert weigh(made, DEFAULT_ORDER) == {"a": 90, "b": 89}


def test_the_default_order_is_arm64_first_and_spot_before_on_demand() -> None:
    assert [str(kind) for kind in DEFAULT_ORDER] == ["arm64-spot", "arm64-on-demand", "amd64-spot", "amd64-on-demand"]
    assert [str(kind) for kind in preferring(Architecture.AMD64)] == [
        "amd64-spot", "amd64-on-demand", "arm64-spot", "arm64-on-demand",
    ]  # fmt: skip


def test_kinds_that_the_order_leaves_out_share_the_place_behind_it() -> None:
    order = [parse_kind("amd64-on-demand")]
    assert [rank(kind, order) for kind in DEFAULT_ORDER] == [1, 1, 1, 0]
