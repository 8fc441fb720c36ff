"""The admission webhook: its release, role and rights, and the order of coming and going."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import multiarch
from components.iam.pod_identity import CREDENTIALS
from multiarch.schema.webhook_installation import ChartValues
from sandbox.layout import CLONE
from tests.components import autoscaled, declared
from tests.components.autoscaled import RELEASE
from tests.components.declared import World, goes_before, world
from tests.stack.test_webhook import IMAGE, webhook
from tests.stack.words import merged

NAME = "multiarch-webhook"
PUBLIC = {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.0/24"]}}
COMPONENT = "multiarch-eks:components:AdmissionWebhook"
NAMESPACE = "kubernetes:core/v1:Namespace"


@pytest.fixture(scope="module")
def found() -> World:
    return world(merged(PUBLIC, webhook()))


def key(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def values(found: World) -> Any:  # noqa: ANN401  (the chart's)
    return found.inputs(RELEASE, NAME)["values"]


def test_it_is_the_release_of_the_chart_of_this_version(found: World, monkeypatch: pytest.MonkeyPatch) -> None:
    release = found.inputs(RELEASE, NAME)
    assert (release["name"], release["namespace"], release["version"]) == (NAME, NAME, multiarch.__version__)
    assert f"version: {multiarch.__version__}\n" in (CLONE / "charts" / NAME / "Chart.yaml").read_text()
    labels: Any = found.inputs(NAMESPACE, NAME)["metadata"]
    assert labels["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    monkeypatch.chdir(CLONE)
    assert world(merged(PUBLIC, webhook())).inputs(RELEASE, NAME)["chart"] == f"charts/{NAME}"


def test_away_from_the_program_the_chart_is_found_by_its_full_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert world(merged(PUBLIC, webhook())).inputs(RELEASE, NAME)["chart"] == str(CLONE / "charts" / NAME)


def test_its_values_are_those_of_the_stack_file_with_the_stack_s_taint() -> None:
    written = {
        "replicas": 3,
        "maxReplicas": 3,
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "400Mi"}},
        "serviceMonitor": {"enabled": True},
        "certificates": "cert-manager",
        "issuer": {"name": "corporate"},
        "configuration": {"mode": "observe", "registries": {"ecr": False, "pullSecrets": ["team-a/registry"]}},
    }
    found = world(merged(PUBLIC, webhook(**written)) | {"arm64Taint": "cpu=graviton:NoSchedule"})
    configuration = {
        **written["configuration"],  # type: ignore[dict-item]  # a mapping
        "taints": ["cpu=graviton:NoSchedule"],
        "architectures": ["amd64", "arm64"],
    }
    assert values(found) == {**written, "image": IMAGE, "configuration": configuration}
    read = ChartValues.model_validate(values(found), by_alias=True, by_name=False)
    assert read.chart_values() == values(found)


def test_its_namespace_admits_pods_in_the_network_of_their_nodes() -> None:
    labels: Any = world(merged(PUBLIC, webhook(hostNetwork=True))).inputs(NAMESPACE, NAME)["metadata"]
    assert labels["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_its_role_reads_repositories_and_is_for_its_service_account(found: World) -> None:
    role = found.inputs(declared.ROLE, NAME)
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == NAME
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-service-account"] == NAME
    association = found.inputs(autoscaled.ASSOCIATION)
    assert (association["namespace"], association["serviceAccount"]) == (NAME, NAME)
    log_in, read = json.loads(found.inputs(declared.ROLE_POLICY, NAME)["policy"])["Statement"]
    assert (log_in["Action"], log_in["Resource"]) == ("ecr:GetAuthorizationToken", "*")
    assert read["Action"] == ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    (arn,) = read["Resource"]
    assert arn.startswith("arn:")
    assert arn.endswith(":repository/*")
    assert ":ecr:eu-west-1:" in arn


def test_its_role_reads_the_listed_repositories_alone() -> None:
    other = "arn:aws:ecr:us-east-1:444455556666:repository/base/*"
    found = world(merged(PUBLIC, webhook(ecrRepositories=[other, "shop/api"])))
    _, read = json.loads(found.inputs(declared.ROLE_POLICY, NAME)["policy"])["Statement"]
    first, second = sorted(read["Resource"], key=lambda arn: "shop" in arn)
    assert first == other
    assert second.endswith(":repository/shop/api")


def test_its_pods_are_rejected_until_they_get_credentials(found: World) -> None:
    policy = found.one(autoscaled.GUARD, f"{NAME}-credentials")
    binding = found.one(autoscaled.GUARD_BINDING, f"{NAME}-credentials")
    spec: Any = policy.inputs["spec"]
    selector = spec["matchConstraints"]["namespaceSelector"]["matchLabels"]
    assert selector == {"kubernetes.io/metadata.name": NAME}
    assert CREDENTIALS in spec["validations"][0]["expression"]
    assert goes_before(found, found.one(autoscaled.ASSOCIATION), binding)
    assert goes_before(found, binding, policy)


def test_without_ecr_it_has_no_role_and_its_pods_need_no_credentials() -> None:
    found = world(merged(PUBLIC, webhook(configuration={"registries": {"ecr": False}})))
    assert values(found)["configuration"]["registries"] == {"ecr": False}
    assert not found.all(autoscaled.ASSOCIATION)
    assert not found.all(autoscaled.GUARD)
    assert NAME not in {role.name for role in found.all(declared.ROLE)}


def test_the_release_comes_after_its_namespace_its_role_and_the_nodes(found: World) -> None:
    release = found.one(RELEASE, NAME)
    needed = [
        *found.all(declared.MANAGED),
        found.one(declared.ADDON, "coredns"),
        found.one(declared.ADDON, "eks-pod-identity-agent"),
        found.one(autoscaled.ASSOCIATION),
        found.one(autoscaled.GUARD_BINDING),
        found.one(declared.ROLE_POLICY, NAME),
        found.one(NAMESPACE, NAME),
    ]
    assert len(needed) == 2 + 6
    for each in needed:
        assert goes_before(found, release, each), each.urn
