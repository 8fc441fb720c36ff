"""The webhook's certificates on a real API server, with the rights of the installation's own roles and no others."""

from __future__ import annotations

import base64
import functools
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from multiarch.kubernetes.access import ClusterAccess
from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.kubernetes.resources import MUTATING_WEBHOOKS, SECRETS
from multiarch.webhook.certificates.inspection import authorities
from multiarch.webhook.certificates.rotation import Rules
from multiarch.webhook.certificates.run import SystemClock, Target, run
from multiarch.webhook.handler import Handler
from multiarch.webhook.install.certificates import arguments
from multiarch.webhook.install.model import Installation
from multiarch.webhook.install.objects import objects
from multiarch.webhook.model import Observers
from sandbox.cluster import certificates
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cli.running import runner
from tests.cluster.objects import ARM64_TOLERATION
from tests.cluster.reading import namespace, token_of, write_kubeconfig
from tests.cluster.webhook_endpoint import BOTH, Endpoint, Named, applied, lead_to

INSTALLATION = Installation(image=BOTH, name="rotating", namespace="webhook-certificates")
TARGET = Target(INSTALLATION.namespace, INSTALLATION.secret_name, INSTALLATION.registration_name, settle=1.0)
RULES = Rules(tuple(INSTALLATION.host_names), overlap=timedelta(seconds=5))
PODS = "webhook-certificates-pods"
TWO_MONTHS = timedelta(days=61)
_REGISTRATION = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", INSTALLATION.registration_name)


class Earlier(SystemClock):
    """A clock of some time ago."""

    def now(self) -> datetime:
        return datetime.now(UTC) - TWO_MONTHS


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Iterator[Kube]:
    """The API server with the installation, of whose Job no pod runs."""
    kube = control_plane.kube
    items = [each for each in objects(INSTALLATION) if each["kind"] not in ("Deployment", "Job", "CronJob")]
    with applied(kube, [namespace(PODS), *items]):
        wait_for(functools.partial(kube.get, "v1", "ServiceAccount", "default", PODS), "its account", timeout=30)
        yield kube


@pytest.fixture(scope="module")
def kubeconfig(kube: Kube, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The access of the Job's pod: a token of its ServiceAccount."""
    token = token_of(kube, INSTALLATION.certificates_name, INSTALLATION.namespace)
    file = write_kubeconfig(tmp_path_factory.mktemp("access") / "kubeconfig", control_plane, {"token": token})
    wait_for(functools.partial(_allowed, file), "the rights to take effect", timeout=30)
    return file


def _allowed(kubeconfig: Path) -> bool:
    with open_cluster(ClusterAccess(kubeconfig)) as cluster:
        try:
            cluster.get(SECRETS, TARGET.namespace, TARGET.secret)
            cluster.get(MUTATING_WEBHOOKS, None, TARGET.configuration)
        except ForbiddenError:
            return False
    return True


def rotate(kubeconfig: Path, clock: SystemClock | None = None) -> list[str]:
    """A run with the Job's rights; what it said."""
    said: list[str] = []
    with open_cluster(ClusterAccess(kubeconfig)) as cluster:
        run(cluster, TARGET, RULES, clock or SystemClock(), said.append)
    return said


def registered(kube: Kube) -> Object:
    found = kube.get(*_REGISTRATION)
    assert found is not None
    return found


def bundles(kube: Kube) -> set[bytes]:
    return {base64.b64decode(row["clientConfig"].get("caBundle", "")) for row in registered(kube)["webhooks"]}


def secret_data(kube: Kube) -> dict[str, bytes]:
    found = kube.get("v1", "Secret", TARGET.secret, TARGET.namespace)
    assert found is not None
    return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}


@dataclass
class Replica(Endpoint):
    """A webhook that serves what the Secret has, and sees a change of it late."""

    kube: Kube | None = None

    def rotate(self) -> None:
        assert self.kube is not None
        data = secret_data(self.kube)
        for name in ("tls.crt", "tls.key"):
            (self.folder / name).write_bytes(data[name])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        self._context = context

    def follow(self, ended: threading.Event, late: float) -> None:
        """Reload a while after each change."""
        assert self.kube is not None
        served = (self.folder / "tls.crt").read_bytes()
        while not ended.wait(0.1):
            if (found := secret_data(self.kube)["tls.crt"]) != served:
                ended.wait(late)
                self.rotate()
                served = found


@contextmanager
def replica(kube: Kube, folder: Path) -> Iterator[Replica]:
    handler = Handler(INSTALLATION.configuration, Named(), Observers())
    found = Replica(certificates.authority(), folder, handler, INSTALLATION.host_names, keep_alive=False, kube=kube)
    found.start()
    ended = threading.Event()
    follower = threading.Thread(target=found.follow, args=[ended, 1.5], daemon=True)
    follower.start()
    try:
        lead_to(kube, INSTALLATION.name, INSTALLATION.namespace, found.port)
        yield found
    finally:
        ended.set()
        follower.join()
        found.stop()


def tolerates(kube: Kube) -> bool:
    """Whether a pod that is created now is given the toleration: the API server trusts the webhook."""
    item = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "pod-", "namespace": PODS},
        "spec": {"containers": [{"name": "main", "image": BOTH}]},
    }
    made = kube.request("POST", kube.path("v1", "Pod", PODS), body=item, query={"dryRun": "All"})
    return ARM64_TOLERATION in made["spec"]["tolerations"]


@contextmanager
def load(kube: Kube) -> Iterator[list[bool]]:
    """Pods, one after another; whether each was given the toleration."""
    seen: list[bool] = []
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            seen.append(tolerates(kube))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield seen
    finally:
        ended.set()
        worker.join()


def test_a_certificate_is_issued_rotated_under_load_and_repaired(kube: Kube, kubeconfig: Path, tmp_path: Path) -> None:
    assert [line.partition(" ")[0] for line in rotate(kubeconfig, Earlier())] == ["Issued", "Added", "Secret", "The"]
    (first,) = bundles(kube)
    old = secret_data(kube)
    assert old["ca.crt"] == first
    with replica(kube, tmp_path) as endpoint:
        wait_for(lambda: tolerates(kube), "the API server to call the webhook", timeout=30)
        with load(kube) as seen:
            time.sleep(0.5)
            said = rotate(kubeconfig)
            assert said[1:3] == [
                f"Added the CA to MutatingWebhookConfiguration {TARGET.configuration}.",
                f"Secret {TARGET.namespace}/{TARGET.secret} has the new certificate.",
            ]
            new = secret_data(kube)
            assert new["tls.crt"] != old["tls.crt"]
            assert new.keys() == {"tls.crt", "tls.key", "ca.crt", "rotated"}
            reloaded = wait_for(
                lambda: (endpoint.folder / "tls.crt").read_bytes() == new["tls.crt"], "the replica", timeout=30
            )
            assert reloaded
            time.sleep(RULES.overlap.total_seconds())
            assert rotate(kubeconfig)[0].startswith("Removed CAs")
            time.sleep(1)
        assert len(seen) > 50
        assert all(seen)
        (bundle,) = bundles(kube)
        assert bundle == new["ca.crt"]
        _empty_and_repair(kube, kubeconfig)


def _empty_and_repair(kube: Kube, kubeconfig: Path) -> None:
    """Somebody replaces the object: pods are admitted without the webhook until the next run."""
    without = registered(kube)
    for row in without["webhooks"]:
        del row["clientConfig"]["caBundle"]
    kube.request("PUT", kube.path(*_REGISTRATION[:2], None, _REGISTRATION[2]), body=without)
    wait_for(lambda: not tolerates(kube), "the API server to trust nothing", timeout=30)
    assert rotate(kubeconfig)[0].startswith("Added the CA")
    wait_for(lambda: tolerates(kube), "the API server to trust the webhook again", timeout=30)


@pytest.mark.parametrize("content_type", ["application/strategic-merge-patch+json", "application/apply-patch+yaml"])
def test_what_kubectl_and_helm_send_keeps_certificate_and_ca(kube: Kube, kubeconfig: Path, content_type: str) -> None:
    rotate(kubeconfig)
    before = secret_data(kube), bundles(kube)
    assert authorities(before[1], datetime.now(UTC))
    for each in objects(INSTALLATION):
        if each["kind"] in ("Secret", "MutatingWebhookConfiguration"):
            metadata = each["metadata"]
            path = kube.path(each["apiVersion"], each["kind"], metadata.get("namespace"), metadata["name"])
            query = {"fieldManager": "helm", "force": "true"} if "apply" in content_type else {}
            kube.request("PATCH", path, body=each, query=query, content_type=content_type)
    assert (secret_data(kube), bundles(kube)) == before


def test_the_job_s_own_command_line_does_it(
    kube: Kube, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kube.patch({"apiVersion": "v1", "kind": "Secret", "metadata": _meta()}, {"data": None})
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setattr("multiarch.webhook.certificates.run.time.sleep", lambda _seconds: None)
    done = runner(capsys)(*arguments(INSTALLATION))
    assert (done.code, done.out) == (0, "")
    assert "Issued a certificate for rotating.webhook-certificates.svc: there is none." in done.err
    (bundle,) = bundles(kube)
    assert secret_data(kube)["ca.crt"] in bundle


def _meta() -> dict[str, str]:
    return {"name": TARGET.secret, "namespace": TARGET.namespace}


@pytest.mark.parametrize(
    ("may", "verb", "group", "resource", "name"),
    [
        (True, "get", "", "secrets", TARGET.secret),
        (True, "patch", "", "secrets", TARGET.secret),
        (True, "get", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", TARGET.configuration),
        (True, "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", TARGET.configuration),
        (False, "get", "", "secrets", "other"),
        (False, "list", "", "secrets", ""),
        (False, "create", "", "secrets", ""),
        (False, "delete", "", "secrets", TARGET.secret),
        (False, "patch", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "other"),
        (False, "create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""),
        (False, "get", "", "pods", ""),
    ],
)
def test_its_rights_end_at_the_two_objects(
    kube: Kube,
    may: bool,  # noqa: FBT001
    verb: str,
    group: str,
    resource: str,
    name: str,
) -> None:
    attributes: dict[str, Any] = {"verb": verb, "group": group, "resource": resource, "name": name}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{TARGET.namespace}:{INSTALLATION.certificates_name}",
            "groups": _groups(),
            "resourceAttributes": attributes | ({} if group else {"namespace": TARGET.namespace}),
        },
    }
    found = kube.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=review)
    assert found["status"]["allowed"] is may


def _groups() -> Sequence[str]:
    return ["system:serviceaccounts", f"system:serviceaccounts:{TARGET.namespace}", "system:authenticated"]
