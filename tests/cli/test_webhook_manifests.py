"""``multiarch webhook manifests`` and ``policy``: the objects as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import runner, type_of_run

IMAGE = "registry.example.com/multiarch:1"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type_of_run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def printed(run: type_of_run, *options: str) -> list[Any]:
    done = run("webhook", "manifests", *options)
    assert done.code == 0, done.err
    return list(yaml.safe_load_all(done.out))


def test_the_namespace_comes_first_and_the_registration_last_but_for_cert_manager(run: type_of_run) -> None:
    kinds = [each["kind"] for each in printed(run, "--image", IMAGE)]
    assert kinds[0] == "Namespace"
    assert kinds.index("MutatingWebhookConfiguration") > kinds.index("Deployment")
    assert {"Issuer", "Certificate"} <= set(kinds)
    assert "Secret" not in kinds


def test_image_name_and_namespace_are_those_of_the_options(run: type_of_run) -> None:
    objects = printed(run, "--image", IMAGE, "-n", "platform", "--name", "arm")
    assert "of-the-webhook" not in str(objects), "a placeholder is left"
    found = {each["kind"]: each for each in objects}
    assert found["Namespace"]["metadata"]["name"] == "platform"
    assert {each["metadata"].get("namespace") for each in found.values()} == {None, "platform"}
    assert found["Deployment"]["metadata"]["name"] == "arm"
    assert found["Deployment"]["spec"]["template"]["spec"]["containers"][0]["image"] == IMAGE
    registration = found["MutatingWebhookConfiguration"]
    assert registration["metadata"]["name"] == "zz-arm"
    assert registration["webhooks"][0]["namespaceSelector"]["matchExpressions"][0]["values"][1] == "platform"
    assert found["Certificate"]["spec"]["dnsNames"][0] == "arm.platform.svc"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Missing option '--image'"),
        (("--image", "Registry/Webhook"), "Registry/Webhook"),
        (("--image", IMAGE, "--name", "Arm"), "'Arm' is not a valid name."),
        (("--image", IMAGE, "-n", "a.b"), "'a.b' is not a valid namespace."),
    ],
)
def test_an_invalid_option_is_named(run: type_of_run, options: tuple[str, ...], message: str) -> None:
    done = run("webhook", "manifests", *options)
    assert done.code == 2
    assert message in " ".join(done.err.split())


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


def test_the_policy_is_for_the_stack_s_taint(run: type_of_run, tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.search-dev.yaml"
    stack.write_text(STACK)
    done = run("webhook", "policy", "--stack", str(stack), "--api-version", "v1beta1")
    assert done.code == 0, done.err
    policy, binding = yaml.safe_load_all(done.out)
    assert policy["apiVersion"] == binding["apiVersion"] == "admissionregistration.k8s.io/v1beta1"
    assert (
        'key: "graviton", operator: "Equal", value: "yes"' in policy["spec"]["mutations"][0]["jsonPatch"]["expression"]
    )
    stack.write_text(STACK.replace("graviton=yes:NoSchedule", "none"))
    assert run("webhook", "policy", "--stack", str(stack)).code == 2
