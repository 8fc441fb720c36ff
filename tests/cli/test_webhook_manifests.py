"""``multiarch webhook manifests``: the objects of an installation as YAML, from options, a values file or a stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from multiarch.webhook.install.model import Installation
from multiarch.webhook.install.objects import objects
from tests.cli.running import runner, type_of_run

IMAGE = "registry.example.com/multiarch-webhook:1"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type_of_run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def printed(run: type_of_run, *options: str) -> list[Any]:
    done = run("webhook", "manifests", *options)
    assert done.code == 0, done.err
    return list(yaml.safe_load_all(done.out))


def test_the_objects_are_printed_in_their_order(run: type_of_run) -> None:
    assert printed(run, "--image", IMAGE) == objects(Installation(image=IMAGE))


def test_values_and_options_make_one_installation(run: type_of_run, tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text(f"image: {IMAGE}\nreplicas: 3\nconfiguration:\n  mode: observe\n")
    values = {"image": IMAGE, "replicas": 3, "configuration": {"mode": "observe"}}
    assert printed(run, "--values", "v.yaml") == objects(Installation.model_validate(values))
    named = printed(run, "--values", "v.yaml", "--image", "other", "-n", "platform", "--name", "arm")
    expected = Installation.model_validate({**values, "image": "other", "namespace": "platform", "name": "arm"})
    assert named == objects(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replicas: 3", "image is missing."),
        ("image: x\nreplica: 3", "v.yaml:2 replica: replica is unknown here. Did you mean replicas?"),
        ("image: x\nreplicas: many", "v.yaml:2 replicas: replicas is the text 'many'; it takes a whole number."),
        ("image: x\nconfiguration:\n  taints: [arch]", "v.yaml:3 configuration.taints[0]: 'arch' has no effect."),
        ("image: x\nissuer: {name: y}", "issuer needs certificates: cert-manager."),
        ("image: x\nconfiguration: {deadlineSeconds: 3}", "it must be at most 2.5."),
        ("image: x\nmax_replicas: 3", "v.yaml:2 max_replicas: max_replicas is unknown here."),
    ],
)
def test_an_invalid_value_is_named_with_its_place(run: type_of_run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.yaml").write_text(text)
    done = run("webhook", "manifests", "--values", "v.yaml")
    assert done.code == 2
    assert message in " ".join(done.err.split())


def test_an_image_is_needed(run: type_of_run) -> None:
    done = run("webhook", "manifests")
    assert done.code == 2
    assert "image is missing" in done.err


STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: search
  multiarch-eks:environment: dev
  multiarch-eks:owner: search@example.com
  multiarch-eks:costCenter: cc-1
  multiarch-eks:arm64Taint: graviton=yes:NoSchedule
  multiarch-eks:nodeGroups:
    web: {instanceTypes: [m7i.large], minSize: 1, maxSize: 2}
    web-arm: {instanceTypes: [m7g.large], minSize: 1, maxSize: 2}
"""


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    file = tmp_path / "Pulumi.search-dev.yaml"
    file.write_text(STACK)
    return file


def test_taint_and_architectures_are_those_of_the_stack(run: type_of_run, stack: Path) -> None:
    configuration = {"taints": ["graviton=yes:NoSchedule"], "architectures": ["amd64", "arm64"]}
    expected = objects(Installation.model_validate({"image": IMAGE, "configuration": configuration}))
    assert printed(run, "--image", IMAGE, "--stack", str(stack)) == expected


def test_the_stack_s_own_webhook_is_installed(run: type_of_run, stack: Path, tmp_path: Path) -> None:
    image = f"{IMAGE}@sha256:{64 * 'a'}"
    section = f"  multiarch-eks:admissionWebhook: {{enabled: true, image: '{image}', replicas: 4}}\n"
    stack.write_text(STACK + section)
    made = {each["kind"]: each for each in printed(run, "--stack", str(stack))}
    assert made["HorizontalPodAutoscaler"]["spec"]["minReplicas"] == 4
    assert made["Deployment"]["spec"]["template"]["spec"]["tolerations"][0]["key"] == "graviton"
    (tmp_path / "v.yaml").write_text("replicas: 1")
    done = run("webhook", "manifests", "--stack", str(stack), "--values", "v.yaml")
    assert done.code == 2
    assert "Leave out --values or --stack." in done.err


def test_the_policy_is_for_the_stack_s_taint(run: type_of_run, stack: Path) -> None:
    done = run("webhook", "policy", "--stack", str(stack), "--api-version", "v1beta1")
    assert done.code == 0, done.err
    policy, binding = yaml.safe_load_all(done.out)
    assert policy["apiVersion"] == binding["apiVersion"] == "admissionregistration.k8s.io/v1beta1"
    assert (
        'key: "graviton", operator: "Equal", value: "yes"' in policy["spec"]["mutations"][0]["jsonPatch"]["expression"]
    )
    stack.write_text(STACK.replace("graviton=yes:NoSchedule", "none"))
    assert run("webhook", "policy", "--stack", str(stack)).code == 2
