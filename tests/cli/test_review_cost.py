"""``multiarch review`` with prices, and its digest as a comment."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from multiarch.cost.pricing import OMITTED
from multiarch.prices import file as files
from multiarch.prices.model import PriceList, RegionPrices
from tests.cli.running import type_of_run
from tests.cli.test_review import UNCHANGED, deletion, git, written
from tests.comments.stand_in import TOKEN, Fault, Reply, StandIn
from tests.review.by_hand import GROUP, MANAGED
from tests.review.engine_text import digest, step

ARN = "arn:aws:eks:eu-west-1:123456789012:nodegroup/checkout-dev/graviton/d4939c98"
OLD = {**MANAGED, "arn": ARN}
LARGER = digest(
    step("update", GROUP, "graviton", OLD, {**OLD, "instanceTypes": ["m7g.xlarge"]}, {"instanceTypes[0]": "update"})
)


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """A price file of 2026-11-20."""
    known = {"m7g.large": Decimal("0.1"), "m7g.xlarge": Decimal("0.2")}
    region = RegionPrices("eu-west-1", "USD", datetime(2026, 11, 20, tzinfo=UTC), known)
    path = tmp_path / "prices.json"
    files.write_prices(path, PriceList(str(path), {"eu-west-1": region}))
    return str(path)


def test_costs_are_shown_with_what_they_are_of(run: type_of_run, tmp_path: Path, prices: str) -> None:
    ran = run("review", written(tmp_path, LARGER), "--prices", prices)
    assert ran.code == 0
    assert "Cost per month (USD)" in ran.out
    assert "+146.00" in ran.out
    assert "cost-increase" in ran.out
    assert f"Prices of eu-west-1 of 2026-11-20, 730 hours, {OMITTED}" in ran.out
    high = run("review", written(tmp_path, LARGER), "--prices", prices, "--cost-threshold", "146")
    assert "cost-increase" not in high.out
    markdown = run("review", written(tmp_path, LARGER), "--prices", prices, "-o", "markdown").out
    assert "| **Costs** | +146.00 USD per month; +4 vCPUs, +16 GiB<br>**MEDIUM** `cost-increase`" in markdown
    assert "| +4 | +16 | 146.00 | 292.00 | +146.00 |" in markdown


def test_costs_in_json(run: type_of_run, tmp_path: Path, prices: str) -> None:
    (stack,) = run("review", written(tmp_path, LARGER), "--prices", prices, "-o", "json").json["stacks"]
    assert stack["cost"] == {
        "currency": "USD",
        "pricesFetchedAt": "2026-11-20T00:00:00Z",
        "total": "146",
        "complete": True,
        "rows": [
            {
                "what": "node group graviton",
                "sizeBefore": "2 × m7g.large on-demand",
                "sizeAfter": "2 × m7g.xlarge on-demand",
                "vcpus": "4",
                "gib": "16",
                "before": "146",
                "after": "292",
                "change": "146",
                "changeAtMost": "292",
            }
        ],
        "unknown": [],
        "stale": "",
    }


def test_a_change_of_no_stack_updates_an_earlier_comment_only(
    run: type_of_run, clone: Path, gitlab: StandIn, tmp_path: Path
) -> None:
    git(clone, "init", "-q")
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "first")
    ran = run("review", "--since", "main", "--post", "gitlab")
    assert (ran.code, gitlab.bodies) == (0, [])
    assert ran.err.endswith("There is no comment to update.\n")
    run("review", written(tmp_path, deletion()), "--post", "gitlab")
    assert run("review", "--since", "main", "--post", "gitlab").err.endswith("The comment was updated.\n")
    assert "## No stack changes" in gitlab.bodies[0]


def test_the_digest_is_printed_even_if_it_can_not_be_posted(run: type_of_run, tmp_path: Path, gitlab: StandIn) -> None:
    gitlab.faults.append(Fault("GET", "/notes$", Reply(403, {"message": "403 Forbidden"})))
    ran = run("review", written(tmp_path, UNCHANGED), "--post", "gitlab")
    assert ran.code == 3
    assert "checkout-dev" in ran.out
    assert "scope api and the role Reporter" in ran.err
    assert TOKEN not in ran.err
