"""``make existing-demo``: from a cluster of eksctl to a stack file, its nodes, and back."""

from __future__ import annotations

import pytest

from tests.e2e.world import World

pytestmark = pytest.mark.e2e


def test_the_cluster_is_as_it_was_after_the_stack_came_and_went(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = world.sandbox("existing-demo")
    assert 'existing: "shop-prod"' in said.stdout
    assert "general-arm64:" in said.stdout
    assert "No kubeconfig found: .kube/config does not exist." in said.stdout
    assert "the stack is destroyed, and the cluster as it was: DescribeCluster" in said.stderr
    assert not (world.layout.folder / "existing-demo").exists()
    kept = world.layout.root / "build" / "existing-demo" / "Pulumi.shop-prod.yaml"
    assert "ami:" in kept.read_text(encoding="utf-8")
