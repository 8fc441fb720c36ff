"""Weights: no two the same, and in the order of capacities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from multiarch.autoscaling.model import Capacity, order_capacities, parse_capacity, rank_capacity
from multiarch.autoscaling.spec import PoolSpec
from multiarch.autoscaling.weights import PoolDraft, assign_lowest_weights, assign_weights
from multiarch.facts.architectures import Architecture
from multiarch.schema.autoscaling import NodePool

DEFAULT_ORDER = order_capacities(Architecture.ARM64)


def draft(name: str, *capacities: Capacity, index: int = 0, weight: int | None = None) -> PoolDraft:
    settings = NodePool(
        architectures=sorted({capacity.architecture.value for capacity in capacities}),
        capacityTypes=sorted({capacity.capacity_type.value for capacity in capacities}),
        weight=weight,
    )
    return PoolDraft(PoolSpec(name, settings), index, name, capacities)


def drafts(number: int, written: dict[int, int]) -> list[PoolDraft]:
    """The NodePools of ``number`` pools: of all capacities, or of one for those that have a weight in ``written``."""
    made = []
    for index in range(number):
        if index in written:
            made.append(draft(f"w{index}", DEFAULT_ORDER[0], index=index, weight=written[index]))
        else:
            made += [draft(f"w{index}-{each}", each, index=index) for each in DEFAULT_ORDER]
    return made


WRITTEN = st.dictionaries(st.integers(0, 19), st.integers(1, 100), max_size=10).filter(
    lambda weights: len(set(weights.values())) == len(weights)
)


@given(st.integers(1, 20), WRITTEN)
def test_weights_are_unique_in_karpenters_range_and_written_ones_stay(number: int, written: dict[int, int]) -> None:
    made = drafts(number, written)
    weights = assign_weights(made, DEFAULT_ORDER)
    assert set(weights) == {each.name for each in made}
    assert len(set(weights.values())) == len(weights)
    assert all(1 <= weight <= 100 for weight in weights.values())
    assert all(weights[each.name] == each.written_weight for each in made if each.written_weight is not None)


@given(st.integers(1, 20))
def test_every_pool_of_a_capacity_comes_before_all_of_the_next_in_the_order(number: int) -> None:
    made = drafts(number, {})
    weights = assign_weights(made, DEFAULT_ORDER)
    in_order = sorted(made, key=lambda each: -weights[each.name])
    places = [rank_capacity(each.capacities[0], DEFAULT_ORDER) for each in in_order]
    assert places == sorted(places)


@given(st.integers(1, 20))
def test_cordoned_pools_have_the_lowest_weights_in_the_same_order(number: int) -> None:
    made = drafts(number, {})
    low, usual = assign_lowest_weights(made, DEFAULT_ORDER), assign_weights(made, DEFAULT_ORDER)
    assert sorted(low.values()) == list(range(1, len(made) + 1))
    assert sorted(low, key=low.__getitem__) == sorted(usual, key=usual.__getitem__)


def test_a_pool_of_both_architectures_counts_as_the_first_in_the_order() -> None:
    both = tuple(Capacity(each, DEFAULT_ORDER[0].capacity_type) for each in Architecture)
    assert assign_weights([draft("general-spot", *both)], DEFAULT_ORDER) == {"general-spot": 90}


def test_a_derived_weight_moves_out_of_a_written_ones_way() -> None:
    made = [draft("a", DEFAULT_ORDER[1], weight=90), draft("b", DEFAULT_ORDER[0])]
    assert assign_weights(made, DEFAULT_ORDER) == {"a": 90, "b": 89}


def test_the_default_order_is_arm64_first_and_spot_before_on_demand() -> None:
    assert [str(capacity) for capacity in DEFAULT_ORDER] == [
        "arm64-spot",
        "arm64-on-demand",
        "amd64-spot",
        "amd64-on-demand",
    ]
    assert [str(capacity) for capacity in order_capacities(Architecture.AMD64)] == [
        "amd64-spot", "amd64-on-demand", "arm64-spot", "arm64-on-demand",
    ]  # fmt: skip


def test_capacities_that_the_order_leaves_out_share_the_last_place() -> None:
    order = [parse_capacity("amd64-on-demand")]
    assert [rank_capacity(capacity, order) for capacity in DEFAULT_ORDER] == [1, 1, 1, 0]
