"""``multiarch rebalance`` on a stand-in for a cluster; tests/cluster runs it on a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from multiarch.cli.rebalance import command
from multiarch.kubernetes.source import ClusterAccess
from multiarch.runs.images import Arm64ImageJudge
from tests.cli.conftest import CLONE
from tests.cli.running import Ran, type_of_run
from tests.rebalance.cluster import PREFERS_ARM64, world
from tests.rebalance.world import World, away, first_with_room

STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "4711"
  multiarch-eks:nodeGroups:
    web: {instanceTypes: [m7i.large], maxSize: 4}
    web-arm: {instanceTypes: [m7g.large], maxSize: 4}
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> World:
    """The cluster of every kubeconfig, whose images all support arm64."""
    found = world()

    @contextmanager
    def opened(_: ClusterAccess) -> Iterator[World]:
        yield found

    @contextmanager
    def stopping() -> Iterator[None]:
        yield

    monkeypatch.setattr(command, "KubernetesCluster", opened)
    monkeypatch.setattr(command, "Clock", lambda: found)
    monkeypatch.setattr("multiarch.runs.rebalance.Clock", lambda: found)
    monkeypatch.setattr(World, "signal", None, raising=False)
    monkeypatch.setattr(World, "stopping_on_signals", lambda _: stopping(), raising=False)
    monkeypatch.setattr(World, "missing_namespaces", lambda _, names: tuple(set(names) - {"shop"}), raising=False)
    monkeypatch.setattr(Arm64ImageJudge, "__call__", lambda *_: {})
    return found


@pytest.fixture
def rebalance(run: type_of_run, clone: Path) -> Callable[..., Ran]:
    file = clone / "Pulumi.shop-dev.yaml"
    file.write_text(STACK)
    return lambda *arguments: run("rebalance", str(file), *arguments)


def fell_back(made: World) -> World:
    made.add_workload("api", ["amd64-1", "amd64-2", "amd64-2"], affinity=PREFERS_ARM64)
    made.add_workload("old", ["amd64-1", "amd64-1"], tolerations=[])
    made.add_workload("files", ["amd64-2", "amd64-2"], volumes=[{"name": "tmp", "emptyDir": {}}])
    return made


def test_without_apply_the_plan_is_shown_and_nothing_is_written(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)
    before = json.dumps([made.nodes, made.leases])
    ran = rebalance()
    assert ran.code == 0
    assert "5 of 7 pods on amd64 nodes could run on arm64; 3 would be moved" in ran.out
    assert "volume tmp is an emptyDir" in ran.out
    assert "Nothing was changed. --apply moves the pods." in ran.out
    assert (json.dumps([made.nodes, made.leases]), made.evicted) == (before, [])


def test_the_guide_shows_a_plan_as_it_is_printed(
    made: World, rebalance: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    fell_back(made)
    for each in made.controllers.values():
        each["metadata"]["ownerReferences"] = [
            {"kind": "Deployment", "name": each["metadata"]["name"], "controller": True}
        ]
    monkeypatch.setenv("COLUMNS", "120")
    printed = rebalance().out.strip()
    guide = (CLONE / "docs" / "how-to" / "rebalance.md").read_text()
    assert f"```text\n{printed}\n```" in guide


def test_apply_moves_the_pods_and_says_so(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)
    ran = rebalance("--apply", "--pace", "1s")
    assert ran.code == 0, ran.err
    assert "shop-dev: 3 pods moved. There is nothing more to move." in ran.out
    assert "amd64-1: cordoned; 1 of its pods are to be moved." in ran.err
    assert made.places("api") == ["arm64-1"] * 3
    assert made.cordoned == []


def test_a_pod_that_comes_back_exits_with_1(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)
    made.pick = lambda here, pod: first_with_room(here, pod, prefer="amd64")
    ran = rebalance("--apply", "--output", "json")
    assert ran.code == 1
    (outcome,) = ran.json["outcomes"]
    assert (outcome["result"], ran.json["kind"]) == ("came back to amd64", "rebalance-run")
    assert "a run at 2026-11-22T12:0" in rebalance().out


def test_the_plan_in_json_has_every_part(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)
    found = rebalance("--output", "json").json
    assert (found["kind"], found["onAmd64"], found["possible"]) == ("rebalance-plan", 7, 5)
    assert [node["node"] for node in found["nodes"]] == ["amd64-1", "amd64-2"]
    assert found["nodes"][0] == {
        "node": "amd64-1",
        "group": "web",
        "podsLeft": 2,
        "moves": [
            {
                "namespace": "shop",
                "name": "api-0",
                "workload": {"namespace": "shop", "kind": "ReplicaSet", "name": "api"},
                "target": "web-arm",
                "newNode": False,
            }
        ],
    }
    (staying,) = found["staying"]
    assert (staying["workload"]["name"], staying["pods"]) == ("files", 2)


def test_an_api_server_that_goes_away_exits_with_3(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)

    def gone(_number: int, name: str) -> None:
        if made.evicted:
            away(0, name)

    made.before = gone
    ran = rebalance("--apply")
    assert ran.code == 3
    assert "error: node amd64-1 may still be cordoned. The next run uncordons it" in ran.err


def test_a_cluster_of_another_stack_is_rejected(made: World, rebalance: Callable[..., Ran]) -> None:
    fell_back(made)
    for node in made.nodes.values():
        node["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "other-0123"
    ran = rebalance("--apply")
    assert (ran.code, made.evicted, made.cordoned, made.holder) == (2, [], [], "")
    assert "None of the 3 nodes of context here is of a group or NodePool of shop-dev." in ran.err + ran.out
    assert "--context" in ran.err + ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--quiet-hours", "0 8 * * *"), "is not a cron schedule: it has 4 fields instead of 5"),
        (("--quiet-hours", "0 8 * * * 24h"), "quiet hours never end"),
        (("--pace", "0s"), "--pace: '0s' is not a positive duration. Write it as 30s, 5m or 1h30m."),
        (("-l", "app in"), "is not a label selector"),
        (("-n", "nowhere"), "There is no namespace nowhere"),
    ],
)
def test_wrong_options_are_rejected(
    made: World, rebalance: Callable[..., Ran], arguments: tuple[str, ...], message: str
) -> None:
    ran = rebalance(*arguments)
    assert (ran.code, made.evicted) == (2, [])
    assert message in ran.err
