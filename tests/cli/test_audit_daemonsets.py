"""``multiarch audit daemonsets`` on manifests, nodes of a file, and the project's own stacks, with a real registry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, type_of_run
from tests.cli.test_audit_images import images_registry, repository, root

__all__ = ["images_registry", "repository", "root"]

MANIFEST = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: everywhere, namespace: monitoring}}
spec:
  template:
    spec:
      tolerations: [{{operator: Exists}}]
      containers: [{{name: agent, image: "{root}:both"}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: crashes, namespace: monitoring}}
spec:
  template:
    spec:
      tolerations: [{{operator: Exists}}]
      initContainers: [{{name: setup, image: "{root}:amd64-only"}}]
      containers: [{{name: agent, image: "{root}:both"}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: bound, namespace: monitoring}}
spec:
  template:
    spec:
      tolerations: [{{key: arch, operator: Equal, value: arm64, effect: NoSchedule}}]
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions: [{{key: kubernetes.io/arch, operator: In, values: [amd64]}}]
      containers: [{{name: agent, image: "{root}:both"}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: gpu, namespace: monitoring}}
spec:
  template:
    spec:
      nodeSelector: {{gpu: "true"}}
      containers: [{{name: agent, image: "{root}:gone"}}]
---
apiVersion: v1
kind: Service
metadata: {{name: metrics, namespace: monitoring}}
"""
ADD_ONS = ("aws-node", "ebs-csi-node", "eks-pod-identity-agent", "kube-proxy")


@pytest.fixture
def manifest(root: str, clone: Path) -> str:
    (clone / "agents.yaml").write_text(MANIFEST.format(root=root))
    return "agents.yaml"


def outcomes(ran: Ran) -> dict[str, dict[str, str]]:
    return {
        row["name"]: {cell["column"]: cell["outcome"] + ("!" if cell["finding"] else "") for cell in row["cells"]}
        for row in ran.json["daemonSets"]
    }


def reasons(ran: Ran, name: str, column: str) -> list[dict[str, Any]]:
    (row,) = (each for each in ran.json["daemonSets"] if each["name"] == name)
    (cell,) = (each for each in row["cells"] if each["column"] == column)
    return list(cell["reasons"])


def test_on_a_plan_every_group_of_nodes_has_its_cell(run: type_of_run, manifest: str, root: str) -> None:
    ran = run("audit", "daemonsets", "--stack", "checkout-dev", manifest, "-o", "json")
    assert (ran.code, ran.json["kind"], ran.json["version"]) == (0, "daemonset-audit", "2")
    assert outcomes(ran) == {
        "everywhere": {"general": "runs", "graviton": "runs"},
        "crashes": {"general": "runs", "graviton": "fails!"},
        "bound": {"general": "runs", "graviton": "does not run!"},
        "gpu": {"general": "excluded", "graviton": "excluded"},
        **{name: {"general": "runs", "graviton": "runs"} for name in ADD_ONS},
    }
    assert [(each["name"], each["architecture"], each["taints"], each["nodes"]) for each in ran.json["columns"]] == [
        ("general", "amd64", [], None),
        ("graviton", "arm64", ["arch=arm64:NoSchedule"], None),
    ]
    (crash,) = reasons(ran, "crashes", "graviton")
    assert (crash["cause"], crash["ofArchitecture"]) == ("image", True)
    assert crash["text"].startswith(f"unsupported image {root}:amd64-only (init container setup): single manifest")
    assert [each["text"] for each in reasons(ran, "bound", "graviton")] == [
        "has the toleration for arch=arm64:NoSchedule, but affinity term 1 requires kubernetes.io/arch=amd64"
    ]
    assert [each["cause"] for each in reasons(ran, "gpu", "graviton")] == ["taint", "node-selector", "image"]
    assert ran.json["summary"]["findings"] == 2
    assert {row["addOn"] for row in ran.json["daemonSets"]} >= {"vpc-cni", "kube-proxy", None}
    assert all(row["source"] for row in ran.json["daemonSets"] if row["addOn"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fail-on", "unknown"), 0),
        (("--fail-on", "unknown", "--fail-on", "finding"), 1),
    ],
)
def test_only_what_was_asked_for_fails(run: type_of_run, manifest: str, options: tuple[str, ...], code: int) -> None:
    assert run("audit", "daemonsets", "--stack", "checkout-dev", manifest, *options).code == code


def test_the_table_is_a_matrix_with_the_reasons_below(run: type_of_run, manifest: str) -> None:
    ran = run("audit", "daemonsets", "--stack", "checkout-dev", manifest)
    lines = [line.strip() for line in ran.out.splitlines()]
    assert lines[0].split("  ")[-1].strip() == "2 graviton (arm64)"
    crashes = next(line for line in lines if line.startswith("monitoring/crashes "))
    assert crashes.split() == ["monitoring/crashes", "runs", "FAILS"]
    after = lines.index("monitoring/bound")
    assert lines[after + 1] == "graviton: does not run (finding)"
    assert lines[after + 2].startswith("has the toleration for arch=arm64:NoSchedule, but affinity term 1")
    assert "kube-system/kube-proxy belongs to the add-on kube-proxy, according to eksctl-io/eksctl" in ran.out
    assert ran.err.splitlines() == [
        "worst: monitoring/crashes is scheduled on graviton and can't start there.",
        "8 DaemonSets on 2 columns: 1 fails, 1 does not run, 0 unknown, 12 runs, 2 excluded; 2 findings.",
    ]
