"""``multiarch report``: the page of a stack file, of manifests with a registry, and of a cluster that can't be read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.registry import server
from sandbox.registry.images import repositories
from tests.cli.running import type_of_run
from tests.kubernetes import kubeconfigs
from tests.quotations import ROOT
from tests.report.page_text import sections, text_of

WORKLOADS, PRICES = "examples/pods.yaml", "examples/prices.json"
EVIL = "a\x1b]0;t\x07\u202eb\u2028c<b><script>alert(1)</script>"
NO_WORKLOADS = "No workloads were given: --manifests FILE reads manifests, --live reads the cluster."


@pytest.fixture
def project(clone: Path) -> Path:
    """The project's stacks and examples."""
    (clone / "examples").mkdir()
    for name in (WORKLOADS, PRICES):
        shutil.copy(ROOT / name, clone / name)
    return clone


@pytest.fixture
def registry(project: Path) -> Iterator[tuple[str, ...]]:
    """The options that lead to a registry with the images of the examples."""
    with server.running(repositories()) as url:
        server.write_hosts(project / "hosts", url)
        yield "--hosts-dir", "hosts", "--no-cache"


@pytest.mark.usefixtures("project")
def test_workloads_of_manifests_fill_every_section(run: type_of_run, registry: tuple[str, ...]) -> None:
    ran = run("report", "payments-prod", "--html", "page.html", "--manifests", WORKLOADS, "--prices", PRICES, *registry)
    assert (ran.code, ran.out, ran.err) == (0, "", "Wrote page.html.\n")
    html = Path("page.html").read_text(encoding="utf-8")
    assert [name for name, text in sections(html).items() if "Not read." in text] == []
    found = sections(html)
    assert "payments Deployment/ledger" in found["failures"]
    assert "build registry.example.com/payments/ledger:1.19.3 for arm64" in found["images"]
    assert "Prices of 2026-11-20 06:00 UTC, in USD." in found["cost"]
    assert "What workloads would save on arm64" in found["cost"]
    assert "aws-node" in found["daemonsets"]
    assert "Stack file, and workloads of examples/pods.yaml. Made 2026-11-21 00:00 UTC." in text_of(html)


@pytest.mark.usefixtures("project")
def test_failures_say_that_images_could_not_be_read_and_what_scales_workloads(run: type_of_run, project: Path) -> None:
    (project / "docker").mkdir()
    (project / "docker" / "config.json").write_text("{")
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "ledger", "namespace": "payments"},
        "spec": {"minReplicas": 1, "maxReplicas": 90, "scaleTargetRef": {"kind": "Deployment", "name": "ledger"}},
    }
    (project / "scaler.json").write_text(json.dumps(scaler))
    options = ("--manifests", WORKLOADS, "--manifests", "scaler.json", "--docker-config", "docker/config.json")
    ran = run("report", "payments-prod", "--html", "page.html", *options)
    assert ran.code == 3
    found = sections(Path("page.html").read_text(encoding="utf-8"))
    assert "Not read." in found["images"]
    assert "Images were not read: architectures follow from scheduling rules alone." in found["failures"]
    assert "payments Deployment/ledger: its HorizontalPodAutoscaler keeps 1 to 90 pods" in found["failures"]


@pytest.mark.usefixtures("project")
def test_the_stack_file_alone_is_a_page_too_and_names_what_is_missing(run: type_of_run) -> None:
    ran = run("report", "payments-prod", "--html", "page.html")
    assert (ran.code, ran.err) == (0, "Wrote page.html.\n")
    found = sections(Path("page.html").read_text(encoding="utf-8"))
    for name in ("pods", "images", "failures"):
        assert f"Not read. {NO_WORKLOADS}" in found[name]
    assert "No prices were given" in found["cost"]
    assert "Not read." not in found["nodes"] + found["daemonsets"]


@pytest.mark.usefixtures("project")
def test_a_cluster_that_cannot_be_reached_leaves_the_page_of_the_stack_file(run: type_of_run, project: Path) -> None:
    config = kubeconfigs.write(project / "kubeconfig", "http://127.0.0.1:9")
    options = ("--live", "--kubeconfig", str(config), "--prices", PRICES)
    ran = run("report", "payments-prod", "--html", "page.html", *options)
    assert ran.code == 3
    assert "Wrote page.html." in ran.err
    assert "not read: the cluster: " in ran.err
    found = sections(Path("page.html").read_text(encoding="utf-8"))
    assert "127.0.0.1:9" in found["pods"]
    assert "Not read." not in found["cost"]


@pytest.mark.usefixtures("project")
def test_names_that_are_html_or_steer_a_terminal_stay_text_from_the_manifest_to_the_page(run: type_of_run) -> None:
    metadata = {"name": EVIL, "namespace": EVIL, "labels": {"team": EVIL}}
    spec = {"containers": [{"name": EVIL, "image": EVIL}], "nodeSelector": {EVIL: EVIL}}
    written = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata}
    daemon = {**written, "kind": "DaemonSet", "spec": {"template": {"metadata": metadata, "spec": spec}}}
    Path("evil.json").write_text(json.dumps({**written, "spec": daemon["spec"]}) + "\n" + json.dumps(daemon))
    options = ("--manifests", "evil.json", "--prices", PRICES, "--no-cache", "--timeout", "2")
    ran = run("report", "payments-prod", "--html", "page.html", *options)
    assert (ran.code, ran.err) == (0, "Wrote page.html.\n")
    html = Path("page.html").read_text(encoding="utf-8")
    assert html.replace("\n", "").isprintable()
    assert "<b>" not in html
    assert html.count("<script>") == 1
    assert "&lt;b&gt;&lt;script&gt;" in html
