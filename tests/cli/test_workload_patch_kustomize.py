"""What ``multiarch workload patch`` prints for kustomize, applied by the real kustomize."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import type_of_run

pytestmark = pytest.mark.tools

POD = "containers: [{name: a, image: b}]"
# Names that are patterns for each other, the same name in two namespaces, strings that are truth values without quotes,
# a list that a merge replaces, two required terms, a kind that kustomize does not know, and one without pods.
MANIFESTS = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api.v1}}
spec: {{template: {{spec: {{{POD}, tolerations: [{{key: tier, operator: Equal, value: "yes", effect: NoExecute}}]}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api-v1}}
spec: {{template: {{spec: {{{POD}, tolerations: [{{operator: Exists}}]}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: api.v1, namespace: shop}}
spec:
  template:
    spec:
      {POD}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: zone}}]
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{{key: disk, operator: In, values: ["012", "on"]}}]
            - matchExpressions: [{{key: gpu, operator: Exists}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly, namespace: shop}}
spec: {{schedule: "@daily", jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, {POD}}}}}}}}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: web, namespace: shop}}
spec: {{template: {{spec: {{{POD}, tolerations: [{{key: a, operator: Exists}}]}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: api.v1}}
data: {{a: "yes"}}
"""
Key = tuple[str, str, str]


def built(kustomize: Path, folder: Path) -> dict[Key, Any]:
    """What kustomize makes of a folder, by kind, namespace and name. PyYAML reads YAML 1.1, as kubectl does."""
    command = [str(kustomize), "build", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return by_name(done.stdout)


def by_name(text: str) -> dict[Key, Any]:
    found = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found}


def project(folder: Path, manifests: str, **words: object) -> Path:
    folder.mkdir()
    (folder / "manifests.yaml").write_text(manifests, encoding="utf-8")
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": ["manifests.yaml"], **words}))
    return folder


@pytest.mark.parametrize(
    "options",
    [
        ("--prefer", "arm64", "--tolerate", "arm64"),
        ("--require", "arm64", "--tolerate", "arm64"),
        ("--tolerate", "arm64", "--namespace", "default"),
        ("--tolerate", "arm64", "--kind", "cronjob"),
    ],
)
def test_component_merges_and_manifests_give_the_same_pods(
    run: type_of_run, kustomize: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    source = tmp_path / "all.yaml"
    source.write_text(MANIFESTS, encoding="utf-8")
    said = {
        form: run("workload", "patch", str(source), *options, "--format", form)
        for form in ("manifest", "strategic-merge", "kustomize")
    }
    assert {ran.code for ran in said.values()} == {0}
    expected = by_name(said["manifest"].out)
    assert expected != by_name(MANIFESTS)
    base = project(tmp_path / "component", MANIFESTS, components=["arm64"])
    (base / "arm64").mkdir()
    (base / "arm64" / "kustomization.yaml").write_text(said["kustomize"].out, encoding="utf-8")
    assert built(kustomize, base) == expected
    # Without targets kustomize finds the objects by what the patches name.
    merges = said["strategic-merge"].out.split("---\n")
    merged = project(tmp_path / "merges", MANIFESTS, patches=[{"patch": each} for each in merges])
    assert built(kustomize, merged) == expected


def test_a_component_still_fits_when_the_base_moves_everything_to_a_namespace(
    run: type_of_run, kustomize: Path, tmp_path: Path
) -> None:
    text = MANIFESTS.partition("---\n")[0]
    source = tmp_path / "all.yaml"
    source.write_text(text, encoding="utf-8")
    component = run("workload", "patch", str(source), "--require", "amd64", "--format", "kustomize").out
    project(tmp_path / "base", text, namespace="blue")
    top = tmp_path / "top"
    (top / "amd64").mkdir(parents=True)
    (top / "amd64" / "kustomization.yaml").write_text(component, encoding="utf-8")
    (top / "kustomization.yaml").write_text("resources: [../base]\ncomponents: [amd64]\n", encoding="utf-8")
    (found,) = built(kustomize, top).values()
    assert found["metadata"]["namespace"] == "blue"
    assert "nodeAffinity" in found["spec"]["template"]["spec"]["affinity"]
