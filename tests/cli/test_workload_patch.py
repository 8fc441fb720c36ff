"""``multiarch workload patch``: on files, folders and standard input."""

from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository

__all__ = ["images_registry", "repository"]

PODS = (CLONE / "examples" / "pods.yaml").read_text(encoding="utf-8")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec:\n  containers: [{name: a, image: b}]\n"
TOLERATION = "  tolerations:\n  - key: arch\n    operator: Equal\n    value: arm64\n    effect: NoSchedule\n"
AMD_ONLY = POD + "  nodeSelector: {kubernetes.io/arch: amd64}\n"


@pytest.fixture(autouse=True)
def _in_the_clone(clone: Path) -> None:
    (clone / "pods.yaml").write_text(PODS, encoding="utf-8")
    (clone / "pod.yaml").write_text(POD, encoding="utf-8")


def give(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_standard_input_comes_back_with_lines_added(run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, POD)
    ran = run("workload", "patch", "-", "--tolerate", "arm64")
    assert (ran.code, ran.out) == (0, POD + TOLERATION)
    assert ran.err == (
        "stdin:1: Pod default/one: tolerates arch=arm64:NoSchedule\n1 pod template in 1 file: 1 to change.\n"
    )


def test_the_example_is_patched_and_says_what_is_missing(run: type_of_run) -> None:
    ran = run("workload", "patch", "pods.yaml", "--prefer", "arm64", "--weight", "40")
    assert ran.code == 0
    assert ran.out.count("- weight: 40") == 2
    assert [line for line in ran.out.splitlines() if line.lstrip().startswith("#")] == [
        line for line in PODS.splitlines() if line.lstrip().startswith("#")
    ]
    assert "ledger: prefers architecture arm64 with weight 40; does not tolerate arch=arm64:NoSchedule" in ran.err
    assert "sessions: requires architecture arm64 already, by node affinity: no preference is needed\n" in ran.err
    assert "log-agent: runs on every node that it can use: no preference is needed\n" in ran.err


def test_in_place_writes_what_changes_and_keeps_mode_and_links(run: type_of_run, clone: Path) -> None:
    (clone / "pod.yaml").chmod(0o640)
    (clone / "link.yaml").symlink_to("pod.yaml")
    done = TOLERATION.encode()
    (clone / "done.yaml").write_bytes(POD.encode() + done)
    before = (clone / "done.yaml").stat().st_mtime_ns
    ran = run("workload", "patch", "link.yaml", "done.yaml", "--tolerate", "arm64", "--in-place")
    assert (ran.code, ran.out) == (0, "")
    assert (clone / "link.yaml").is_symlink()
    assert (clone / "pod.yaml").read_bytes() == POD.encode() + done
    assert stat.S_IMODE((clone / "pod.yaml").stat().st_mode) == 0o640
    assert (clone / "done.yaml").stat().st_mtime_ns == before
    assert ran.err.endswith("Wrote 1 file.\n")


def test_a_folder_is_gone_through_in_order_and_what_is_not_a_manifest_left_alone(run: type_of_run, clone: Path) -> None:
    folder = clone / "deploy"
    (folder / "b" / ".hidden").mkdir(parents=True)
    (folder / "b" / "pod.yml").write_text(POD, encoding="utf-8")
    (folder / "b" / ".hidden" / "pod.yaml").write_text(POD, encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(YAML(typ="safe").load(POD)), encoding="utf-8")
    (folder / "values.yaml").write_text("# c\nreplicas: 3\n", encoding="utf-8")
    (folder / "notes.txt").write_text("no", encoding="utf-8")
    ran = run("workload", "patch", "deploy", "--require", "arm64", "--tolerate", "arm64", "--in-place")
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "deploy/a.json:1: Pod default/one: tolerates arch=arm64:NoSchedule; requires architecture arm64",
        "deploy/b/pod.yml:1: Pod default/one: tolerates arch=arm64:NoSchedule; requires architecture arm64",
        "deploy/values.yaml:2: skipped: not a Kubernetes object",
        "2 pod templates in 3 files: 2 to change.",
        "Wrote 2 files.",
    ]
    assert json.loads((folder / "a.json").read_text(encoding="utf-8"))["spec"]["tolerations"]
    assert (folder / "b" / ".hidden" / "pod.yaml").read_text(encoding="utf-8") == POD
    assert not list(folder.rglob(".*.*")), "nothing half-written is left"


def test_a_difference_is_one_that_patch_takes(run: type_of_run, clone: Path) -> None:
    (clone / "pod.yaml").write_text(POD.removesuffix("\n"), encoding="utf-8")
    ran = run("workload", "patch", "pod.yaml", "--tolerate", "arm64", "--diff")
    assert ran.code == 0
    assert ran.out.startswith("--- a/pod.yaml\n+++ b/pod.yaml\n@@ ")
    assert "\\ No newline at end of file" in ran.out
    assert (clone / "pod.yaml").read_text(encoding="utf-8") == POD.removesuffix("\n")


def test_a_check_finds_what_would_change(run: type_of_run, clone: Path) -> None:
    ran = run("workload", "patch", "pod.yaml", "--tolerate", "arm64", "--check", "-o", "json")
    assert (ran.code, ran.json["kind"], ran.json["version"]) == (1, "workload-patch", "2")
    assert ran.json["files"] == [{"file": "pod.yaml", "changed": True, "written": False}]
    assert ran.json["templates"] == [
        {
            "file": "pod.yaml", "line": 1, "object": "Pod", "namespace": "default", "name": "one", "path": "spec",
            "changed": True, "done": ["tolerates arch=arm64:NoSchedule"], "notes": [],
        }
    ]  # fmt: skip
    (clone / "pod.yaml").write_text(POD + TOLERATION, encoding="utf-8")
    assert run("workload", "patch", "pod.yaml", "--tolerate", "arm64", "--check").code == 0


def test_one_workload_that_can_t_be_changed_stops_all_and_is_named(run: type_of_run, clone: Path) -> None:
    (clone / "z.yaml").write_text(f"# c\n---\n{AMD_ONLY}---\na: [\n", encoding="utf-8")
    ran = run("workload", "patch", "pod.yaml", "z.yaml", "--require", "arm64", "--in-place")
    said = "can't require architecture arm64: nodeSelector requires kubernetes.io/arch=amd64. "
    said += "Change that rule, or omit this workload."
    fault = "did not find expected node content while parsing a flow node. "
    fault += "Check colons, quotes, brackets and indentation, here and in the line above."
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        f"error: z.yaml:3: document 1, Pod default/one: spec: {said}",
        f"error: z.yaml:10: Not valid YAML: {fault}",
        "error: Nothing was changed: 2 errors.",
    ]
    assert (clone / "pod.yaml").read_text(encoding="utf-8") == POD


def test_replicas_are_spread_over_zones_and_the_option_says_how(run: type_of_run, tmp_path: Path) -> None:
    file = tmp_path / "api.yaml"
    selector = "selector: {matchLabels: {app: api}}"
    pod = "{metadata: {labels: {app: api}}, spec: {containers: [{name: a, image: a}]}}"
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\n"
    file.write_text(f"{head}spec:\n  {selector}\n  template: {pod}\n", encoding="utf-8")
    ran = run("workload", "patch", "--manifests", str(file), "--spread-zones", "ScheduleAnyway", "--prefer", "arm64")
    assert ran.code == 0
    assert "spreads over zones (ScheduleAnyway)" in ran.err
    assert "topologyKey: topology.kubernetes.io/zone" in ran.out
    assert run("workload", "patch", "--manifests", str(file), "--spread-zones", "Sometimes").code == 2


def test_images_without_the_architecture_are_rejected_when_they_are_checked(
    run: type_of_run, clone: Path, repository: Repository
) -> None:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    repository.image("linux/amd64", tag="amd64-only")
    root = f"{repository.server.host}/{repository.name}"
    for tag in ("both", "amd64-only", "gone"):
        (clone / f"{tag}.yaml").write_text(POD.replace("image: b", f"image: {root}:{tag}"), encoding="utf-8")
    wanted = ("--tolerate", "arm64", "--check-images", "--no-cache")
    good = run("workload", "patch", "both.yaml", *wanted)
    assert (good.code, good.out.endswith(TOLERATION)) == (0, True)
    rejected = run("workload", "patch", "both.yaml", "amd64-only.yaml", "--in-place", *wanted)
    assert (rejected.code, rejected.out) == (2, "")
    assert rejected.err.startswith(
        f"error: amd64-only.yaml:1: Pod default/one: image {root}:amd64-only (container a) does not support arm64: "
    )
    assert rejected.err.endswith("error: Nothing was changed: 1 error.\n")
    assert "tolerations" not in (clone / "both.yaml").read_text(encoding="utf-8")
    unread = run("workload", "patch", "gone.yaml", *wanted)
    assert (unread.code, unread.out.endswith(TOLERATION)) == (0, True)
    assert f"; image {root}:gone (container a): support for arm64 is unknown: not found" in unread.err
    assert run("workload", "patch", "amd64-only.yaml", "--require", "amd64", "--check-images", "--no-cache").code == 0
