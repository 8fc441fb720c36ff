"""Which failures a stack is checked against, and how one is written."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.capacity.failures import list_failures, parse_failure
from multiarch.capacity.model import CapacityFailure
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from tests.scheduling.manifests import ZONES
from tests.simulate.simulated import grown, pooled
from tests.stack.words import plan

AMD64, ARM64 = Architecture.AMD64, Architecture.ARM64
A, B, C = ZONES
NETWORK = {"network": {"zones": list(ZONES)}}
GROUPS = grown(
    {
        "web": {"instanceTypes": ["m7i.large"], "onePerZone": True},
        "batch": {"instanceTypes": ["m7g.large"], "capacityType": "spot"},
    }
)


def made(words: dict[str, Any]) -> Any:  # noqa: ANN401
    return plan({**words, **NETWORK})


def test_every_single_failure_of_a_stack_is_listed() -> None:
    assert [str(each) for each in list_failures(made(GROUPS), ZONES, largest_nodes=2)] == [
        f"zone {A}",
        f"zone {B}",
        f"zone {C}",
        "group batch",
        "group web-a",
        "group web-b",
        "group web-c",
        "arm64 spot",
        "2 largest nodes",
        "all amd64",
        "all arm64",
    ]


def test_node_pools_fail_as_groups_do_and_with_their_capacities() -> None:
    words = pooled({"general": {"architectures": ["amd64", "arm64"], "capacityTypes": ["spot"]}})
    names = [str(each) for each in list_failures(made(words), ZONES, largest_nodes=0)]
    assert names[3:] == [
        "group web",
        "group general-amd64-spot",
        "group general-arm64-spot",
        "amd64 spot",
        "arm64 spot",
        "all amd64",
        "all arm64",
    ]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("zone=b", CapacityFailure(zones=(B,))),
        (f"zone={C}", CapacityFailure(zones=(C,))),
        ("zone=a, zone=b", CapacityFailure(zones=(A, B))),
        ("group=batch,zone=b", CapacityFailure(zones=(B,), groups=("batch",))),
        ("group=web", CapacityFailure(groups=("web-a", "web-b", "web-c"))),
        ("spot=arm64,largest=2", CapacityFailure(spot=(ARM64,), largest_nodes=2)),
        ("architecture=amd64", CapacityFailure(architectures=(AMD64,))),
    ],
)
def test_a_combination_can_be_written(text: str, failure: CapacityFailure) -> None:
    assert parse_failure(text, made(GROUPS), ZONES) == failure


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zone", "'zone' is not a failure. Write KEY=VALUE, several with commas; the keys are zone, group, spot,"),
        ("zone=d", f"There is no zone 'd'. The zones are {', '.join(ZONES)}."),
        ("group=api", "There is no node group or NodePool 'api'. There are batch, web-a, web-b, web-c."),
        ("spot=x86", "'x86' is not an architecture. Use amd64 or arm64."),
        ("largest=0", "largest=0: must be a number of nodes from 1 to 999999."),
        (f"largest={'9' * 5000}", "largest=999"),
    ],
)
def test_what_is_not_a_failure_is_named(text: str, words: str) -> None:
    with pytest.raises(MultiarchError) as raised:
        parse_failure(text, made(GROUPS), ZONES)
    assert str(raised.value).startswith(words)


def test_the_end_of_two_zones_is_rejected() -> None:
    with pytest.raises(MultiarchError) as raised:
        parse_failure("zone=a", made(GROUPS), (A, "eu-west-1-lon-1a"))
    assert str(raised.value) == "zone=a is the end of eu-west-1a and eu-west-1-lon-1a. Write the whole name."
