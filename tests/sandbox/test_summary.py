"""What a person is told after `make up`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from sandbox import summary
from sandbox.cluster.lifecycle import Status
from sandbox.layout import Layout
from sandbox.providers.kubernetes.manifests import Manifests


def record(folder: Path, name: str, version: str) -> None:
    """A release as the kubernetes stand-in records it."""
    metadata = {"name": name, "namespace": "kube-system"}
    spec = {"chart": f"oci://charts.example.com/{name}", "version": version, "values": {"replicas": 2}}
    Manifests(folder).put(
        {"apiVersion": "multiarch-sandbox/v1", "kind": "HelmRelease", "metadata": metadata, "spec": spec}
    )


def test_releases_are_listed_with_chart_and_version_and_other_objects_are_not(tmp_path: Path) -> None:
    record(tmp_path, "karpenter", "1.14.1")
    record(tmp_path, "autoscaler", "9.59.0")
    Manifests(tmp_path).put({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "karpenter"}})
    assert summary.releases(tmp_path) == [
        "kube-system/autoscaler: oci://charts.example.com/autoscaler 9.59.0",
        "kube-system/karpenter: oci://charts.example.com/karpenter 1.14.1",
    ]


def test_a_stack_that_takes_two_runs_in_aws_says_so() -> None:
    told = []
    for private in (True, False):
        console = Console(width=80, file=io.StringIO())
        summary.print_next(console, "payments-prod", private=private)
        told.append(console.file.getvalue())  # type: ignore[attr-defined] # a StringIO
    assert "docs/how-to/private-clusters.md" in told[0]
    assert "private" not in told[1]
    assert told[0].startswith(told[1])
    assert max(map(len, told[0].splitlines())) <= 80
    assert 'eval "$(.venv/bin/python -m sandbox env payments-prod)"' in told[1]


def test_the_demo_of_the_registry_names_commands_that_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary.print_registry(Layout(tmp_path), lambda text: text.replace("multiarch ", ".venv/bin/multiarch "))
    assert {line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()} == {".venv/bin/multiarch"}


def test_the_commands_for_the_cluster_of_real_nodes_fit_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    folder = "/tmp/multiarch-cluster-ugkh9y9y"  # noqa: S108 (only printed)
    summary.print_next_in_cluster(Status("kubeconfig", folder, "v1.36.2", f"{folder}/hosts"))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
