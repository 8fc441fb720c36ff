"""The admission webhook: objects, role and rights, and the order of coming and going."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import yaml

from components.pod_identity import CREDENTIALS
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.install.model import Installation
from multiarch.webhook.install.objects import objects
from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, walk, world
from tests.stack.test_webhook import IMAGE, webhook
from tests.stack.words import merged

NAME = "multiarch-webhook"
PUBLIC = {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.0/24"]}}
COMPONENT = "multiarch-eks:components:AdmissionWebhook"
WEBHOOK = "kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
JOB = "kubernetes:batch/v1:Job"
TLS = "kubernetes:core/v1:Secret"
SERVICE = "kubernetes:core/v1:Service"


@pytest.fixture(scope="module")
def found() -> World:
    return world(merged(PUBLIC, webhook()))


def own(found: World) -> list[dict[str, Any]]:
    """The webhook's objects as they are declared; the guard's are in the same component."""
    (component,) = found.all(COMPONENT)
    return [
        deepcopy(dict(each.inputs))
        for each in found.resources
        if each.parent == component.urn and each.type.startswith("kubernetes:") and "Validating" not in each.type
    ]


def key(manifest: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def test_without_it_nothing_of_it_is_declared(small: World, full: World) -> None:
    for each in (small, full):
        assert not each.all(COMPONENT)
        assert not each.all(WEBHOOK)


def test_its_objects_are_those_of_the_manifests(found: World) -> None:
    configuration = WebhookConfiguration(taints=["arch=arm64:NoSchedule"], architectures=["amd64", "arm64"])
    wanted = {key(each): deepcopy(each) for each in objects(Installation(image=IMAGE, configuration=configuration))}
    declared_objects = {key(each): each for each in own(found)}
    assert declared_objects.keys() == wanted.keys()
    job = next(each for each in declared_objects.values() if each["kind"] == "Job")
    assert job["metadata"].pop("annotations") == {"pulumi.com/skipAwait": "true"}
    assert "ttlSecondsAfterFinished" not in job["spec"]
    del wanted[key(job)]["spec"]["ttlSecondsAfterFinished"]
    for name, each in declared_objects.items():
        assert each == json.loads(json.dumps(wanted[name])), name


def test_the_stacks_taint_reaches_its_configuration_and_its_pods() -> None:
    change = merged(PUBLIC, webhook(replicas=3, maxReplicas=3)) | {"arm64Taint": "cpu=graviton:NoSchedule"}
    found = world(change)
    data: Any = found.inputs("kubernetes:core/v1:ConfigMap", NAME)["data"]
    (text,) = data.values()
    written = yaml.safe_load(text)
    assert (written["taints"], written["architectures"]) == (["cpu=graviton:NoSchedule"], ["amd64", "arm64"])
    spec: Any = found.inputs(DEPLOYMENT, NAME)["spec"]
    assert spec["replicas"] == 3
    assert [each["key"] for each in spec["template"]["spec"]["tolerations"]] == ["cpu"]
    assert spec["template"]["spec"]["containers"][0]["image"] == IMAGE


def test_what_controllers_write_is_not_declared(found: World) -> None:
    """So that no update takes away certificates, or replicas that the HorizontalPodAutoscaler added."""
    secret = found.inputs(TLS)
    assert not {"data", "stringData", "immutable"} & secret.keys()
    assert not [each for each in walk(found.inputs(WEBHOOK)) if "caBundle" in each]
    spec: Any = found.inputs(DEPLOYMENT, NAME)["spec"]
    assert "replicas" not in spec
    assert found.all("kubernetes:autoscaling/v2:HorizontalPodAutoscaler")


def test_its_role_reads_repositories_and_is_for_its_service_account(found: World) -> None:
    role = found.inputs(declared.ROLE, NAME)
    (trust,) = json.loads(role["assumeRolePolicy"])["Statement"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == NAME
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-service-account"] == NAME
    association = found.inputs(autoscaled.ASSOCIATION)
    assert (association["namespace"], association["serviceAccount"]) == (NAME, NAME)
    spec: Any = found.inputs(DEPLOYMENT, NAME)["spec"]
    assert spec["template"]["spec"]["serviceAccountName"] == NAME
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


def test_its_pods_are_refused_until_they_get_credentials(found: World) -> None:
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
    assert len(found.all(DEPLOYMENT)) == 1
    assert not found.all(autoscaled.ASSOCIATION)
    assert not found.all(autoscaled.GUARD)
    assert NAME not in {role.name for role in found.all(declared.ROLE)}


def test_the_registration_goes_before_the_pods_that_it_calls(found: World) -> None:
    registration, deployment = found.one(WEBHOOK), found.one(DEPLOYMENT, NAME)
    needed = [
        deployment,
        found.one(SERVICE),
        found.one(JOB),
        found.one(TLS),
        found.one("kubernetes:core/v1:ConfigMap", NAME),
        found.one("kubernetes:core/v1:Namespace"),
    ]
    for each in needed:
        assert goes_before(found, registration, each), each.urn
        assert not goes_before(found, each, registration), each.urn


def test_the_pods_come_after_their_role_the_job_and_the_nodes(found: World) -> None:
    deployment = found.one(DEPLOYMENT, NAME)
    needed = [
        *found.all(declared.MANAGED),
        found.one(declared.ADDON, "coredns"),
        found.one(declared.ADDON, "eks-pod-identity-agent"),
        found.one(autoscaled.ASSOCIATION),
        found.one(autoscaled.GUARD_BINDING),
        found.one(declared.ROLE_POLICY, NAME),
        found.one(JOB),
        *found.all("kubernetes:core/v1:ServiceAccount"),
        *found.all("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"),
        *found.all("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"),
    ]
    assert len(needed) == 2 + 6 + 2 + 2
    for each in needed:
        assert goes_before(found, deployment, each), each.urn


def test_the_engine_waits_for_nothing_that_waits_for_what_comes_later(found: World) -> None:
    """The Job ends once the registration is there; a Service is waited for until it has a pod."""
    deployment, service = found.one(DEPLOYMENT, NAME), found.one(SERVICE)
    assert not goes_before(found, deployment, service)
    assert not goes_before(found, service, deployment)
    job: Any = found.inputs(JOB)
    assert job["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


def test_with_cert_manager_there_is_no_job_and_the_registration_names_its_certificate() -> None:
    found = world(merged(PUBLIC, webhook(certificates="cert-manager")))
    assert not found.all(JOB)
    assert not found.all("kubernetes:batch/v1:CronJob")
    assert not found.all(TLS)
    certificates = found.all("kubernetes:cert-manager.io/v1:Certificate")
    assert {each.name for each in certificates} == {NAME, f"{NAME}-authority"}
    for each in certificates:
        assert goes_before(found, found.one(DEPLOYMENT, NAME), each)
    metadata: Any = found.inputs(WEBHOOK)["metadata"]
    assert metadata["annotations"] == {"cert-manager.io/inject-ca-from": f"{NAME}/{NAME}"}


def test_pull_secrets_of_several_namespaces_are_read_by_roles_there() -> None:
    secrets = ["team-a/registry", "team-b/registry", "team-b/other"]
    found = world(merged(PUBLIC, webhook(configuration={"registries": {"pullSecrets": secrets}})))
    roles = [each.inputs for each in found.all("kubernetes:rbac.authorization.k8s.io/v1:Role")]
    places: Any = [role["metadata"] for role in roles]
    assert {"team-a", "team-b"} <= {place["namespace"] for place in places}
