"""An installed cluster autoscaler is found by what its Deployments run, wherever they are."""

from __future__ import annotations

from typing import Any

from multiarch.autoscaling.owner_flags import list_owner_flags
from multiarch.rules import Finding
from multiarch.verify.nodes.autoscaler import judge_autoscaler
from tests.autoscaling.test_owner_flags import installed


def deployment(command: list[str], **more: list[str]) -> dict[str, Any]:
    pod = {"containers": [{"name": "sidecar"}, {"command": command, **more}]}
    return {"metadata": {"namespace": "kube-system", "name": "theirs"}, "spec": {"template": {"spec": pod}}}


def judge(*deployments: dict[str, Any]) -> list[Finding]:
    return list(judge_autoscaler(deployments, installed(), "shop"))


def test_its_flags_are_those_of_command_and_args() -> None:
    flags = list(list_owner_flags(installed(), "shop"))
    other = deployment(["/metrics-server", "--expander=random"])
    assert judge(other, deployment(["./cluster-autoscaler", *flags])) == []
    assert judge(other, deployment(["/cluster-autoscaler"], args=flags)) == []
    (found,) = judge(other, deployment(["./cluster-autoscaler", *flags[1:]]))
    assert found.rule.name == "autoscaler-flags"
    assert found.text.startswith("kube-system/theirs: --expander is not set")


def test_a_missing_autoscaler_is_told() -> None:
    (found,) = judge(deployment(["/metrics-server"]))
    assert "no Deployment runs the cluster autoscaler" in found.text
