"""A real API server accepts the objects of the webhook's installation, and its controllers make pods of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from multiarch.webhook.install.model import Installation
from multiarch.webhook.install.objects import objects
from sandbox.cluster import certificates
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, KubeError, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import pod
from tests.cluster.webhook_endpoint import applied, with_authority
from tests.webhook.chart_files import CHART
from tests.webhook.test_chart import helm

IMAGE = "registry.example.com/multiarch-webhook:1"
CLOSED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of the stand-ins below: nobody here knows the fields of the real ones."""


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Kube:
    return control_plane.kube


def definition(group: str, version: str, kind: str) -> Object:
    """A stand-in for a CustomResourceDefinition of cert-manager or the Prometheus operator."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": CLOSED}}],
        },
    }


@pytest.fixture(scope="module")
def custom_resources(kube: Kube) -> Iterator[None]:
    definitions = [
        definition("cert-manager.io", "v1", "Issuer"),
        definition("cert-manager.io", "v1", "Certificate"),
        definition("monitoring.coreos.com", "v1", "ServiceMonitor"),
    ]
    for each in definitions:
        kube.apply(each)
    try:
        for each in definitions:
            group, kind = each["spec"]["group"], each["spec"]["names"]["kind"]
            wait_for(functools.partial(listed, kube, f"{group}/v1", kind), f"{kind} to be served", timeout=30)
        yield
    finally:
        for each in definitions:
            kube.delete(each)


def listed(kube: Kube, api_version: str, kind: str) -> bool:
    try:
        kube.list(api_version, kind)
    except KubeError as error:
        if error.code == 404:
            return False
        raise
    return True


def authority_pem() -> bytes:
    return certificates.authority().certificate.public_bytes(serialization.Encoding.PEM)


EVERYTHING: dict[str, Any] = {
    "name": "everything",
    "namespace": "everything",
    "imagePullSecrets": ["registry"],
    "replicas": 3,
    "maxReplicas": 3,
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/webhook"},
    "certificates": "cert-manager",
    "excludedNamespaces": ["monitoring"],
    "sharedCache": {"secret": "valkey", "port": 6380},
    "networkPolicy": {"extraEgress": [{"ports": [{"protocol": "TCP", "port": 9000}]}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/multiarch/authorities", "readOnly": True}],
    "configuration": {
        "mode": "prefer",
        "taints": ["arch=arm64:NoSchedule", "graviton:NoExecute"],
        "events": True,
        "cache": {"file": "/var/cache/multiarch/images.sqlite"},
        "registries": {"pullSecrets": ["default/registry"], "plainHttp": ["registry.local:5000"]},
    },
}


@pytest.mark.usefixtures("custom_resources")
@pytest.mark.parametrize("values", [{"maxReplicas": 2}, EVERYTHING], ids=["fixed-replicas", "everything"])
def test_every_object_is_accepted_and_applying_it_again_changes_nothing(kube: Kube, values: Object) -> None:
    installation = Installation.model_validate({"image": IMAGE, **values})
    items = objects(installation)
    with applied(kube, items):
        settled = [versioned(kube, each) for each in items]
        for each in items:
            kube.apply(each)
        assert [versioned(kube, each) for each in items] == settled


def versioned(kube: Kube, item: Object) -> tuple[str, int]:
    """An object's generation, or its version where it has none: status does not count."""
    there = found(kube, item)
    assert there is not None, item
    meta = there["metadata"]
    return meta["name"], meta.get("generation") or meta["resourceVersion"]


def test_what_the_certificates_job_wrote_survives_another_apply(kube: Kube) -> None:
    installation = Installation(image=IMAGE)
    items = objects(installation)
    with applied(kube, items):
        for each in with_authority(objects(installation), authority_pem()):
            if each["kind"] == "Secret":
                kube.patch(each, {"stringData": {"tls.crt": "certificate"}})
            if each["kind"] == "MutatingWebhookConfiguration":
                kube.patch(each, {"webhooks": each["webhooks"]})
        for each in items:
            kube.apply(each)
        secret = kube.get("v1", "Secret", installation.secret_name, installation.namespace)
        assert secret is not None
        assert sorted(secret["data"]) == ["tls.crt"]
        name = installation.registration_name
        registration = kube.get("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name)
        assert registration is not None
        assert [bool(each["clientConfig"].get("caBundle")) for each in registration["webhooks"]] == 6 * [True]


REQUESTS: dict[str, Object] = {
    "named secret": {"verb": "get", "resource": "secrets", "name": "registry", "namespace": "default"},
    "other secret": {"verb": "get", "resource": "secrets", "name": "other", "namespace": "default"},
    "secrets": {"verb": "list", "resource": "secrets", "namespace": "default"},
    "own secret": {
        "verb": "get",
        "resource": "secrets",
        "name": "multiarch-webhook-tls",
        "namespace": "multiarch-webhook",
    },
    "event": {"verb": "create", "group": "events.k8s.io", "resource": "events", "namespace": "default"},
    "pod": {"verb": "get", "resource": "pods", "name": "x", "namespace": "default"},
    "namespace": {"verb": "get", "resource": "namespaces", "name": "default"},
    "registration": {
        "verb": "patch",
        "group": "admissionregistration.k8s.io",
        "resource": "mutatingwebhookconfigurations",
        "name": "zz-multiarch-webhook",
    },
}


@pytest.mark.parametrize(
    ("settings", "account", "allowed"),
    [
        ({}, "multiarch-webhook", []),
        ({"events": True}, "multiarch-webhook", ["event"]),
        ({"registries": {"pullSecrets": ["default/registry"]}}, "multiarch-webhook", ["named secret"]),
        ({}, "multiarch-webhook-certificates", ["own secret", "registration"]),
    ],
)
def test_what_the_service_accounts_may_do(kube: Kube, settings: Object, account: str, allowed: list[str]) -> None:
    installation = Installation.model_validate({"image": IMAGE, "configuration": settings})
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Namespace", "ServiceAccount")
    user = f"system:serviceaccount:{installation.namespace}:{account}"

    def may(request: Object) -> bool:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": request},
        }
        answer = kube.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=review)
        return bool(answer["status"]["allowed"])

    def granted() -> list[str]:
        return [name for name, request in REQUESTS.items() if may(request)]

    with applied(kube, [each for each in objects(installation) if each["kind"] in kinds]):
        # The authorizer learns of roles a moment later.
        wait_for(lambda: granted() == allowed, f"the rights of {user}: {allowed}", timeout=10)


def test_helm_installs_upgrades_and_uninstalls_the_chart(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Its objects pass the API server; an upgrade keeps what the Job wrote; nothing is left but the namespace."""
    kube, space = control_plane.kube, "by-helm"
    installation = Installation(image=IMAGE, namespace=space)
    to = ["arm64", str(CHART), "--namespace", space, "--kubeconfig", str(control_plane.kubeconfig)]
    to += ["--set", f"image={IMAGE}"]
    items = [each for each in objects(installation) if each["kind"] != "Namespace"]
    try:
        done = helm(tmp_path, "install", *to, "--create-namespace")
        assert done.returncode == 0, done.stderr
        assert "kubectl label namespace NAMESPACE multiarch-eks/webhook=observe" in done.stdout
        for each in with_authority(objects(installation), authority_pem()):
            versioned(kube, each)
            if each["kind"] == "Secret":
                kube.patch(each, {"stringData": {"tls.crt": "certificate"}})
            if each["kind"] == "MutatingWebhookConfiguration":
                kube.patch(each, {"webhooks": each["webhooks"]})
        done = helm(tmp_path, "upgrade", *to, "--set", "configuration.events=true")
        assert done.returncode == 0, done.stderr
        secret = kube.get("v1", "Secret", installation.secret_name, space)
        assert secret is not None
        assert sorted(secret["data"]) == ["tls.crt"]
        name = installation.registration_name
        registration = kube.get("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name)
        assert registration is not None
        assert {each["sideEffects"] for each in registration["webhooks"]} == {"NoneOnDryRun"}
        assert [bool(each["clientConfig"].get("caBundle")) for each in registration["webhooks"]] == 6 * [True]
        done = helm(tmp_path, "uninstall", "arm64", *to[2:6])
        assert done.returncode == 0, done.stderr
        left = [each["kind"] for each in items if found(kube, each)]
        assert not left
    finally:
        with applied(kube, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]):
            pass


@pytest.mark.usefixtures("custom_resources")
def test_helm_changes_who_issues_the_certificate_and_back(control_plane: ControlPlane, tmp_path: Path) -> None:
    """cert-manager's Secret is of another type and belongs to no release; the Job's is gone while it is not used."""
    kube, space = control_plane.kube, "by-two-issuers"
    installation = Installation(image=IMAGE, namespace=space)
    issued: Object = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls"}
    issued["metadata"] = {
        "name": Installation(image=IMAGE, certificates="cert-manager").secret_name,
        "namespace": space,
    }
    issued["stringData"] = {"tls.crt": "certificate", "tls.key": "key"}
    to = [str(CHART), "--namespace", space, "--kubeconfig", str(control_plane.kubeconfig), "--set", f"image={IMAGE}"]
    try:
        done = helm(tmp_path, "install", "arm64", *to, "--create-namespace")
        assert done.returncode == 0, done.stderr
        done = helm(tmp_path, "upgrade", "arm64", *to, "--set", "certificates=cert-manager")
        assert done.returncode == 0, done.stderr
        assert kube.get("v1", "Secret", installation.secret_name, space) is None
        assert kube.get("batch/v1", "CronJob", installation.certificates_name, space) is None
        kube.create(issued)
        done = helm(tmp_path, "upgrade", "arm64", *to)
        assert done.returncode == 0, done.stderr
        secret = kube.get("v1", "Secret", installation.secret_name, space)
        assert secret is not None
        assert secret["type"] == "Opaque"
        name = installation.registration_name
        registration = kube.get("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", name)
        assert registration is not None
        assert "cert-manager.io/inject-ca-from" not in registration["metadata"]["annotations"]
    finally:
        helm(tmp_path, "uninstall", "arm64", *to[1:5])
        with applied(kube, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}]):
            pass


def found(kube: Kube, item: Object) -> Object | None:
    meta = item["metadata"]
    return kube.get(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))


def test_controllers_make_pods_that_pod_security_restricted_admits(kube: Kube) -> None:
    """The autoscaler keeps the least replicas without metrics; a privileged pod is refused in the same namespace."""
    installation = Installation(image=IMAGE, replicas=2)
    space = installation.namespace

    def components() -> list[str]:
        return sorted(
            each["metadata"]["labels"]["app.kubernetes.io/component"] for each in kube.list("v1", "Pod", space)
        )

    with applied(kube, objects(installation)):
        wait_for(lambda: components() == ["certificates", "server", "server"], "the pods", timeout=60)
        privileged = pod("privileged")
        privileged["metadata"]["namespace"] = space
        privileged["spec"]["containers"][0]["securityContext"] = {"privileged": True}
        with pytest.raises(KubeError, match="violates PodSecurity"):
            kube.create({"apiVersion": "v1", "kind": "Pod", **privileged})
