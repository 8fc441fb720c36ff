"""``multiarch cost --manifests``: what pods cost on amd64 nodes, and would cost on arm64, against a real registry."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository

__all__ = ["images_registry", "repository"]

PRICES = str(CLONE / "examples" / "prices.json")
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: shop}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      tolerations: {tolerations}
      nodeSelector: {selector}
      containers:
        - {{name: main, image: "{image}", resources: {{requests: {{cpu: 900m, memory: 1Gi}}}}}}
---
"""
TOLERATION = "[{key: arch, operator: Equal, value: arm64, effect: NoSchedule}]"


pytestmark = pytest.mark.usefixtures("clone")


def written(*parts: str) -> str:
    file = Path("pods.yaml")
    file.write_text("".join(parts), encoding="utf-8")
    return str(file)


def workload(name: str, image: str, replicas: int = 1, tolerations: str = "[]", selector: str = "{}") -> str:
    return WORKLOAD.format(name=name, image=image, replicas=replicas, tolerations=tolerations, selector=selector)


@pytest.fixture
def images(repository: Repository) -> tuple[str, str]:
    """An image for both architectures, and one for amd64."""
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    repository.image("linux/amd64", tag="amd64")
    root = f"{repository.server.host}/{repository.name}"
    return f"{root}:both", f"{root}:amd64"


def test_each_workload_that_is_not_ready_says_why_and_what_it_would_save(
    run: type_of_run, images: tuple[str, str]
) -> None:
    both, amd64 = images
    file = written(
        workload("legacy", amd64, replicas=2),
        workload("untolerant", both),
        workload("pinned", both, selector="{kubernetes.io/arch: amd64}"),
        workload("missing", f"{both}-gone"),
    )
    ran = run("cost", "checkout-dev", "--prices", PRICES, "--manifests", file, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    (stack,) = ran.json["stacks"]
    assert stack["fallback"] == "0"
    found = {saving["workload"]: saving for saving in stack["savings"]}
    assert stack["savings"][0]["workload"] == "Deployment/legacy"
    assert found["Deployment/legacy"]["blockers"] == [f"image {amd64}"]
    assert found["Deployment/untolerant"]["blockers"] == ["does not tolerate arch=arm64:NoSchedule"]
    assert found["Deployment/pinned"]["blockers"] == ["affinity: nodeSelector requires kubernetes.io/arch=amd64"]
    assert found["Deployment/missing"]["blockers"][0].startswith(f"unknown: image {both}-gone: ")
    # 900m of an m7i.large's CPU, and of an m7g.large's: 1930m both, as their nodes have it.
    one = (Decimal("0.1124") - Decimal("0.0911")) * 730 * 900 / 1930
    assert Decimal(found["Deployment/pinned"]["monthly"]) == round(one, 6)
    assert Decimal(found["Deployment/legacy"]["monthly"]) == round(2 * one, 6)


def test_pods_that_fell_back_to_amd64_are_the_fallback(run: type_of_run, images: tuple[str, str]) -> None:
    both, _ = images
    # Room for two on each of the two nodes that are there, the amd64 one being the first.
    file = written(workload("api", both, replicas=4, tolerations=TOLERATION))
    ran = run("cost", "checkout-dev", "--prices", PRICES, "--manifests", file)
    assert "but are on amd64 nodes cost " in ran.out
    assert "can't run on arm64 yet" not in ran.out
    (stack,) = run("cost", "checkout-dev", "--prices", PRICES, "--manifests", file, "-o", "json").json["stacks"]
    on_amd64 = (Decimal("0.1124") - Decimal("0.0911")) * 730 * 900 / 1930
    assert Decimal(stack["fallback"]) == round(2 * on_amd64, 6)


def test_pods_without_a_node_are_counted(run: type_of_run, images: tuple[str, str]) -> None:
    file = written(workload("api", images[0], selector="{kubernetes.io/arch: s390x}"))
    ran = run("cost", "checkout-dev", "--prices", PRICES, "--manifests", file)
    assert ran.code == 0
    assert "- 1 pod got no node and cost nothing." in ran.out
    assert "No pod on an amd64 node is known to run on arm64." in ran.out
