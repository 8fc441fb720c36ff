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


@pytest.mark.parametrize("arguments", [(), ("--partial",)])
def test_a_complete_document_comes_back_as_json(nodeconfig: Path, arguments: tuple[str, ...]) -> None:
    result = read(nodeconfig, COMPLETE, *arguments)
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
        ("    cidr:", "    CIDR:", 'unknown field "spec.cluster.CIDR"'),
        ("  kubelet:", "  kublet:", 'unknown field "spec.kublet"'),
        ("maxPods", "maxPod", 'spec.kubelet.config: unknown field "maxPod"'),
        ("    name: checkout-dev\n", "", "spec.cluster.name is missing"),
        ("Y2VydGlmaWNhdGU=", "not/base64!", "illegal base64"),
        ("https://example", "example", "not a URL"),
        ("172.20.0.0/16", "172.20.0.0", "spec.cluster.cidr: invalid CIDR address"),
        ("v1alpha1", "v1beta1", "apiVersion is"),
        ("kind: NodeConfig", "kind: NodeConfigs", "kind is"),
        ('"--node-labels', '"node-labels', "spec.kubelet.flags[0]"),
        ("    name: checkout-dev", "    name: a\n    name: b", 'key "name" already set'),
        ("spec:", "spec: [", "yaml"),
    ],
)
def test_a_broken_document_is_rejected_with_the_reason(nodeconfig: Path, was: str, becomes: str, reason: str) -> None:
    assert was in COMPLETE
    result = read(nodeconfig, COMPLETE.replace(was, becomes, 1))
    assert result.returncode == 1
    assert reason in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("document", ["", f"{COMPLETE}---\n{COMPLETE}"])
def test_anything_but_one_document_is_rejected(nodeconfig: Path, document: str) -> None:
    result = read(nodeconfig, document)
    assert result.returncode == 1
    assert "expected one NodeConfig document" in result.stderr


def test_an_empty_document_is_rejected(nodeconfig: Path) -> None:
    assert read(nodeconfig, "---\n").returncode == 1


def test_an_argument_is_wrong_usage(nodeconfig: Path) -> None:
    assert read(nodeconfig, COMPLETE, "file.yaml").returncode == 2
