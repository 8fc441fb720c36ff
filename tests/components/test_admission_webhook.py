"""The admission webhook: its release, role and rights, and the order of coming and going."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import multiarch
from components.iam.pod_identity import CREDENTIALS
from components.in_cluster import admission_webhook
from multiarch.schema.webhook_installation import ChartValues
from sandbox.layout import CLONE
from tests.components import autoscaled, declared
from tests.components.autoscaled import RELEASE
from tests.components.declared import NO_NETWORK, PUBLIC, World, goes_before, world
from tests.stack.test_webhook import IMAGE, webhook

NAME = "multiarch-webhook"
WRITTEN: dict[str, Any] = {
    "replicas": 3,
    "maxReplicas": 3,
    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "400Mi"}},
    "serviceMonitor": {"enabled": True},
    "certificates": "cert-manager",
    "issuer": {"name": "corporate"},
}
NAMESPACE = "kubernetes:core/v1:Namespace"


@pytest.fixture(scope="module")
def without_ecr() -> World:
    configuration = {"mode": "observe", "registries": {"ecr": False, "pullSecrets": ["team-a/registry"]}}
    own = webhook(**WRITTEN, configuration=configuration, hostNetwork=True)
    return world({**PUBLIC, **NO_NETWORK, **own, "arm64Taint": "cpu=graviton:NoSchedule"})


def values(found: World) -> Any:  # noqa: ANN401  (the chart's)
    return found.inputs(RELEASE, NAME)["values"]


def admitted(found: World) -> str:
    labels: Any = found.inputs(NAMESPACE, NAME)["metadata"]
    return str(labels["labels"]["pod-security.kubernetes.io/enforce"])


def test_it_is_the_release_of_the_chart_of_this_version(
    installing: World, without_ecr: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = installing.inputs(RELEASE, NAME)
    assert (release["name"], release["namespace"], release["version"]) == (NAME, NAME, multiarch.__version__)
    assert f"version: {multiarch.__version__}\n" in (CLONE / "charts" / NAME / "Chart.yaml").read_text()
    # Pods in the network of their nodes need another standard.
    assert (admitted(installing), admitted(without_ecr)) == ("restricted", "privileged")
    for folder, chart in ((CLONE, f"charts/{NAME}"), (tmp_path, str(CLONE / "charts" / NAME))):
        monkeypatch.chdir(folder)
        assert admission_webhook._locate_chart() == chart  # noqa: SLF001  (a part of the release's inputs)


def test_its_values_are_those_of_the_stack_file_with_the_stack_s_taint(without_ecr: World) -> None:
    found = values(without_ecr)
    configuration = {
        "mode": "observe",
        "registries": {"ecr": False, "pullSecrets": ["team-a/registry"]},
        "taints": ["cpu=graviton:NoSchedule"],
        "architectures": ["amd64", "arm64"],
    }
    assert found == {**WRITTEN, "image": IMAGE, "configuration": configuration, "hostNetwork": True}
    assert ChartValues.model_validate(found, by_alias=True, by_name=False).chart_values() == found
    # Without ECR it has no role, and its pods need no credentials.
    assert not without_ecr.all(autoscaled.ASSOCIATION)
    assert not without_ecr.all(autoscaled.GUARD)
    assert NAME not in {role.name for role in without_ecr.all(declared.ROLE)}


def test_its_role_reads_the_listed_repositories_and_is_for_its_service_account(installing: World) -> None:
    role = installing.inputs(declared.ROLE, NAME)
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == NAME
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-service-account"] == NAME
    association = installing.inputs(autoscaled.ASSOCIATION, NAME)
    assert (association["namespace"], association["serviceAccount"]) == (NAME, NAME)
    log_in, read = json.loads(installing.inputs(declared.ROLE_POLICY, NAME)["policy"])["Statement"]
    assert (log_in["Action"], log_in["Resource"]) == ("ecr:GetAuthorizationToken", "*")
    assert read["Action"] == ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    own = "arn:aws:ecr:eu-west-1:111122223333:repository/shop/api"
    assert sorted(read["Resource"]) == sorted([declared.OTHERS, own])


def test_its_pods_are_rejected_until_they_get_credentials(installing: World) -> None:
    found = installing
    policy = found.one(autoscaled.GUARD, f"{NAME}-credentials")
    binding = found.one(autoscaled.GUARD_BINDING, f"{NAME}-credentials")
    spec: Any = policy.inputs["spec"]
    selector = spec["matchConstraints"]["namespaceSelector"]["matchLabels"]
    assert selector == {"kubernetes.io/metadata.name": NAME}
    assert CREDENTIALS in spec["validations"][0]["expression"]
    assert goes_before(found, found.one(autoscaled.ASSOCIATION, NAME), binding)
    assert goes_before(found, binding, policy)
