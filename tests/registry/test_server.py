"""The registry that the other tests use, in each of its ways, checked with crane and regctl."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from sandbox.cluster.programs import ClusterError
from tests.registry import server
from tests.registry.server import ACCOUNT, Auth
from tools import build

pytestmark = pytest.mark.registry

EMPTY = b"{}"


def push(registry: server.Server, repository: str) -> str:
    """Push the smallest image, and return its digest."""
    config = registry.push_blob(repository, EMPTY)
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config.digest, "size": 2},
        "layers": [],
    }
    return registry.push_manifest(repository, "1.0", manifest, OCI_MANIFEST).digest


def run(home: Path, *command: str | Path, **environ: str) -> str:
    variables: Mapping[str, str] = {
        "HOME": str(home),
        "DOCKER_CONFIG": str(home),
        "PATH": os.environ["PATH"],
        **environ,
    }
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("auth", [Auth.NONE, Auth.BASIC])
def test_crane_reads_the_registry(tmp_path: Path, auth: Auth, *, tls: bool) -> None:
    with server.running(auth=auth, tls=tls) as registry:
        digest = push(registry, "team/image")
        crane = build.ensure("crane")
        environ = {"SSL_CERT_FILE": str(registry.ca)} if registry.ca else {}
        if auth is not Auth.NONE:
            login = (registry.host, "-u", ACCOUNT.user, "-p", ACCOUNT.password)
            run(tmp_path, crane, "auth", "login", *login, **environ)
        assert run(tmp_path, crane, "digest", f"{registry.host}/team/image:1.0", **environ) == digest


# crane refuses a token server on a loopback address.
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("auth", list(Auth))
def test_regctl_reads_the_registry_in_each_of_its_ways(tmp_path: Path, auth: Auth, *, tls: bool) -> None:
    with server.running(auth=auth, tls=tls) as registry:
        digest = push(registry, "team/image")
        regctl = build.ensure("regctl")
        trust = ("--cacert", registry.ca.read_text()) if registry.ca else ("--tls", "disabled")
        run(tmp_path, regctl, "registry", "set", "--skip-check", *trust, registry.host)
        if auth is not Auth.NONE:
            login = ("-u", ACCOUNT.user, "-p", ACCOUNT.password, registry.host)
            run(tmp_path, regctl, "registry", "login", *login)
        assert run(tmp_path, regctl, "manifest", "head", f"{registry.host}/team/image:1.0") == digest


def test_only_a_lenient_registry_takes_an_index_whose_members_are_missing() -> None:
    missing = {"mediaType": OCI_MANIFEST, "digest": server.digest_of(b"nobody has this"), "size": 15}
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [missing]}
    with server.running() as strict, pytest.raises(ClusterError, match="MANIFEST_BLOB_UNKNOWN"):
        strict.push_manifest("team/index", "1.0", index, OCI_INDEX)
    with server.running(lenient=True) as lenient:
        assert lenient.push_manifest("team/index", "1.0", index, OCI_INDEX).size == len(json.dumps(index))
