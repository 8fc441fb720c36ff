"""The kubelet's own command line says what a node registers with, and what the kubelet would not start with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import build


@pytest.fixture(scope="module")
def kubelet_taints() -> Path:
    return build.ensure("kubelet-taints")


def parse(kubelet_taints: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([kubelet_taints, *arguments], capture_output=True, text=True, check=False)


def test_labels_and_taints_come_back_as_the_kubelet_reads_them(kubelet_taints: Path) -> None:
    result = parse(
        kubelet_taints,
        "--node-labels=team=checkout,node.kubernetes.io/lifecycle=spot",
        "--register-with-taints=arch=arm64:NoSchedule,dedicated=:NoExecute",
        "--max-pods=58",
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "labels": {"team": "checkout", "node.kubernetes.io/lifecycle": "spot"},
        "taints": [
            {"key": "arch", "value": "arm64", "effect": "NoSchedule"},
            {"key": "dedicated", "value": "", "effect": "NoExecute"},
        ],
    }


def test_a_node_without_arguments_has_neither(kubelet_taints: Path) -> None:
    assert json.loads(parse(kubelet_taints).stdout) == {"labels": {}, "taints": []}


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("--register-with-taints=arch=arm64:NO_SCHEDULE", "unsupported taint effect"),
        ("--register-with-taints=arch=arm64", "invalid taint spec"),
        ("--register-with-taints=arch=arm64:NoSchedule,arch=amd64:NoSchedule", "duplicated taints"),
        ("--register-with-taints=a b=c:NoSchedule", "invalid taint spec"),
        ("--node-labels=kubernetes.io/team=checkout", "unknown 'kubernetes.io' or 'k8s.io' labels"),
        ("--node-labels=team=a b", "invalid node labels"),
        ("--register-with-taint=arch=arm64:NoSchedule", "unknown flag"),
        ("--max-pods=many", "invalid argument"),
        ("arch=arm64:NoSchedule", "unknown command"),
    ],
)
def test_what_the_kubelet_rejects_is_rejected_with_its_reason(kubelet_taints: Path, argument: str, reason: str) -> None:
    result = parse(kubelet_taints, argument)
    assert result.returncode == 1
    assert reason in result.stderr
    assert result.stdout == ""
