"""``multiarch report --live`` of a real cluster, with the rights that the documentation names and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object, condition
from sandbox.cluster.programs import wait_for
from sandbox.layout import CLONE
from tests.cli.running import Ran, runner, type_of_run
from tests.cluster.kubelets import group_node
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.reading import namespace, token_of, write_kubeconfig
from tests.cluster.temporary import applied
from tests.quotations import blocks
from tests.report.page_text import sections

SPACE = "reported"
PAGE = CLONE / "docs" / "how-to" / "report.md"
AMD64, ARM64 = "report-amd64.internal", "report-arm64.internal"
RBAC = "rbac.authorization.k8s.io"


def rules() -> list[Object]:
    (written,) = [block for block in blocks(PAGE) if block.language == "yaml"]
    found: list[Object] = yaml.safe_load(written.text)["rules"]
    return found


def deployment(name: str, replicas: int, cpu: str) -> Object:
    container = {"name": "app", "image": "127.0.0.1:9/app:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    spec = {
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "tolerations": [ARM64_TOLERATION],
        "containers": [container],
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def objects() -> list[Object]:
    meta = {"name": "multiarch-report"}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": SPACE}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", **meta}
    return [
        group_node(AMD64, "general", "m7i.large", "amd64"),
        group_node(ARM64, "graviton", "m7g.large", "arm64"),
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules()},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": role,
            "subjects": [subject],
        },
        namespace(SPACE),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": SPACE}},
        deployment("web", 2, "100m"),
        deployment("stuck", 1, "64"),
    ]


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A node of each architecture, two pods on the arm64 one, and a pod that fits nowhere."""
    kube = control_plane.kube
    with applied(kube, objects()):
        wait_for(lambda: judged(kube), "kube-scheduler to look at the pods", timeout=30)
        yield control_plane


@pytest.fixture
def page(plane: ControlPlane, tmp_path: Path) -> Path:
    """Where the page goes, beside the kubeconfig of an account with the rights of the documentation."""
    token = token_of(plane.kube, "reader", SPACE)
    write_kubeconfig(tmp_path / "kubeconfig", plane, {"token": token})
    wait_until_it_may(plane.kube, token, budgets=True)
    return tmp_path / "page.html"


def wait_until_it_may(kube: Kube, token: str, *, budgets: bool) -> None:
    reader = Kube(replace(kube.access, token=token))
    wait_for(lambda: lists_budgets(reader) is budgets, "the account's rights", timeout=20)


def lists_budgets(reader: Kube) -> bool:
    try:
        reader.list("policy/v1", "PodDisruptionBudget")
    except KubeError:
        return False
    return True


def judged(kube: Kube) -> bool:
    found = [condition(pod, "PodScheduled") for pod in kube.list("v1", "Pod", SPACE)]
    return sorted((each.get("status", ""), each.get("reason", "")) for each in found) == [
        ("False", "Unschedulable"),
        ("True", ""),
        ("True", ""),
    ]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> type_of_run:
    """The command line, in the project's folder, on a day of its support dates."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795219200")
    monkeypatch.chdir(CLONE)
    return runner(capsys)


def report(run: type_of_run, page: Path) -> Ran:
    options = ("--live", "--kubeconfig", str(page.with_name("kubeconfig")), "--timeout", "2")
    return run("report", "checkout-dev", "--html", str(page), *options)


def test_the_page_of_a_cluster_shows_its_nodes_pods_and_failures(run: type_of_run, page: Path) -> None:
    ran = report(run, page)
    assert (ran.code, ran.err) == (0, f"Wrote {page}.\n")
    found = sections(page.read_text(encoding="utf-8"))
    for name in (AMD64, ARM64):
        assert name in found["nodes"]
    assert "2 of 3 pods on arm64 nodes, 1 without a node." in found["pods"]
    assert "Deployment/web" in found["pods"]
    assert "ReplicaSet/" not in found["pods"] + found["failures"] + found["images"]
    assert f"{SPACE} Deployment/stuck" in found["failures"]
    assert "127.0.0.1:9" in found["images"]
    assert [name for name, text in found.items() if "Not read." in text] == ["cost"]


def test_without_one_right_a_section_says_so_and_the_others_are_there(
    plane: ControlPlane, run: type_of_run, page: Path
) -> None:
    role = plane.kube.get(f"{RBAC}/v1", "ClusterRole", "multiarch-report")
    assert role is not None
    plane.kube.patch(role, {"rules": [rule for rule in rules() if rule["apiGroups"] != ["policy"]]})
    wait_until_it_may(plane.kube, token_of(plane.kube, "reader", SPACE), budgets=False)
    ran = report(run, page)
    assert ran.code == 3
    assert "not read: failures: " in ran.err
    found = sections(page.read_text(encoding="utf-8"))
    assert "list poddisruptionbudgets" in found["failures"]
    assert "Deployment/web" in found["pods"]
    assert [name for name, text in found.items() if "Not read." in text] == ["failures", "cost"]
