"""``multiarch cost`` on the project's own stacks and the example prices."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from multiarch.cost.pricing import OMITTED
from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run

pytestmark = pytest.mark.usefixtures("clone")
PRICES = str(CLONE / "examples" / "prices.json")


def test_a_stack_is_shown_by_group_with_a_chart(run: type_of_run) -> None:
    ran = run("cost", "checkout-dev", "--prices", PRICES)
    assert (ran.code, ran.err) == (0, "")
    lines = [line.rstrip() for line in ran.out.splitlines()]
    assert lines[0] == "checkout-dev: 260.24 USD per month"
    assert any(re.fullmatch(r" general +amd64 on-demand +m7i.large +1 +82.05 +328.21", line) for line in lines)
    assert any(re.fullmatch(r" NAT gateways \(1\) +35.04", line) for line in lines)
    assert any(re.fullmatch(r" amd64 on-demand nodes +82.05 +32% +█{24}", line) for line in lines)
    assert f"- Prices of eu-west-1 of 2026-11-20 06:00 UTC, 730 hours, {OMITTED}." in " ".join(lines)
    assert "Unknown" not in ran.out


def test_what_has_no_price_is_unknown_with_the_reason(run: type_of_run) -> None:
    ran = run("cost", "payments-prod", "gke-parity", "--prices", PRICES)
    assert ran.out.startswith("payments-prod: 1,444.38 USD per month, plus unknown costs\n")
    assert "- Karpenter adds nodes as pods need them." in ran.out
    assert "\ngke-parity: unknown\n" in ran.out
    assert f"- {PRICES} has no prices of eu-west-3; `multiarch prices fetch` adds them." in ran.out


def test_several_stacks_are_summed_up_by_team(run: type_of_run) -> None:
    ran = run("cost", "--prices", PRICES)
    by_team = ran.out.split("By team\n")[1]
    assert re.search(r"checkout +260.24 USD per month\n", by_team)
    assert re.search(r"payments +1,444.38 USD per month, plus unknown costs\n", by_team)
    assert re.search(r"legacy +unknown\n", by_team)
    # Each note once, with the stacks that it is about unless it is about all.
    assert ran.out.count("\n- Node groups count with their desired size.\n") == 1
    assert ran.out.count("\n- checkout-dev: Prices of eu-west-1 of ") == 1


def test_groups_without_nodes_show_their_maximum_beside_those_that_the_pods_need(run: type_of_run, clone: Path) -> None:
    file = clone / "config" / "stacks" / "Pulumi.checkout-dev.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("minSize: 1", "minSize: 0"), encoding="utf-8")
    pods = {
        "kind": "Pod",
        "metadata": {"name": "one"},
        "spec": {"containers": [{"name": "a", "image": "localhost:1/a"}]},
    }
    Path("pods.json").write_text(json.dumps(pods), encoding="utf-8")
    ran = run("cost", "checkout-dev", "--prices", PRICES, "--manifests", "pods.json")
    assert re.search(r"^ graviton +0 +0.00 +266.01$", ran.out, re.MULTILINE)


def test_costs_in_json(run: type_of_run) -> None:
    told = run("cost", "checkout-dev", "--prices", PRICES, "-o", "json").json
    assert (told["version"], told["kind"]) == ("2", "cost")
    assert told["teams"] == [{"team": "checkout", "currency": "USD", "monthly": "260.245", "complete": True}]
    (stack,) = told["stacks"]
    assert stack["nodes"][1] == {
        "group": "graviton",
        "architecture": "arm64",
        "capacityType": "on-demand",
        "instanceTypes": ["m7g.large"],
        "nodes": 1,
        "monthly": "66.503",
    }
    assert stack["pricesFetchedAt"] == "2026-11-20T06:00:00Z"
    assert stack["others"] == [
        {"what": "control plane", "monthly": "73"},
        {"what": "NAT gateways (1)", "monthly": "35.04"},
        {"what": "public IPv4 addresses (1)", "monthly": "3.65"},
    ]
    assert stack["atMaximumSize"][0] == {"group": "general", "monthly": "328.208"}
    assert (stack["fallback"], stack["savings"], stack["unknown"]) == (None, [], [])
