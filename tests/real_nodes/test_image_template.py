"""GitLab's template of image builds, run by gitlab-ci-local with buildx and with buildah.

What it pushes runs on nodes of both architectures, and credentials are gone however a build ends.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.programs import wait_for
from sandbox.registry import server as mirror
from sandbox.webhook_image.buildah import Buildah
from tests.ci import buildkit, gitlab
from tests.real_nodes import small
from tests.real_nodes.pods import SPACE, namespace, pod, printed, wait_until_running
from tests.registry import server
from tests.registry.server import ACCOUNT, Auth
from tools import build

MACHINES = {Architecture.AMD64: "x86_64", Architecture.ARM64: "aarch64"}
DOCKERFILE = f"""\
FROM docker.io/{small.NAME}:{small.TAG}
RUN uname -m >/built-on
ARG SECONDS=0
RUN /bin/sleep $SECONDS
ENTRYPOINT ["/bin/sh", "-c", "echo built on $(/bin/cat /built-on), runs on $(uname -m); exec /bin/sleep 600"]
"""
CI = """\
include:
  - project: {project}
    ref: {ref}
    file: ci/gitlab/image.yml
    inputs: {{project: {project}, ref: {ref}, repository: {image}, image_tags: "1.0 latest", cache: "{image}-cache",
      builds: [{{PLATFORM: linux/amd64, RUNNER: any}}, {{PLATFORM: linux/arm64, RUNNER: any}}], services: [],
      login: variables, {more}}}
"""
BUILDAH = 'builder: buildah, provenance: "false", sbom: false'
BUILDX = "build_args: SECONDS=0"


@dataclass(frozen=True, slots=True)
class Site:
    """A GitLab, a registry that needs a password, and the variables of BuildKit and buildah."""

    folder: Path
    forge: gitlab.GitLab
    registry: server.Server
    builders: Mapping[str, str]

    @property
    def credentials(self) -> Path:
        """Where jobs write credentials, in a folder each."""
        return self.folder / "credentials"

    def team(self, name: str, more: str) -> Path:
        """A repository that builds ``team/NAME`` with eight lines of YAML."""
        image = f"{self.registry.host}/team/{name}"
        ci = CI.format(project=gitlab.PROJECT, ref=self.forge.ref, image=image, more=more)
        return self.forge.team(ci, {"Dockerfile": DOCKERFILE}, f"team/{name}")

    @property
    def variables(self) -> dict[str, str]:
        """What the project's settings have."""
        return {
            "REGISTRY_USER": ACCOUNT.user,
            "REGISTRY_PASSWORD": ACCOUNT.password,
            **self.builders,
            "MULTIARCH": str(build.TOOLS.parent / ".venv/bin/multiarch"),
            "CREDENTIALS_DIR": f"{self.credentials}/$CI_JOB_ID",
        }

    def crane(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run crane with the account's password."""
        auth = base64.b64encode(f"{ACCOUNT.user}:{ACCOUNT.password}".encode()).decode()
        (self.folder / "config.json").write_text(json.dumps({"auths": {self.registry.host: {"auth": auth}}}))
        return subprocess.run(
            [str(build.ensure("crane")), *words], env={**os.environ, "DOCKER_CONFIG": str(self.folder)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def site(real_nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With the rig, this machine runs arm64 programs."""
    assert not real_nodes.missing
    folder = tmp_path_factory.mktemp("image")
    with ExitStack() as stack:
        served = {small.NAME: small.repository(), buildkit.SCANNER: buildkit.scanner()}
        url = stack.enter_context(mirror.running(served))
        registry = stack.enter_context(server.running(auth=Auth.BASIC, storage=folder / "registry"))
        host = url.partition("://")[2]
        buildah = Buildah(folder, {"docker.io": host, registry.host: registry.host})
        script = folder / "buildah"
        words = shlex.join([f"{name}={value}" for name, value in buildah.environment().items()] + buildah.command())
        # `login` of the script sets both; `buildah manifest inspect` reads docker's alone.
        passed = 'REGISTRY_AUTH_FILE="$REGISTRY_AUTH_FILE" DOCKER_CONFIG="$DOCKER_CONFIG" BUILDAH_ISOLATION=chroot'
        script.write_text(f'#!/bin/sh\nexec env -i {passed} {words} "$@"\n')
        script.chmod(0o755)
        # Where buildah looks unless every command is told.
        (folder / ".config/containers").mkdir(parents=True)
        (folder / "policy.json").rename(folder / ".config/containers/policy.json")
        (folder / "credentials").mkdir()
        daemon = stack.enter_context(buildkit.running(folder / "buildkit", mirror=host, registry=registry.host))
        builders = {"BUILDAH": str(script), **daemon}
        yield Site(folder, gitlab.make(folder / "gitlab", "LICENSE"), registry, builders)


@pytest.fixture(scope="module")
def built(site: Site) -> gitlab.Ran:
    return site.forge.run(site.team("app", BUILDX), **site.variables)


@pytest.fixture(scope="module")
def built_by_buildah(site: Site) -> gitlab.Ran:
    return site.forge.run(site.team("other", BUILDAH), **site.variables)


def test_both_architectures_are_built_and_checked_before_there_is_a_tag(site: Site, built: gitlab.Ran) -> None:
    assert built.code == 0, built.out
    image = f"{site.registry.host}/team/app"
    for tag in ("1.0", "latest"):
        index = json.loads(site.crane("manifest", f"{image}:{tag}").stdout)
        assert index["mediaType"].endswith("image.index.v1+json")
        assert architectures(index) == ["amd64", "unknown", "arm64", "unknown"]
    order = [built.out.index(text) for text in ("linux/arm64: pushed", "for linux/arm64: supported", f"{image}:1.0: ")]
    assert order == sorted(order)


def test_each_image_has_its_provenance_and_its_sbom(site: Site, built: gitlab.Ran) -> None:
    assert built.code == 0, built.out
    image = f"{site.registry.host}/team/app"
    rows = json.loads(site.crane("manifest", f"{image}:1.0").stdout)["manifests"]
    for row in (each for each in rows if each["platform"]["architecture"] == "unknown"):
        assert row["annotations"]["vnd.docker.reference.type"] == "attestation-manifest"
        layers = json.loads(site.crane("manifest", f"{image}@{row['digest']}").stdout)["layers"]
        assert sorted(layer["annotations"]["in-toto.io/predicate-type"] for layer in layers) == [
            "https://slsa.dev/provenance/v0.2",
            "https://spdx.dev/Document",
        ]


def test_buildah_builds_the_same_without_attestations(site: Site, built_by_buildah: gitlab.Ran) -> None:
    assert built_by_buildah.code == 0, built_by_buildah.out
    index = json.loads(site.crane("manifest", f"{site.registry.host}/team/other:latest").stdout)
    assert architectures(index) == ["amd64", "arm64"]


def architectures(index: Mapping[str, Any]) -> list[str]:
    return [row["platform"]["architecture"] for row in index["manifests"]]


@pytest.mark.usefixtures("built")
def test_it_runs_on_nodes_of_both_architectures(ready_nodes: Nodes, site: Site) -> None:
    kube = ready_nodes.plane.kube
    auth = base64.b64encode(f"{ACCOUNT.user}:{ACCOUNT.password}".encode()).decode()
    config = json.dumps({"auths": {site.registry.host: {"auth": auth}}})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "registry", "namespace": SPACE},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config},
    }
    pods = {f"built-{architecture}": architecture for architecture in Architecture}
    with namespace(kube):
        kube.create(secret)
        for name, architecture in pods.items():
            made = pod(name, f"{site.registry.host}/team/app:1.0", architecture)
            made["spec"]["imagePullSecrets"] = [{"name": "registry"}]
            kube.create(made)
        for name, architecture in pods.items():
            machine = MACHINES[architecture]
            wait_until_running(kube, name)
            assert printed(kube, name) == f"built on {machine}, runs on {machine}\n"


def test_the_password_is_in_no_log_and_no_credentials_are_left(site: Site, built: gitlab.Ran) -> None:
    assert built.code == 0, built.out
    assert ACCOUNT.password not in built.out
    assert not list(site.credentials.iterdir())


def test_a_job_that_is_cancelled_leaves_no_credentials(site: Site) -> None:
    process = site.forge.start(site.team("slow", "build_args: SECONDS=300"), **site.variables)
    try:
        wait_for(lambda: any(site.credentials.glob("*/config.json")), "the login", timeout=60)
        time.sleep(1)  # while buildah builds
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        wait_for(lambda: not list(site.credentials.iterdir()), "the credentials to go", timeout=20)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
