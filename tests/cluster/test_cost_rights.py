"""``multiarch cost --live`` on a real API server, with the rights that its page names and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from multiarch.facts.labels import EKS_NODE_GROUP
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cli.running import Ran, runner
from tests.cluster.reading import account_token, write_kubeconfig
from tests.quotations import ROOT, blocks

NAME = "cost-rights"
RBAC = "rbac.authorization.k8s.io"


def documented_rules() -> list[Any]:
    """The rules in the page on costs."""
    (found,) = [block.text for block in blocks(ROOT / "docs" / "how-to" / "cost.md") if block.text.startswith("rules:")]
    rules: list[Any] = yaml.safe_load(found)["rules"]
    return rules


def node() -> Object:
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m7i.large",
        "topology.kubernetes.io/zone": "eu-west-1a",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        EKS_NODE_GROUP: "general-14f859c",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "labels": labels}}


def test_the_documented_rights_are_enough_and_without_them_nothing_is_read(
    control_plane: ControlPlane,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    kube: Kube = control_plane.kube
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    token = account_token(kube, NAME, "default", [])
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", control_plane, {"token": token})
    role: Object = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": documented_rules(),
    }
    binding: Object = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": "default"}],
    }
    prices = str(ROOT / "examples" / "prices.json")
    run = runner(capsys)

    def cost() -> Ran:
        return run(
            *("--project", str(ROOT), "cost", "checkout-dev", "--prices", prices),
            *("--live", "--kubeconfig", str(kubeconfig), "-o", "json"),
        )

    try:
        kube.apply(node())
        assert cost().code == 3
        kube.apply(role)
        kube.apply(binding)
        wait_for(lambda: cost().code == 0, "the rights to take effect", timeout=30)
        ran = cost()
        assert "may not" not in ran.err
        (stack,) = ran.json["stacks"]
        (line,) = [each for each in stack["nodes"] if each["group"] == "general"]
        assert (line["nodes"], line["instanceTypes"], line["monthly"]) == (1, ["m7i.large"], "82.0520")
    finally:
        for item in (role, binding, node()):
            if kube.get(item["apiVersion"], item["kind"], NAME):
                kube.delete(item)
