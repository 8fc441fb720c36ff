"""The webhook's server reads pull secrets from a real API server with the installation's own rights, and no others."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.kubernetes.source import ClusterAccess
from multiarch.observed.pull_secrets import read_secrets
from multiarch.registry.credentials.model import Credential
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.registry.reference import parse_reference
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from tests.cluster.reading import namespace, token_of, write_kubeconfig
from tests.cluster.temporary import applied
from tests.cluster.webhook_endpoint import chart_objects

TEAM = "webhook-secrets-team"
NAME = "webhook-secrets"
SETTINGS = {"registries": {"pullSecrets": [f"{TEAM}/{name}" for name in ("current", "legacy", "broken", "missing")]}}
AUTH = base64.b64encode(b"puller:pass:word").decode()


def secret(name: str, key: str, content: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": TEAM},
        "type": f"kubernetes.io/{key.removeprefix('.')}",
        "stringData": {key: content},
    }


SECRETS = (
    secret("current", ".dockerconfigjson", json.dumps({"auths": {"one.example.com": {"auth": AUTH}}})),
    secret("legacy", ".dockercfg", json.dumps({"two.example.com": {"auth": AUTH}})),
    secret("broken", ".dockercfg", json.dumps({"three.example.com": {"auth": "%%%"}})),
    secret("other", ".dockercfg", "{}"),
)


@pytest.fixture(scope="module")
def kubeconfig(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The access of the server's pod."""
    kube = control_plane.kube
    rights = [
        each
        for each in chart_objects(SETTINGS, name=NAME)
        if each["kind"] in ("Namespace", "ServiceAccount", "Role", "RoleBinding")
    ]
    with applied(kube, [namespace(TEAM), *rights, *SECRETS]):
        token = token_of(kube, NAME, NAME)
        file = write_kubeconfig(tmp_path_factory.mktemp("access") / "kubeconfig", control_plane, {"token": token})
        wait_for(functools.partial(_allowed, file), "the rights to take effect", timeout=30)
        yield file


def _allowed(kubeconfig: Path) -> bool:
    with open_cluster(ClusterAccess(kubeconfig)) as cluster:
        try:
            cluster.secret(TEAM, "missing")
        except ForbiddenError:
            return False
    return True


def read(kubeconfig: Path, *names: str) -> PodCredentials:
    with open_cluster(ClusterAccess(kubeconfig)) as cluster:
        return read_secrets(cluster, [(TEAM, name) for name in names], note_missing=True)


def credential_of(found: PodCredentials, host: str) -> Credential:
    assert found.credentials is not None
    (credential,) = asyncio.run(found.credentials.for_repository(parse_reference(f"{host}/team/app")))
    return credential


def test_the_named_secrets_are_read_in_both_formats(kubeconfig: Path) -> None:
    found = read(kubeconfig, "current", "broken", "legacy", "missing")
    for host in ("one.example.com", "two.example.com"):
        credential = credential_of(found, host)
        assert (credential.username, credential.password) == ("puller", "pass:word")
    broken, missing = found.notes
    assert broken.startswith(
        f"Secret {TEAM}/broken: auths.three.example.com: auth must be the base64 of USER:PASSWORD."
    )
    assert missing == f"Secret {TEAM}/missing does not exist."


def test_another_secret_is_rejected_and_the_reason_says_by_whom(kubeconfig: Path) -> None:
    found = read(kubeconfig, "other", "current")
    user = f"system:serviceaccount:{NAME}:{NAME}"
    (note,) = found.notes
    assert note.startswith(f"{user} may not get secrets other in namespace {TEAM}.")
    assert credential_of(found, "one.example.com").username == "puller"
