"""The policy of the documents allows what ``verify`` calls, for this cluster's nodes, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.remote import Remote
from sandbox.aws.ssm import ACCOUNT
from sandbox.aws.ssm_commands import Target
from tests.autoscaling.evaluation import Call, allowed
from tests.cli.aws import served
from tests.cli.running import runner
from tests.sandbox.served import CLONE, REGION, Served
from tests.verify.clusters import STACK, api_server, create, environment

pytestmark = pytest.mark.e2e

PAGE = CLONE / "docs" / "how-to" / "verify-permissions.md"
DOCUMENT = f"arn:aws:ssm:{REGION}::document/AWS-RunShellScript"
INSTANCE = f"arn:aws:ec2:{REGION}:{ACCOUNT}:instance/i-0123456789abcdef0"
CLUSTER = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{STACK}"
CANCELLED = Target(output="", delay=60)


def policy() -> dict[str, Any]:
    text = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    for placeholder, value in {"REGION": REGION, "ACCOUNT": ACCOUNT, "CLUSTER": STACK}.items():
        text = text.replace(placeholder, value)
    document: dict[str, Any] = json.loads(text)
    return document


def on_instance(action: str, cluster: str = STACK) -> Call:
    """A call for an instance that has the tag of a cluster."""
    tag = f"kubernetes.io/cluster/{cluster}"
    return Call(action, INSTANCE, {f"aws:ResourceTag/{tag}": "owned", f"ssm:resourceTag/{tag}": "owned"})


def checked(action: str) -> list[Call]:
    """What IAM checks for a call (Service Authorization Reference): its resources, or all."""
    if action == "ssm:SendCommand":
        return [Call(action, DOCUMENT), on_instance(action)]
    if action == "ec2:GetConsoleOutput":
        return [on_instance(action)]
    return [Call(action, CLUSTER if action == "eks:DescribeCluster" else "*")]


@pytest.fixture
def aws() -> Iterator[Served]:
    with served() as url:
        yield Served(url)


def test_the_policy_has_the_actions_that_verify_calls_and_no_others(
    aws: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = create(aws, 3)
    remote = Remote(aws.endpoint)
    _make_every_call_necessary(remote, nodes, monkeypatch)
    for name, value in environment(aws, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    monkeypatch.chdir(CLONE)
    remote.forget_calls()
    with api_server(nodes, tmp_path / "kubeconfig"):
        ran = runner(capsys)("verify", "nodes", STACK, "--join-minutes", "0", "--timeout", "3", "--output", "json")
    assert ran.json["kind"] == "node-verification", ran.err
    called = remote.calls()
    actions = [statement["Action"] for statement in policy()["Statement"]]
    assert set(called) == {name for each in actions for name in ([each] if isinstance(each, str) else each)}
    for action in called:
        assert all(allowed([policy()], call) for call in checked(action)), action


def _make_every_call_necessary(remote: Remote, nodes: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes whose outputs are long, that do not answer, or that did not join; a type to be looked up."""
    names = [node["metadata"]["uid"] for node in nodes]
    remote.register(names[0], replace(Target(), output="a login banner\n" * 300, exit_code=1))
    remote.register(names[1], CANCELLED)
    remote.register(names[2], Target(status=None))
    del nodes[2]
    monkeypatch.setattr("multiarch.verify.nodes.instances.list_instance_types", dict)


@pytest.mark.parametrize(
    "call",
    [
        on_instance("ssm:SendCommand", cluster="other"),
        on_instance("ec2:GetConsoleOutput", cluster="other"),
        Call("ssm:SendCommand", INSTANCE),
        Call("ssm:SendCommand", f"arn:aws:ssm:{REGION}:{ACCOUNT}:document/Own"),
        Call("ssm:SendCommand", f"arn:aws:ssm:{REGION}::document/AWS-RunPatchBaseline"),
        Call("eks:DescribeCluster", CLUSTER.replace(STACK, "other")),
        on_instance("ec2:TerminateInstances"),
        on_instance("ssm:StartSession"),
        Call("ssm:GetParameter", "*"),
    ],
    ids=lambda call: f"{call.action} {call.resource.rpartition(':')[2]}",
)
def test_the_policy_allows_nothing_of_others(call: Call) -> None:
    assert not allowed([policy()], call)
