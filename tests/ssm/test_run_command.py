"""Run Command as seen by its caller: an answer for each instance, few calls, and nothing left running."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from dataclasses import replace

import boto3
import pytest
from botocore.config import Config

from multiarch.errors import OutsideError
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.ssm.run_command import run_script
from sandbox.aws.ssm_commands import Faults, Target
from tests.ssm.wired import Wired

UNKNOWN = "i-0123456789abcdef0"
SLOW = Target(output="late", delay=60)


@pytest.fixture(scope="module")
def wired() -> Wired:
    return Wired()


@pytest.fixture
def aws(wired: Wired, monkeypatch: pytest.MonkeyPatch) -> Wired:
    monkeypatch.setattr("multiarch.ssm.run_command._FIRST_LOOK", 0.01)
    monkeypatch.setattr("multiarch.ssm.run_command._LONGEST_LOOK", 0.1)
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.02)
    wired.empty()
    return wired


def ask(aws: Wired, *instances: str, seconds: float = 60, deadline: float = 20) -> dict[str, InstanceAnswer]:
    return run_script(aws.client, "true", instances, seconds=seconds, deadline=deadline)


def left_running(aws: Wired) -> list[str]:
    """Instances on which a command has not ended."""
    every = [each for command in aws.ssm.commands.values() for each in command.invocations.values()]
    return [each.instance for each in every if each.detail == "InProgress"]


def test_a_script_that_ends_well_is_done_with_its_output(aws: Wired) -> None:
    (name,) = aws.register(1, Target(output='{"machine":"aarch64"}', errors="a warning", delay=0.05))
    assert ask(aws, name)[name] == InstanceAnswer(
        name, AnswerStatus.DONE, '{"machine":"aarch64"}', agent_version="3.3.3050.0"
    )


@pytest.mark.exhaustive
def test_all_states_of_120_instances_get_one_answer_each(aws: Wired) -> None:
    states = {
        AnswerStatus.DONE: aws.register(50, Target(output="x")) + aws.register(15, Target(output="x" * 30_000)),
        AnswerStatus.FAILED: aws.register(10, Target(output="", errors="sh: no such file\n", exit_code=127)),
        AnswerStatus.TIMED_OUT: aws.register(5, SLOW) + aws.register(5, Target(outcome="ExecutionTimedOut")),
        AnswerStatus.OFFLINE: aws.register(5, Target(status="ConnectionLost"))
        + aws.register(5, Target(status="Inactive"))
        + aws.register(5, Target(outcome="Undeliverable"))
        + aws.register(5, Target(outcome="DeliveryTimedOut")),
        AnswerStatus.NOT_REGISTERED: [f"i-{number:08x}" for number in range(8)],
        AnswerStatus.NOT_ASKED: aws.register(4, Target(platform="Windows"))
        + aws.register(3, Target(outcome="Terminated")),
    }
    wanted = [each for names in states.values() for each in names]
    assert len(wanted) == 120
    wanted = [name for place in range(7) for name in wanted[place::7]]
    answers = ask(aws, *wanted, deadline=0.8)
    assert list(answers) == wanted
    assert {status: {each.instance for each in answers.values() if each.status is status} for status in states} == {
        status: set(names) for status, names in states.items()
    }
    for answer in answers.values():
        assert bool(answer.reason) is bool(answer.hint) is (answer.status is not AnswerStatus.DONE), answer
        assert bool(answer.agent_version) is (answer.status is not AnswerStatus.NOT_REGISTERED), answer
    assert left_running(aws) == []


@pytest.mark.exhaustive
def test_200_nodes_need_one_call_each_and_few_for_50(aws: Wired) -> None:
    names = aws.register(200, Target(output="é" * 10_000))
    answers = ask(aws, *names)
    assert {each.output for each in answers.values()} == {"é" * 10_000}
    assert aws.calls["DescribeInstanceInformation"] == aws.calls["SendCommand"] == 4
    assert aws.calls["GetCommandInvocation"] == 200
    assert aws.calls["ListCommandInvocations"] <= 8


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_failed_script_says_its_exit_code_and_its_last_line(aws: Wired, end: str) -> None:
    (name,) = aws.register(1, Target(output="half", errors=f"one\nsh: 3: lscpu: not found{end}", exit_code=127))
    answer = ask(aws, name)[name]
    assert (answer.status, answer.output) == (AnswerStatus.FAILED, "half")
    assert answer.reason == "the script ended with exit code 127: sh: 3: lscpu: not found"


def test_an_agent_that_does_not_answer_says_since_when(aws: Wired) -> None:
    (name,) = aws.register(1, Target(status="ConnectionLost"))
    answer = ask(aws, name)[name]
    assert answer.reason.startswith("the SSM agent does not answer: ping status ConnectionLost since 20")
    assert "SendCommand" not in aws.calls


def test_an_instance_that_went_away_leaves_the_others_asked(aws: Wired) -> None:
    names = aws.register(50)
    gone = names[17]

    def go(**_: object) -> None:
        aws.ssm.targets[gone] = replace(aws.ssm.targets[gone], status="ConnectionLost")

    aws.client.meta.events.register("before-call.ssm.SendCommand", go, "go")
    answers = ask(aws, *names)
    aws.client.meta.events.unregister("before-call.ssm.SendCommand", unique_id="go")
    statuses = Counter(each.status for each in answers.values())
    assert statuses == {AnswerStatus.DONE: 49, AnswerStatus.NOT_ASKED: 1}
    assert answers[gone].reason.startswith("SSM rejected the command (InvalidInstanceId):")
    assert aws.calls["SendCommand"] <= 13


def test_bursts_of_throttling_are_waited_for(aws: Wired) -> None:
    names = aws.register(60, Target(output="x" * 3_000))
    bursts = {
        "DescribeInstanceInformation": 2,
        "SendCommand": 3,
        "ListCommandInvocations": 3,
        "GetCommandInvocation": 4,
    }
    aws.ssm.faults = Faults(throttle=bursts)
    assert {each.status for each in ask(aws, *names).values()} == {AnswerStatus.DONE}
    assert set(aws.ssm.faults.throttle.values()) == {0}


@pytest.mark.parametrize("operation", ["DescribeInstanceInformation", "SendCommand"])
def test_throttling_without_an_end_is_one_error(aws: Wired, operation: str) -> None:
    (name,) = aws.register(1)
    aws.ssm.faults = Faults(throttle={operation: 999})
    with pytest.raises(OutsideError, match=rf"{operation} \(ThrottlingException\)"):
        ask(aws, name)


def test_an_invocation_that_the_service_does_not_know_yet_is_read_again(
    aws: Wired, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, names = aws.client.get_command_invocation, aws.register(2, Target(output="ok"))
    missing = aws.client.exceptions.InvocationDoesNotExist(
        {"Error": {"Code": "InvocationDoesNotExist"}}, "GetCommandInvocation"
    )
    answers = iter([missing])

    def first_missing(**request: str) -> object:
        if error := next(answers, None):
            raise error
        return get(**request)

    monkeypatch.setattr(aws.client, "get_command_invocation", first_missing)
    assert [each.status for each in ask(aws, *names).values()] == [AnswerStatus.DONE] * 2


def test_the_deadline_ends_the_wait_and_cancels_what_still_runs(aws: Wired) -> None:
    quick, slow = aws.register(3), aws.register(60, SLOW)
    began = time.monotonic()
    answers = ask(aws, *quick, *slow, deadline=0.2)
    assert time.monotonic() - began < 3
    assert {answers[each].status for each in quick} == {AnswerStatus.DONE}
    assert {answers[each].reason for each in slow} == {"no answer before the deadline of 0.2 s"}
    assert left_running(aws) == []


def test_a_command_that_cannot_be_cancelled_is_left_to_its_own_end(aws: Wired) -> None:
    (name,) = aws.register(1, SLOW)
    aws.ssm.faults = Faults(denied=["ssm:CancelCommand"])
    answer = ask(aws, name, deadline=0.05)[name]
    assert (answer.status, answer.reason) == (AnswerStatus.TIMED_OUT, "no answer before the deadline of 0.05 s")


def test_ctrl_c_cancels_the_commands(aws: Wired) -> None:
    names = aws.register(60, SLOW)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(aws, *names)
    timer.join()
    assert time.monotonic() - began < 5
    assert aws.calls["CancelCommand"] == aws.calls["SendCommand"] == 2
    assert left_running(aws) == []


@pytest.mark.parametrize(
    "operation", ["DescribeInstanceInformation", "SendCommand", "ListCommandInvocations", "GetCommandInvocation"]
)
def test_a_missing_permission_is_one_error_that_names_the_action(aws: Wired, operation: str) -> None:
    names = aws.register(60, Target(output="x" * 3_000))
    aws.ssm.faults = Faults(denied=[f"ssm:{operation}"])
    with pytest.raises(OutsideError, match=rf"AWS rejected {operation} \(AccessDenied") as caught:
        ask(aws, *names)
    assert caught.value.hint == f"Use credentials that allow ssm:{operation}."
    assert left_running_without_faults(aws) == []


def left_running_without_faults(aws: Wired) -> list[str]:
    aws.ssm.faults = Faults()
    return left_running(aws)


def test_a_policy_that_denies_some_instances_leaves_the_others_asked(aws: Wired) -> None:
    names = aws.register(100)
    aws.ssm.faults = Faults(denied=names[::30])
    answers = ask(aws, *names)
    assert {each for each, answer in answers.items() if answer.status is AnswerStatus.NOT_ASKED} == set(names[::30])
    assert answers[names[0]].reason == "access denied: ssm:SendCommand"


def test_missing_credentials_and_an_endpoint_that_is_gone_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    client = boto3.session.Session().client("ssm", region_name="eu-west-1")
    with pytest.raises(OutsideError, match="Can't get AWS credentials"):
        run_script(client, "true", [UNKNOWN])
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    once = Config(retries={"total_max_attempts": 1})
    gone = boto3.session.Session().client("ssm", "eu-west-1", endpoint_url="http://127.0.0.1:9", config=once, **keys)
    with pytest.raises(OutsideError, match="Can't reach AWS"):
        run_script(gone, "true", [UNKNOWN], deadline=60)


def test_progress_counts_every_instance_once(aws: Wired) -> None:
    names = [*aws.register(7), *aws.register(2, Target(status="Inactive")), UNKNOWN]
    steps: list[tuple[int, int]] = []
    run_script(aws.client, "true", names, progress=lambda done, total: steps.append((done, total)))
    assert steps[0] == (3, 10)
    assert steps[-1] == (10, 10)
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
