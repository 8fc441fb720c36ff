"""What is read from Karpenter's log."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cluster.karpenter_rounds import Round, position, rounds


def line(number: str, message: str, **more: object) -> str:
    return json.dumps({"message": message, "controller": "provisioner", "reconcileID": number, **more})


def rejection(number: str, name: str, message: str = "could not schedule pod") -> str:
    return line(number, message, Pod={"name": name, "namespace": "default"})


def computing(number: str, pods: int) -> str:
    return line(number, "computing scheduling decision for provisionable pod(s)", **{"pending-pods": pods})


def test_a_round_has_its_pods_and_those_that_it_rejects(tmp_path: Path) -> None:
    log = tmp_path / "karpenter.log"
    lines = [
        computing("1", 2),
        rejection("1", "huge"),
        rejection("2", "odd", "ignoring pod"),
        computing("2", 3),
        rejection("2", "huge"),
        '{"message": "computing sched',
        json.dumps({"message": "computing scheduling decision for provisionable pod(s)", "controller": "disruption"}),
    ]
    log.write_text("\n".join(lines))
    assert rounds(log, 0) == [Round(2, {"huge"}), Round(4, {"odd", "huge"})]


def test_a_round_that_began_before_the_position_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "karpenter.log"
    log.write_text(f"{computing('1', 2)}\n")
    start = position(log)
    with log.open("a") as file:
        file.write(f"{rejection('1', 'huge')}\n{computing('2', 1)}\n")
    assert rounds(log, start) == [Round(1)]
