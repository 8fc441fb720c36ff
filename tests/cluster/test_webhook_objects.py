"""A real API server accepts the chart's objects, Helm keeps the certificate, and controllers make pods of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from multiarch.facts.admission import INSTALLATION_NAME as NAME
from sandbox.cluster import helm
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster import karpenter
from tests.cluster.objects import stand_in_definition
from tests.cluster.reading import may, namespace
from tests.cluster.temporary import applied, find, remove
from tests.cluster.webhook_endpoint import chart_objects

IMAGE = "registry.example.com/multiarch:1"
REGISTRATION = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", f"zz-{NAME}")
SECRET = f"{NAME}-certificate"


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Kube:
    return control_plane.kube


@pytest.fixture(scope="module")
def custom_resources(kube: Kube) -> Iterator[None]:
    """Stand-ins for definitions of cert-manager and the Prometheus operator."""
    kinds = [("cert-manager.io/v1", "Issuer"), ("cert-manager.io/v1", "Certificate")]
    definitions = [stand_in_definition(*each) for each in (*kinds, ("monitoring.coreos.com/v1", "ServiceMonitor"))]
    with applied(kube, definitions):
        karpenter.wait_for_definitions(kube, definitions)
        yield


EVERYTHING: dict[str, Any] = {
    "name": "everything",
    "imagePullSecrets": [{"name": "registry"}],
    "imagePullPolicy": "Always",
    "commonLabels": {"team": "platform"},
    "podLabels": {"tier": "admission"},
    "podAnnotations": {"linkerd.io/inject": "disabled"},
    "extraEnv": [{"name": "NO_PROXY", "value": "10.0.0.0/8"}],
    "revisionHistoryLimit": 2,
    "hostNetwork": True,
    "securePort": 10260,
    "affinity": {"podAntiAffinity": {}},
    "resources": {"requests": {"cpu": "1", "memory": "400Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
    "replicas": 3,
    "maxReplicas": 3,
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/webhook"},
    "certificates": "cert-manager",
    "excludedNamespaces": ["monitoring"],
    "networkPolicy": {
        "ingressFrom": [{"ipBlock": {"cidr": "10.0.0.0/16"}}],
        "extraEgress": [{"ports": [{"protocol": "TCP", "port": 9000}]}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/multiarch/authorities", "readOnly": True}],
    "configuration": {
        "mode": "prefer",
        "taints": ["arch=arm64:NoSchedule", "graviton:NoExecute"],
        "registries": {"pullSecrets": ["default/registry"], "plainHttp": ["registry.local:5000"]},
    },
}


@pytest.mark.usefixtures("custom_resources")
@pytest.mark.parametrize("values", [{"maxReplicas": 2}, EVERYTHING], ids=["fixed-replicas", "everything"])
def test_every_object_is_accepted_and_applying_it_again_changes_nothing(kube: Kube, values: Object) -> None:
    items = chart_objects(values.get("configuration", {}), **{k: v for k, v in values.items() if k != "configuration"})
    with applied(kube, items):
        settled = [version_of(kube, each) for each in items]
        for each in items:
            kube.apply(each)
        assert [version_of(kube, each) for each in items] == settled


def version_of(kube: Kube, item: Object) -> tuple[str, int]:
    """An object's generation, or its version where it has none: status does not count."""
    found = find(kube, item)
    assert found is not None, item
    return found["metadata"]["name"], found["metadata"].get("generation") or found["metadata"]["resourceVersion"]


REQUESTS: dict[str, Object] = {
    "named secret": {"verb": "get", "resource": "secrets", "name": "registry", "namespace": "default"},
    "other secret": {"verb": "get", "resource": "secrets", "name": "other", "namespace": "default"},
    "secrets": {"verb": "list", "resource": "secrets", "namespace": "default"},
    "own secret": {"verb": "get", "resource": "secrets", "name": SECRET, "namespace": NAME},
    "event": {"verb": "create", "group": "events.k8s.io", "resource": "events", "namespace": "default"},
    "pod": {"verb": "get", "resource": "pods", "name": "x", "namespace": "default"},
    "namespace": {"verb": "get", "resource": "namespaces", "name": "default"},
    "registration": {
        "verb": "patch",
        "group": "admissionregistration.k8s.io",
        "resource": "mutatingwebhookconfigurations",
        "name": f"zz-{NAME}",
    },
}


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, []),
        ({"registries": {"pullSecrets": ["default/registry"]}}, ["named secret"]),
    ],
)
def test_what_the_service_account_may_do(kube: Kube, settings: Object, allowed: list[str]) -> None:
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Namespace", "ServiceAccount")

    def granted() -> list[str]:
        return [name for name, request in REQUESTS.items() if may(kube, NAME, NAME, request)]

    with applied(kube, [each for each in chart_objects(settings) if each["kind"] in kinds]):
        # The authorizer learns of roles a moment later.
        wait_for(lambda: granted() == allowed, f"the rights {allowed}", timeout=10)


@pytest.fixture
def helm_runs(control_plane: ControlPlane) -> Iterator[HelmRuns]:
    runs = HelmRuns(control_plane)
    try:
        yield runs
    finally:
        helm.run_helm("uninstall", *runs.where, "--ignore-not-found")
        remove(control_plane.kube, [namespace(NAME)])


class HelmRuns:
    """Runs of Helm with one release, and what is in the cluster after them."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.kube = control_plane.kube
        self.where = ["arm64", "--namespace", NAME, "--kubeconfig", str(control_plane.kubeconfig)]

    def change(self, command: str, *options: str, **values: Any) -> str:
        given = {"image": IMAGE, **values}
        done = helm.run_helm(command, *self.where[:1], str(helm.WEBHOOK), *self.where[1:], *options, values=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def certificate(self) -> dict[str, str]:
        secret = self.kube.get("v1", "Secret", SECRET, NAME)
        assert secret is not None
        data: dict[str, str] = secret["data"]
        assert self.bundles() == {data["ca.crt"]}
        return data

    def registration(self) -> Object:
        found = self.kube.get(*REGISTRATION)
        assert found is not None
        return found

    def bundles(self) -> set[str]:
        return {each["clientConfig"].get("caBundle", "") for each in self.registration()["webhooks"]}


def test_helm_installs_upgrades_and_uninstalls_the_chart(helm_runs: HelmRuns) -> None:
    """An upgrade keeps the certificate; one that somebody deleted is issued again; nothing is left afterwards."""
    said = helm_runs.change("install", "--create-namespace")
    assert "kubectl label namespace NAMESPACE multiarch-eks/webhook=observe" in said
    first = helm_runs.certificate()
    helm_runs.change("upgrade", configuration={"annotate": True})
    assert helm_runs.certificate() == first
    assert {each["sideEffects"] for each in helm_runs.registration()["webhooks"]} == {"None"}
    helm_runs.kube.delete({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAME}})
    helm_runs.change("upgrade")
    assert helm_runs.certificate()["tls.crt"] != first["tls.crt"]
    done = helm.run_helm("uninstall", *helm_runs.where)
    assert done.returncode == 0, done.stderr
    items = chart_objects({})[1:]
    assert not [each["kind"] for each in items if find(helm_runs.kube, each)]


@pytest.mark.usefixtures("custom_resources")
def test_helm_changes_who_issues_the_certificate_and_back(helm_runs: HelmRuns) -> None:
    """cert-manager's Secret belongs to no release; Helm's is gone while it is not used."""
    kube = helm_runs.kube
    helm_runs.change("install", "--create-namespace")
    first = helm_runs.certificate()
    helm_runs.change("upgrade", certificates="cert-manager")
    assert kube.get("v1", "Secret", SECRET, NAME) is None
    annotations = helm_runs.registration()["metadata"]["annotations"]
    assert annotations["cert-manager.io/inject-ca-from"] == f"{NAME}/{NAME}"
    kube.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": f"{NAME}-cert-manager", "namespace": NAME},
            "stringData": {"tls.crt": "certificate", "tls.key": "key"},
        }
    )
    helm_runs.change("upgrade")
    assert helm_runs.certificate()["tls.crt"] != first["tls.crt"]
    assert "cert-manager.io/inject-ca-from" not in helm_runs.registration()["metadata"]["annotations"]
