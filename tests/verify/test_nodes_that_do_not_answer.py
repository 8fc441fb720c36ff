"""``multiarch verify nodes`` over the stand-in for SSM: each node that does not answer is a row with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.aws.controls import Remote
from sandbox.aws.ssm_commands import Faults, Target
from tests.cli.aws import served
from tests.cli.running import Ran, runner
from tests.sandbox.served import CLONE, Served
from tests.verify.clusters import GROUPS, STACK, api_server, create, environment

pytestmark = pytest.mark.e2e

STATES = {
    "the SSM agent does not answer: ping status ConnectionLost": Target(status="ConnectionLost"),
    "SSM does not know this instance": Target(status=None),
    "The output is not a report: not json": Target(output="not json"),
    "the output has more than 24,000 characters": Target(output="x" * 40_000),
    "The report is truncated": Target(output=GROUPS[0].report()[:150]),
    "no answer before the deadline of 4 s": Target(output="", delay=60),
    "the script ended with exit code 126: sh: Permission denied": Target(
        output="", errors="sh: Permission denied", exit_code=126
    ),
    "the command could not be delivered": Target(outcome="Undeliverable"),
    "the instance runs Windows": Target(platform="Windows"),
}


@pytest.fixture
def verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Remote, Callable[[], Ran]]]:
    """The controls of an AWS with ten nodes, nine of which do not answer, and the command."""
    with served() as url:
        aws, remote = Served(url), Remote(url)
        nodes = create(aws, 5)
        for node, target in zip(nodes, STATES.values(), strict=False):
            remote.register(node["metadata"]["uid"], target)
        for name, value in environment(aws, tmp_path).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
        monkeypatch.chdir(CLONE)
        run = runner(capsys)
        with api_server(nodes, tmp_path / "kubeconfig"):
            yield remote, lambda: run("verify", "nodes", STACK, "--timeout", "4", "--output", "json")


def test_each_node_that_does_not_answer_is_a_row_with_its_reason(verify: tuple[Remote, Callable[[], Ran]]) -> None:
    ran = verify[1]()
    assert ran.code == 0
    assert "10 nodes of checkout-dev: 1 ok, 9 partly checked; 9 warnings." in ran.err
    found = [each for node in ran.json["nodes"] for each in node["findings"]]
    assert all(each["severity"] == "warning" and each["hint"] for each in found)
    messages = sorted(each["message"] for each in found)
    assert len(messages) == len(STATES)
    for reason in STATES:
        assert [text for text in messages if text.startswith(f"SSM: {reason}")], (reason, messages)


def test_what_concerns_all_nodes_is_said_once(verify: tuple[Remote, Callable[[], Ran]]) -> None:
    remote, run = verify
    remote.set_faults(Faults(denied=["ssm:SendCommand"]))
    ran = run()
    assert ran.code == 3
    assert ran.out.count("ssm:SendCommand on resource") == 1
    assert "Use credentials that allow ssm:SendCommand." in ran.out
    remote.set_faults(Faults(throttle={"DescribeInstanceInformation": 9_999}))
    ran = run()
    assert ran.code == 3
    assert ran.out.count("DescribeInstanceInformation failed (ThrottlingException) until the deadline of 4 s") == 1
