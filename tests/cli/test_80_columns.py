"""Every command's tables on a terminal of 80 columns, with names as long as they are in practice.

Words are also looked for in every other table that a test of the command line prints: ``tests/cli/conftest.py``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import Ran, type_of_run

WORKLOAD = "payments-settlement-reconciliation-worker"
IMAGE = "localhost:1/payments-platform/envoy-sidecar-proxy:v1.31.2-distroless"
ECR = "localhost:1/111122223333.dkr.ecr.eu-west-1.amazonaws.com/payments/settlement-worker:2026.11.21-release.4"
MANIFESTS = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {WORKLOAD}, namespace: payments-production-eu-west-1, labels: {{team: payments-settlement}}}}
spec:
  replicas: 4
  template:
    metadata: {{labels: {{app: {WORKLOAD}}}}}
    spec:
      nodeSelector: {{kubernetes.io/arch: amd64}}
      containers:
        - {{name: worker, image: "{ECR}", resources: {{requests: {{cpu: 500m, memory: 1Gi}}}}}}
        - {{name: proxy, image: "{IMAGE}", resources: {{requests: {{cpu: 100m, memory: 128Mi}}}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: node-local-vulnerability-scanner-agent, namespace: platform-security-operations}}
spec:
  template:
    metadata: {{labels: {{app: scanner}}}}
    spec:
      containers: [{{name: agent, image: "{IMAGE}"}}]
"""
TALLEST = 6
"""Lines below one another that belong to one cell of a column."""


@pytest.fixture(autouse=True)
def _narrow_terminal(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "long.yaml").write_text(MANIFESTS, encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    for name, value in {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)


def at_80(run: type_of_run, *arguments: str) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: True)
        ran = run(*arguments)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert not [line for line in plain.splitlines() if len(line) > 80 and len(line.split()) > 1], plain
    return Ran(ran.code, plain, ran.err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit", "images", "long.yaml"), (IMAGE, ECR, f"Deployment/{WORKLOAD}", "payments-production-eu-west-1")),
        (("audit", "images", "long.yaml", "--group-by", "team"), (IMAGE, f"Deployment/{WORKLOAD}")),
        (("audit", "workloads", "long.yaml"), (f"Deployment/{WORKLOAD}", "payments-production-eu-west-1")),
        (
            ("audit", "daemonsets", "long.yaml", "--stack", "payments-prod"),
            ("platform-security-operations/node-local-vulnerability-scanner-agent", "general-amd64-on-demand:"),
        ),
        (("simulate", "payments-prod", "--pods", "long.yaml"), (f"Deployment/{WORKLOAD}", "general-arm64-on-demand")),
        (("capacity", "payments-prod", "--workloads", "long.yaml"), (f"Deployment/{WORKLOAD}", "Karpenter")),
        (("stack", "list"), ("payments-prod", "eu-central-1", "either-amd64")),
        (("stack", "explain", "payments-prod"), ("owner=payments-sre@example.com,", "eks-auth,")),
    ],
)
def test_no_word_is_broken(run: type_of_run, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    out = at_80(run, *arguments).out
    assert set(words) <= set(out.split()), out


@pytest.mark.parametrize("arguments", [("audit", "images", "long.yaml"), ("audit", "workloads", "long.yaml")])
def test_no_column_is_a_few_words_wide_and_many_lines_tall(run: type_of_run, arguments: tuple[str, ...]) -> None:
    lines = at_80(run, *arguments).out.splitlines()
    far_right = [line.startswith(" " * 12) for line in lines]
    assert not any(all(far_right[at : at + TALLEST]) for at in range(len(lines) - TALLEST)), lines
