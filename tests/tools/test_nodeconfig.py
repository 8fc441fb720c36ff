"""The strict reader of NodeConfig documents rejects what nodes would reject, or would ignore in silence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import build

COMPLETE = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: checkout-dev
    apiServerEndpoint: https://example.eks.amazonaws.com
    certificateAuthority: Y2VydGlmaWNhdGU=
    cidr: 172.20.0.0/16
  kubelet:
    config: {maxPods: 58}
    flags: ["--node-labels=team=checkout", "--register-with-taints=arch=arm64:NoSchedule"]
"""
WITHOUT_CLUSTER = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet: {flags: ["--node-labels=team=checkout"]}
"""


@pytest.fixture(scope="module")
def nodeconfig() -> Path:
    return build.ensure("nodeconfig")


def read(nodeconfig: Path, document: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([nodeconfig, *arguments], input=document, capture_output=True, text=True, check=False)


def test_a_complete_document_comes_back_as_json(nodeconfig: Path) -> None:
    result = read(nodeconfig, COMPLETE)
    assert result.returncode == 0, result.stderr
    spec = json.loads(result.stdout)["spec"]
    assert spec["cluster"]["name"] == "checkout-dev"
    assert spec["kubelet"]["flags"][1] == "--register-with-taints=arch=arm64:NoSchedule"


def test_the_cluster_part_may_be_absent_only_where_eks_adds_it(nodeconfig: Path) -> None:
    assert read(nodeconfig, WITHOUT_CLUSTER, "--partial").returncode == 0
    rejected = read(nodeconfig, WITHOUT_CLUSTER)
    assert rejected.returncode == 1
    for field in ("name", "apiServerEndpoint", "certificateAuthority", "cidr"):
        assert f"spec.cluster.{field} is missing" in rejected.stderr


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("    cidr:", "    serviceCidr:", 'unknown field "spec.cluster.serviceCidr"'),
        ("maxPods", "maxPod", 'spec.kubelet.config: unknown field "maxPod"'),
        ("172.20.0.0/16", "172.20.0.0", "spec.cluster.cidr: invalid CIDR address"),
        ('"--node-labels', '"node-labels', "spec.kubelet.flags[0]"),
    ],
)
def test_a_broken_document_is_rejected_with_the_reason(nodeconfig: Path, was: str, becomes: str, reason: str) -> None:
    result = read(nodeconfig, COMPLETE.replace(was, becomes, 1))
    assert result.returncode == 1
    assert reason in result.stderr
