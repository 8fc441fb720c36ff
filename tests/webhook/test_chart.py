"""The Helm chart renders what the other ways of installation make, and its generated files are up to date."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from multiarch.webhook.install.model import Installation, Object
from multiarch.webhook.install.objects import objects
from tests.webhook.chart_files import CHART, GENERATED
from tools import build

IMAGE = "registry.example.com/multiarch-webhook:1"


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_are_up_to_date(name: str) -> None:
    """If not: ``python -m tests.documents``."""
    assert (CHART / name).read_text(encoding="utf-8") == GENERATED[name]()


def helm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    homes = {f"HELM_{name}_HOME": str(folder / name) for name in ("CACHE", "CONFIG", "DATA")}
    command = [str(build.ensure("helm")), *arguments]
    return subprocess.run(command, env=os.environ | homes, capture_output=True, text=True, check=False)


def rendered(folder: Path, values: Object, namespace: str) -> list[Object]:
    file = folder / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    done = helm(folder, "template", "release", str(CHART), "--namespace", namespace, "--values", str(file))
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def comparable(items: list[Object]) -> dict[tuple[str, str, str], Object]:
    """Objects by kind, namespace and name, with the configuration file's content; Helm has its own Namespace."""
    found = {}
    for each in items:
        if each["kind"] == "ConfigMap":
            each["data"] = {name: yaml.safe_load(text) for name, text in each["data"].items()}
        if each["kind"] != "Namespace":
            found[each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]] = each
    return found


def check(folder: Path, values: Object, namespace: str = "multiarch-webhook") -> None:
    given = {"image": IMAGE, **values}
    installation = Installation.model_validate({**given, "namespace": namespace}, by_alias=True, by_name=False)
    ours, theirs = comparable(objects(installation)), comparable(rendered(folder, given, namespace))
    assert sorted(theirs) == sorted(ours)
    for key, each in ours.items():
        assert theirs[key] == each, key


RULE: Object = {"ports": [{"protocol": "TCP", "port": 9000}], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}
VALUES: dict[str, list[Any]] = {
    "name": ["arm"],
    "replicas": [1, 7],
    "maxReplicas": [1, 2, 9],
    "cpuPercent": [50],
    "imagePullSecrets": [["a", "b"]],
    "resources": [{"cpu": "1"}, {"memoryMib": 500}],
    "priorityClassName": [""],
    "nodeSelector": [{"disk": "ssd", "n": "1"}],
    "tolerations": [[{"key": "infra", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]],
    "serviceAccountAnnotations": [{"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/webhook"}],
    "excludedNamespaces": [["monitoring", "kube-system", "a"]],
    "sharedCache": [{"secret": "valkey"}, {"secret": "v", "key": "address", "port": 6380}],
    "networkPolicy": [{"enabled": False}, {"extraEgress": [RULE]}],
    "serviceMonitor": [{"enabled": True}, {"enabled": True, "labels": {"release": "p"}}],
    "extraVolumes": [[{"name": "ca", "configMap": {"name": "ca"}}]],
    "extraVolumeMounts": [[{"name": "ca", "mountPath": "/etc/ca", "readOnly": True}]],
}
CERTIFICATES: list[Object] = [
    {},
    {"certificates": "cert-manager"},
    {"certificates": "cert-manager", "issuer": {"name": "own"}},
    {"certificates": "cert-manager", "issuer": {"name": "own", "kind": "Issuer"}},
]
CONFIGURATION: dict[str, list[Any]] = {
    "mode": ["tolerate", "prefer", "pin", "observe"],
    "architectures": [["arm64"], ["arm64", "amd64"]],
    "taints": [["a/b=c:NoExecute", "graviton:NoSchedule"], ["x:PreferNoSchedule"]],
    "deadlineSeconds": [1.0, 0.25],
    "events": [True],
    "annotate": [True],
    "cache": [{"memoryMib": 1}, {"memoryMib": 333, "file": "/var/cache/m/images.sqlite"}, {"staleSeconds": 604800}],
    "registries": [
        {"ecr": False, "plainHttp": ["plain.local", "registry.local:5000", "x:443"]},
        {"allowed": ["docker.io", "*.example.com:8443", "r:*"], "pullSecrets": ["b/x", "a/two", "a/one", "a/two"]},
        {"caFiles": ["/etc/ca/<&>.pem"]},
    ],
}
ONE_EACH: list[Object] = [
    *({key: each} for key, choices in VALUES.items() for each in choices),
    *CERTIFICATES,
    *({"configuration": {key: each}} for key, choices in CONFIGURATION.items() for each in choices),
]


def of(choices: dict[str, list[Any]]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(each) for key, each in choices.items()})


@pytest.mark.tools
@pytest.mark.parametrize("values", ONE_EACH, ids=lambda values: json.dumps(values)[:60])
def test_each_value_makes_the_same_objects(tmp_path: Path, values: Object) -> None:
    check(tmp_path, values)


@pytest.mark.tools
@hypothesis.given(of(VALUES), st.sampled_from(CERTIFICATES), of(CONFIGURATION), st.sampled_from(["x", "kube-tools"]))
@hypothesis.settings(max_examples=25, phases=[hypothesis.Phase.generate])  # each example runs Helm
def test_any_values_together_make_the_same_objects(
    tmp_path_factory: pytest.TempPathFactory, values: Object, certificates: Object, configuration: Object, space: str
) -> None:
    check(tmp_path_factory.mktemp("chart"), {**values, **certificates, "configuration": configuration}, space)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "missing property 'image'"),
        ({"image": "x", "replica": 3}, "additional properties 'replica' not allowed"),
        ({"image": "x", "configuration": {"cache": {"memory": 1}}}, "additional properties 'memory' not allowed"),
        ({"image": "x", "configuration": {"mode": "on"}}, "value must be one of"),
        ({"image": "x", "configuration": {"taints": ["arch"]}}, '"arch" is not KEY=VALUE:EFFECT'),
        ({"image": "x", "configuration": {"deadlineSeconds": 3}}, "deadlineSeconds': maximum: got 3, want 2.5"),
        ({"image": "x", "configuration": {"registries": {"pullSecrets": ["a.b/c"]}}}, '"a.b/c" is not NAMESPACE/NAME'),
        ({"image": "x", "resources": {"memoryMib": 100}}, "resources.memoryMib must be at least 144"),
        ({"image": "x", "configuration": {"cache": {"file": "/a.sqlite"}}}, "cache.file must be in a folder"),
        (
            {"image": "x", "sharedCache": {"secret": "y"}, "configuration": {"cache": {"sharedUrlFile": "/z/y"}}},
            "sharedCache and configuration.cache.sharedUrlFile exclude each other",
        ),
        ({"image": "x", "issuer": {"name": "y"}}, "issuer needs certificates: cert-manager"),
    ],
)
def test_invalid_values_are_refused(tmp_path: Path, values: Object, message: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    done = helm(tmp_path, "template", str(CHART), "--values", str(file))
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.tools
def test_lint_finds_nothing(tmp_path: Path) -> None:
    linted = helm(tmp_path, "lint", "--strict", str(CHART), "--set", f"image={IMAGE}")
    assert linted.returncode == 0, linted.stdout
