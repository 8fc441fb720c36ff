"""The search against brute force: generated needs, which several tunables satisfy together, at different costs."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import product

import pytest

from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.recommendation.needs import Need
from multiarch.capacity.recommendation.search import TimeLimit, compute_cost, search_values
from multiarch.capacity.recommendation.tunables import Cost, Key, Tunable, Values
from multiarch.errors import MultiarchError

NEEDS = 24


def tunables(generator: random.Random, number: int) -> list[Tunable]:
    return [
        Tunable(
            ("nodeGroups", f"group-{index}", "maxSize"),
            generator.randint(1, 4),
            Cost(
                always=Decimal(generator.choice([0, 0, 0, 2])),
                at_most=Decimal(generator.choice(["1", "2", "3.5", "8"])),
            ),
        )
        for index in range(number)
    ]


def needs(
    generator: random.Random, keys: list[Key], failures: list[CapacityFailure]
) -> Callable[[Values, CapacityFailure], bool]:
    """Each failure needs some weighted sums of values: workloads that several groups can run."""
    rows: dict[CapacityFailure, list[tuple[dict[Key, int], int]]] = {}
    for failure in failures:
        rows[failure] = [
            ({key: generator.randint(1, 3) for key in generator.sample(keys, generator.randint(1, len(keys)))},
             generator.randint(2, 14))
            for _ in range(generator.randint(1, 2))
        ]  # fmt: skip

    def fails(values: Values, failure: CapacityFailure) -> bool:
        return any(sum(weight * values[key] for key, weight in row.items()) < least for row, least in rows[failure])

    return fails


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(NEEDS))
def test_the_cheapest_values_are_found(seed: int) -> None:
    generator = random.Random(seed)  # noqa: S311  (cases, not secrets)
    given = tunables(generator, generator.randint(1, 3))
    failures = [CapacityFailure(zones=(f"zone-{index}",)) for index in range(generator.randint(1, 3))]
    fails = needs(generator, [each.key for each in given], failures)
    most = {each.key: each.present + 14 for each in given}
    found = search_values(given, most, failures, lambda values, asked: [each for each in asked if fails(values, each)])
    assert not any(fails(found.values, failure) for failure in failures)
    everything = (
        dict(zip(most, values, strict=True))
        for values in product(*(range(each.present, most[each.key] + 1) for each in given))
    )
    least = min(
        compute_cost(given, values) for values in everything if not any(fails(values, failure) for failure in failures)
    )
    assert found.cost == compute_cost(given, found.values) == found.bound == least


def test_without_the_optimiser_the_way_to_get_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    given = tunables(random.Random(0), 1)  # noqa: S311
    with pytest.raises(MultiarchError, match="highspy, which is not installed") as raised:
        search_values(given, {given[0].key: 9}, [CapacityFailure()], lambda _values, failures: failures)
    assert raised.value.hint == "python -m pip install 'multiarch-eks[capacity]'"


def test_where_time_runs_out_the_bound_says_how_far_off_the_values_can_be() -> None:
    """Three groups that replace each other: without needs there are many combinations to exclude."""
    given = [Tunable(("nodeGroups", name, "maxSize"), 1, Cost(at_most=Decimal(1))) for name in "abc"]
    most = {each.key: 21 for each in given}
    tests = 0

    def failing(values: Values, failures: Sequence[CapacityFailure]) -> Sequence[CapacityFailure]:
        nonlocal tests
        tests += 1
        return failures if sum(values.values()) < 17 else []

    found = search_values(given, most, [CapacityFailure()], failing, limit=TimeLimit(60, clock=lambda: tests))
    assert sum(found.values.values()) >= 17
    assert found.bound < found.cost
    needs = [Need({each.key: 1.0 for each in given}, 17.0)]
    exact = search_values(
        given, most, [CapacityFailure()], failing, needs=needs, limit=TimeLimit(60, clock=lambda: tests)
    )
    assert exact.cost == exact.bound == Cost(at_most=Decimal(14))
