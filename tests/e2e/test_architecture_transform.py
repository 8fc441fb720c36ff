"""A small Pulumi program whose Deployment the transform changes, run by the real engine in a sandbox.

The provider is the sandbox's stand-in: it writes what it receives to a file. The real one's checks are not shown.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.layout import CLONE
from tests.e2e.conftest import watched
from tests.e2e.world import World
from tests.scheduling.manifests import ARM64_TOLERATION

pytestmark = pytest.mark.e2e
STACK = "shop-dev"
SETTINGS = "name: shop\nstackConfigDir: config/stacks\nruntime: python\nconfig: {aws:region: eu-central-1}\n"
WORDS = "config:\n  shop:image: registry.example/api:1\n"
PROGRAM = """\
import pulumi
import pulumi_kubernetes as kubernetes

from components.architecture_transform import architecture_transform
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.transform import SchedulingChange

change = SchedulingChange(prefer=Architecture.ARM64, tolerate=(parse_taint("arch=arm64:NoSchedule"),))
pulumi.runtime.register_resource_transform(architecture_transform(change))
image = pulumi.Config().require("image")
first = kubernetes.core.v1.ConfigMap("settings", metadata={"name": "settings", "namespace": "shop"}, data={"a": "b"})
kubernetes.apps.v1.Deployment(
    "api",
    metadata={"name": "api", "namespace": "shop"},
    spec={
        "selector": {"matchLabels": {"app": "api"}},
        "template": {
            "metadata": {"labels": {"app": "api"}, "annotations": {"settings": first.id}},
            "spec": {
                "containers": [{"name": "api", "image": image, "ports": [{"containerPort": 8080}]}],
                "tolerations": [{"key": "tier", "operator": "Exists"}],
            },
        },
    },
)
"""
PREFERENCE = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]},
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[World]:
    with watched(tmp_path / "shop", make_shop) as world:
        yield world


def make_shop(root: Path) -> World:
    """A project of its own: the program, and of this one what a program imports."""
    world = World(root)
    world.stack_file(STACK).parent.mkdir(parents=True)
    world.stack_file(STACK).write_text(WORDS, encoding="utf-8")
    (world.root / "Pulumi.yaml").write_text(SETTINGS, encoding="utf-8")
    (world.root / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    for name in ("components", "multiarch"):
        shutil.copytree(CLONE / name, world.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return world


def pod_spec(inputs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = inputs["spec"]["template"]["spec"]
    return found


def is_changed(spec: dict[str, Any]) -> bool:
    """Whether the program's own toleration is there, and behind it what the transform adds, and nothing else."""
    rules = spec["affinity"]["nodeAffinity"]
    return bool(
        spec["tolerations"] == [{"key": "tier", "operator": "Exists"}, ARM64_TOLERATION]
        and rules == {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERENCE]}
        and set(spec) == {"containers", "tolerations", "affinity"}
    )


def test_the_provider_receives_the_toleration_and_the_preference(shop: World) -> None:
    shop.sandbox("up", STACK)
    (file,) = shop.layout.manifests(STACK).glob("apps_deployment_shop_api*")
    received = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert is_changed(pod_spec(received))
    assert received["spec"]["template"]["metadata"]["annotations"] == {"settings": "shop/settings"}

    # The second time the program says the same, so nothing is there to do.
    assert shop.preview(STACK) == []
