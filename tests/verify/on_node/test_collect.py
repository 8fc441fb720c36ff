"""Reports of many nodes, through Run Command."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from multiarch.ssm import run_command
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.on_node.collect import collect_reports
from multiarch.verify.on_node.model import NodeReport
from tests.verify.on_node import reports
from tests.verify.on_node.reports import ARM64, CONFIG, MANIFEST

_Answers = Callable[[str, str], InstanceAnswer]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[_Answers], list[str]]:
    """Have instances answer with a function of the instance and the digits of ``ids``; returns the ids requested."""

    def install(answers: _Answers) -> list[str]:
        asked: list[str] = []

        def run(_client: object, script: str, instances: Sequence[str], **_options: Any) -> dict[str, InstanceAnswer]:
            found = re.match(r"ids=(\w+)\n", script)
            assert found
            asked.append(found[1])
            return {instance: answers(instance, found[1]) for instance in instances}

        monkeypatch.setattr(run_command, "run_script", run)
        return asked

    return install


def _done(instance: str, output: str) -> InstanceAnswer:
    return InstanceAnswer(instance, AnswerStatus.DONE, output, agent_version="3.3.987.0")


def _containers(ids: Sequence[str], *, most: int) -> str:
    rows = [("container", each, "api", CONFIG, MANIFEST, "7", "/api", ARM64, "", "") for each in ids[:most]]
    return reports.report(*rows, *([("more",)] if len(ids) > most else []))


def test_reports_have_the_version_of_the_agent(answering: Callable[[_Answers], list[str]]) -> None:
    answering(lambda instance, _ids: _done(instance, reports.report()))
    found = collect_reports(None, ["i-1"])["i-1"]

    assert isinstance(found, NodeReport)
    assert (found.machine, found.agent_version) == ("aarch64", "3.3.987.0")


def test_an_answer_without_a_report_stays_an_answer(answering: Callable[[_Answers], list[str]]) -> None:
    offline = InstanceAnswer("i-1", AnswerStatus.OFFLINE, reason="the agent does not answer")
    answering(lambda instance, _ids: offline if instance == "i-1" else _done(instance, "Welcome"))
    found = collect_reports(None, ["i-1", "i-2"])

    assert found["i-1"] == offline
    other = found["i-2"]
    assert isinstance(other, InstanceAnswer)
    assert (other.status, other.reason) == (AnswerStatus.FAILED, "The output is not a report: Welcome")


def test_an_output_that_ssm_has_cut_is_no_report(answering: Callable[[_Answers], list[str]]) -> None:
    whole = "Welcome\n" * 2_500 + reports.report()
    cut = f"{whole[: len(whole) - 30]}--output truncated--"
    answering(lambda instance, _ids: _done(instance, cut))
    found = collect_reports(None, ["i-1"])["i-1"]

    assert isinstance(found, InstanceAnswer)
    assert (found.status, found.reason) == (AnswerStatus.FAILED, "The report is truncated: its last line is missing.")
    assert found.hint == "Check what the node's shell prints before it runs a script."


def test_containers_that_do_not_fit_are_asked_for_in_parts(answering: Callable[[_Answers], list[str]]) -> None:
    containers = [f"{number * 37 % 256:02x}" * 32 for number in range(200)]

    def answer(instance: str, ids: str) -> InstanceAnswer:
        mine = containers if instance == "i-full" else containers[:3]
        return _done(instance, _containers([each for each in mine if each[0] in ids], most=70))

    asked = answering(answer)
    found = collect_reports(None, ["i-full", "i-few"], containers=True)

    full, few = found["i-full"], found["i-few"]
    assert isinstance(full, NodeReport)
    assert isinstance(few, NodeReport)
    assert {each.container_id for each in full.containers} == set(containers)
    assert (len(full.containers), full.incomplete, full.faults) == (200, False, ())
    assert len(few.containers) == 3
    assert asked == ["0123456789abcdef", "01234567", "0123", "4567", "89abcdef", "89ab", "cdef"]


def test_containers_that_never_fit_are_a_fault(answering: Callable[[_Answers], list[str]]) -> None:
    answering(lambda instance, _ids: _done(instance, _containers(["a" * 64, "b" * 64], most=1)))
    found = collect_reports(None, ["i-1"], containers=True)["i-1"]

    assert isinstance(found, NodeReport)
    assert "more containers run here than could be reported, with IDs that begin with 0" in found.faults


def test_a_part_without_an_answer_is_a_fault(answering: Callable[[_Answers], list[str]]) -> None:
    def answer(instance: str, ids: str) -> InstanceAnswer:
        if len(ids) == 16:
            return _done(instance, _containers(["a" * 64, "b" * 64], most=1))
        return InstanceAnswer(instance, AnswerStatus.OFFLINE, reason="the agent does not answer")

    answering(answer)
    found = collect_reports(None, ["i-1"], containers=True)["i-1"]

    assert isinstance(found, NodeReport)
    assert [each.container_id for each in found.containers] == ["a" * 64]
    assert (
        found.faults[0]
        == "containers with IDs that begin with one of 01234567 may be missing: the agent does not answer"
    )
