"""``multiarch audit images`` on manifests and lists, against a real registry."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository

__all__ = ["images_registry", "repository"]

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api, namespace: shop, labels: {{team: cart}}}}
spec:
  template:
    spec:
      initContainers:
        - {{name: migrate, image: "{root}:amd64-only"}}
      containers:
        - name: api
          image: {root}:both
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: report, namespace: pay}}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: report
              image: {root}:gone
"""


@pytest.fixture
def root(repository: Repository) -> str:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    repository.image("linux/amd64", tag="amd64-only")
    return f"{repository.server.host}/{repository.name}"


@pytest.fixture
def manifest(root: str, tmp_path: Path) -> Path:
    file = tmp_path / "my shop.yaml"
    file.write_text(MANIFEST.format(root=root))
    return file


def verdicts(ran: Ran) -> dict[str, dict[str, str]]:
    return {
        row["image"].rpartition(":")[2]: {each["architecture"]: each["verdict"] for each in row["verdicts"]}
        for row in ran.json["images"]
    }


def test_the_table_has_a_row_per_image_and_stderr_the_sum(run: type_of_run, manifest: Path, root: str) -> None:
    ran = run("audit", "images", str(manifest))
    assert ran.code == 0
    rows = {line.split()[0].rpartition(":")[2]: line for line in ran.out.splitlines() if root in line.split()[0]}
    assert rows["both"].split()[1:] == ["supported", "supported", "Deployment/api", "shop"]
    assert rows["amd64-only"].split()[1:3] == ["supported", "unsupported"]
    assert "not found" in rows["gone"]
    assert rows["gone"].split()[-2:] == ["CronJob/report", "pay"]
    assert ran.err == "3 images for amd64 and arm64: 1 supported, 1 unsupported, 1 unknown.\n"


def test_the_reason_that_several_images_are_unknown_is_given_once(run: type_of_run, tmp_path: Path) -> None:
    names = [f"no-registry.invalid/{name}:1" for name in ("a", "b", "c")]
    listed = tmp_path / "images"
    listed.write_text("\n".join(names))
    ran = run("audit", "images", "--images", str(listed))
    assert ran.out.count("can't resolve") == 1
    assert "3 images: unreachable: can't resolve no-registry.invalid. Check" in ran.out
    assert ran.out.split(names[1])[1].split()[:3] == ["unknown", "unknown", "unreachable"]


@pytest.mark.parametrize("text", ["", "---\n# nothing\n---\n", "[]"])
def test_an_audit_of_nothing_does_not_find_everything_in_order(
    run: type_of_run, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = run("audit", "images", "--manifests", "-")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: standard input: no Kubernetes objects found. Did the command that writes the manifests fail?\n"
    )


def test_json_names_every_container_and_its_line(run: type_of_run, manifest: Path) -> None:
    ran = run("audit", "images", str(manifest), "-o", "json")
    assert (ran.json["kind"], ran.json["version"]) == ("image-audit", "2")
    lines = manifest.read_text().splitlines()
    for row in ran.json["images"]:
        for use in row["uses"]:
            assert row["image"] in lines[use["line"] - 1]
    assert {(use["container"], use["role"]) for row in ran.json["images"] for use in row["uses"]} == {
        ("migrate", "init container"),
        ("api", "container"),
        ("report", "container"),
    }


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0),
        (("--fail-on", "unknown"), 1),
        (("--fail-on", "unsupported", "--architecture", "amd64"), 0),
    ],
)
def test_only_what_was_asked_for_fails(run: type_of_run, manifest: Path, options: tuple[str, ...], code: int) -> None:
    assert run("audit", "images", str(manifest), *options).code == code


def test_groups_have_the_images_of_their_own_workloads(run: type_of_run, manifest: Path) -> None:
    ran = run("audit", "images", str(manifest), "--group-by", "team", "-o", "json")
    found: dict[str, set[str]] = {}
    for row in ran.json["images"]:
        found.setdefault(row["group"], set()).add(row["image"].rpartition(":")[2])
    assert found == {"cart": {"both", "amd64-only"}, "": {"gone"}}
    table = run("audit", "images", str(manifest), "--group-by", "team").out
    assert table.index("without team") < table.index("team=cart")


def test_sarif_points_at_the_lines_of_what_is_not_supported(run: type_of_run, manifest: Path) -> None:
    log = run("audit", "images", str(manifest), "-o", "sarif").json
    assert log["version"] == "2.1.0"
    (one,) = log["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    results: list[dict[str, Any]] = one["results"]
    assert sorted(result["ruleId"] for result in results) == ["image-unknown", "image-unknown", "image-unsupported"]
    for result in results:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("my%20shop.yaml")
        line = manifest.read_text().splitlines()[place["region"]["startLine"] - 1]
        assert "image" in line


def test_explain_says_the_next_step(run: type_of_run, manifest: Path) -> None:
    said = run("audit", "images", str(manifest), "--explain").err
    assert (
        "next: if the workload's other images support arm64 too (see `multiarch audit workloads`), let its pods" in said
    )
    assert "build it for arm64, or use a tag that supports it; until then keep its pods on amd64" in said
    assert "used by shop Deployment/api, init container migrate" in said


def test_a_list_is_judged_line_by_line(run: type_of_run, root: str, tmp_path: Path) -> None:
    file = tmp_path / "images.txt"
    file.write_text(f"# ours\n{root}:both   # the good one\n\n{root}:amd64-only\n")
    ran = run("audit", "images", "--images", str(file), "-o", "json")
    assert verdicts(ran)["amd64-only"]["arm64"] == "unsupported"
    assert [use["line"] for row in ran.json["images"] for use in row["uses"]] == [4, 2]
