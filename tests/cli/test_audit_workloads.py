"""``multiarch audit workloads`` on manifests, against a real registry."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from tests.cli.running import Ran, type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository

__all__ = ["images_registry", "repository"]

MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api, namespace: shop, labels: {{team: cart}}}}
spec:
  replicas: 3
  template:
    spec:
      tolerations:
        - {{key: gpu, operator: Exists}}
      containers:
        - name: api
          image: {root}:1.1
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: ledger}}
spec:
  template:
    spec:
      nodeSelector: {{kubernetes.io/arch: amd64}}
      containers:
        - {{name: ledger, image: "{root}:1.0"}}
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
---
apiVersion: v1
kind: Pod
metadata: {{name: there, namespace: shop}}
spec:
  tolerations: [{{operator: Exists}}]
  containers:
    - name: there
      image: {root}:1.1
---
apiVersion: batch/v1
kind: Job
metadata: {{name: once}}
spec:
  template:
    spec:
      containers:
        - name: once
          image: {root}:1.1
"""
ADDED = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


@pytest.fixture
def root(repository: Repository) -> str:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="1.1")
    repository.image("linux/amd64", tag="1.0")
    return f"{repository.server.host}/{repository.name}"


@pytest.fixture
def manifest(root: str, tmp_path: Path) -> Path:
    file = tmp_path / "my shop.yaml"
    file.write_text(MANIFEST.format(root=root))
    return file


ODD = "api\nkind: Secret\u2028\u202e#"


def states(ran: Ran) -> dict[str, str]:
    return {row["name"]: row["state"] for row in ran.json["workloads"]}


def test_the_table_says_each_next_step_and_stderr_the_sum(run: type_of_run, manifest: Path, root: str) -> None:
    ran = run("audit", "workloads", str(manifest))
    assert ran.code == 0
    rows = {line.split()[0]: line for line in ran.out.splitlines()[2:]}
    assert rows["Deployment/api"].split(maxsplit=4) == [
        *("Deployment/api", "shop", "ready", "3"),
        "add the toleration of arch=arm64:NoSchedule",
    ]
    assert "blocked by image and affinity" in rows["StatefulSet/ledger"]
    assert f"use {root}:1.1 instead of {root}:1.0" in " ".join(ran.out.split())
    assert "already there" in rows["Pod/there"]
    assert ran.err == (
        "5 workloads: 2 ready, 1 blocked, 1 already there, 1 unknown.\n5 of 7 pods (71 %) ready or already there.\n"
    )


def test_json_tells_all_of_it(run: type_of_run, manifest: Path, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(manifest.read_text()))
    ran = run("audit", "workloads", "-", "-o", "json")
    assert (ran.json["kind"], ran.json["version"], ran.json["taint"]) == (
        "workload-audit",
        "2",
        "arch=arm64:NoSchedule",
    )
    assert states(ran) == {
        "api": "ready",
        "ledger": "blocked",
        "report": "unknown",
        "there": "already there",
        "once": "ready",
    }
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in ran.json["workloads"]}
    (image,) = rows["ledger"]["blockers"]["images"]
    assert (image["image"], image["containers"]) == (f"{root}:1.0", ["container ledger"])
    assert image["newest"] == {"image": f"{root}:1.1", "why": "the newest in its format", "lookedUp": 1}
    assert rows["ledger"]["blockers"]["affinity"] == ["nodeSelector requires kubernetes.io/arch=amd64"]
    assert "not found" in rows["report"]["doubts"][0]
    assert (rows["api"]["file"], rows["api"]["pods"]) == ("standard input", 3)
    assert rows["api"]["command"].startswith("multiarch workload patch --manifests - --tolerate arm64")


def test_the_command_that_is_named_makes_the_workload_one_that_is_there(run: type_of_run, manifest: Path) -> None:
    before = run("audit", "workloads", str(manifest), "-o", "json")
    (api,) = (row for row in before.json["workloads"] if row["name"] == "api")
    command = shlex.split(api["command"])
    assert command[0] == "multiarch"
    assert run(*command[1:]).code == 0
    after = states(run("audit", "workloads", str(manifest), "-o", "json"))
    assert after == {**states(before), "api": "already there"}


def test_explain_says_the_command_and_the_blockers(run: type_of_run, manifest: Path, root: str) -> None:
    said = run("audit", "workloads", str(manifest), "--explain").err
    assert "shop Deployment/api: ready, prefers neither\n" in said
    assert "  multiarch workload patch" in said
    assert "  affinity: nodeSelector requires kubernetes.io/arch=amd64\n" in said
    assert f"  image {root}:1.0: single manifest for linux/amd64; " in said
    assert "; used by container ledger\n" in said


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0),
        (("--fail-on", "blocked"), 1),
        (("--fail-on", "unknown"), 1),
    ],
)
def test_only_what_was_asked_for_fails(run: type_of_run, manifest: Path, options: tuple[str, ...], code: int) -> None:
    assert run("audit", "workloads", str(manifest), *options).code == code


# -- patches -----------------------------------------------------------------------------------------------------------


def test_patches_are_one_file_per_ready_workload(run: type_of_run, manifest: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "patches"
    ran = run("audit", "workloads", str(manifest), "--patch", str(folder))
    assert f"Wrote patches for 2 workloads into {folder}." in ran.err
    assert sorted(each.name for each in folder.iterdir()) == ["default_job_once.yaml", "shop_deployment_api.yaml"]
    text = (folder / "shop_deployment_api.yaml").read_text()
    assert yaml.safe_load(text) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": "shop"},
        "spec": {"template": {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}, ADDED]}}},
    }
    selected = ("--kind", "Deployment", "--tolerate", "arm64", "--format", "strategic-merge")
    same = run("workload", "patch", str(manifest), *selected).out
    assert yaml.safe_load(same) == yaml.safe_load(text)
    assert list(tmp_path.glob("new/.*")) == []


def test_a_folder_is_replaced_only_on_demand_and_only_if_it_is_ours(
    run: type_of_run, manifest: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "patches"
    folder.mkdir()
    command = ("audit", "workloads", str(manifest), "--patch", str(folder))
    assert run(*command, "--patch-format", "kustomize").code == 0
    again = run(*command)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "is not empty" in again.err
    assert run(*command, "--force").code == 0
    assert sorted(each.name for each in folder.iterdir()) == ["default_job_once.yaml", "shop_deployment_api.yaml"]
    (folder / "notes.txt").write_text("mine")
    rejected = run(*command, "--force")
    assert (rejected.code, "has notes.txt, which this command did not write" in rejected.err) == (2, True)
    assert (folder / "notes.txt").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".patches")] == []


def test_a_name_can_not_lead_out_of_the_folder_or_write_a_line_into_a_file(
    run: type_of_run, root: str, tmp_path: Path
) -> None:
    objects = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "../up"},
            "spec": {"template": {"spec": {"containers": [{"name": "a", "image": f"{root}:1.1"}]}}},
        }
        for name in ("../../etc/x", "a_b", "X", ODD)
    ]
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    folder = tmp_path / "patches"
    assert run("audit", "workloads", str(file), "--patch", str(folder)).code == 0
    names = sorted(each.name for each in folder.iterdir())
    *others, odd = (f"..%2Fup_deployment_{name}.yaml" for name in ("..%2F..%2Fetc%2Fx", "X", "a%5Fb", quote(ODD)))
    assert names == [*others, odd]
    text = (folder / odd).read_text()
    assert text.replace("\n", "").isprintable()
    assert text.splitlines()[0].endswith(
        "lets Deployment/api\\nkind: Secret\\u2028\\u202e# tolerate arch=arm64:NoSchedule."
    )
    assert yaml.safe_load(text)["metadata"]["name"] == ODD


def test_what_was_not_read_is_said(run: type_of_run, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\napiVersion: v1\nkind: ConfigMap\n"
        "metadata: {name: c}\n---\napiVersion: example.com/v1\nkind: Runner\nmetadata: {name: ci}\n"
        "spec: {runnerImage: r:1}\n"
    )
    for command in ("images", "workloads"):
        ran = run("audit", command, str(tmp_path / "all.yaml"), "-o", "json")
        assert ran.json["withoutImages"] == [
            {"kind": kind, "objects": 1} for kind in ("ConfigMap", "Runner", "Service")
        ]
        assert ran.json["possibleImages"] == [{"object": "Runner default/ci", "paths": ["spec.runnerImage"]}]
        assert ran.err.startswith(
            "note: no image found in 3 objects: 1 ConfigMap, 1 Runner, 1 Service.\n"
            "note: Runner default/ci may hold images that were not read: spec.runnerImage.\n"
        )
