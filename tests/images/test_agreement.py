"""Other clients see the same in the same registry: crane and regctl, on every shape that is well-formed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Verdict
from tests.images.asking import inspected, judged
from tests.images.shapes import EMPTY, OCI_CONFIG, UNKNOWN, Repository, described, platform
from tools import build

PLATFORMS = ("linux/amd64", "linux/arm64")


def _attested(repository: Repository) -> None:
    mark = repository.artifact(OCI_CONFIG, "application/vnd.in-toto+json")
    notes = {"vnd.docker.reference.type": "attestation-manifest"}
    entries = [repository.entry("linux/amd64"), described(mark, platform=UNKNOWN, annotations=notes)]
    repository.index(entries, annotations={"org.opencontainers.image.version": "1.0"})


def _windows(repository: Repository) -> None:
    made = repository.image("windows/amd64")
    version = platform("windows/amd64", **{"os.version": "10.0.20348.1"})
    repository.index([described(made, platform=version), repository.entry("linux/arm64/v8")])


def _nested(repository: Repository) -> None:
    inner = repository.index([repository.entry("linux/arm64")], tag=None)
    repository.index([repository.entry("linux/amd64"), described(inner, platform=platform("linux/arm64"))])


SHAPES: dict[str, Callable[[Repository], object]] = {
    "OCI index": lambda r: r.index([r.entry(each) for each in PLATFORMS]),
    "Docker list": lambda r: r.index([r.entry(each, docker=True) for each in PLATFORMS], docker=True),
    "arm64 with a variant": lambda r: r.index([r.entry("linux/amd64"), r.entry("linux/arm64/v8")]),
    "32-bit arm": lambda r: r.index([r.entry("linux/amd64"), r.entry("linux/arm/v7"), r.entry("linux/arm/v6")]),
    "attestations": _attested,
    "Windows": _windows,
    "nested index": _nested,
    "single manifest": lambda r: r.image("linux/arm64", tag="latest"),
    "single Docker manifest": lambda r: r.image("linux/amd64", tag="latest", docker=True),
    "chart": lambda r: r.artifact("application/vnd.cncf.helm.config.v1+json", "text/plain", tag="latest"),
    "artifact": lambda r: r.artifact(EMPTY, "text/plain", tag="latest", artifactType="text/plain"),
}


def said(tool: str, *arguments: str) -> tuple[int, bytes]:
    """What another client says, with a configuration of its own."""
    done = subprocess.run(
        [build.ensure(tool), *arguments],
        capture_output=True,
        check=False,
        env={"HOME": "/nonexistent", "DOCKER_CONFIG": "/nonexistent", "REGCTL_CONFIG": "/nonexistent/config.json"},
    )
    return done.returncode, done.stdout


def crane(*arguments: str) -> tuple[int, bytes]:
    return said("crane", *arguments)


def regctl(repository: Repository, *arguments: str) -> tuple[int, bytes]:
    return said("regctl", "--host", f"reg={repository.server.host},tls=disabled", *arguments)


@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_digest_and_members_are_those_that_other_clients_see(repository: Repository, shape: str) -> None:
    SHAPES[shape](repository)
    name = f"{repository.server.host}/{repository.name}:latest"
    got = inspected(repository)
    assert crane("digest", name) == (0, f"{got.digest}\n".encode())
    assert regctl(repository, "image", "digest", name) == (0, f"{got.digest}\n".encode())
    code, raw = crane("manifest", name)
    assert (code, len(raw)) == (0, got.size)
    assert regctl(repository, "manifest", "get", "--format", "raw-body", name) == (0, raw)
    content = json.loads(raw)
    if "manifests" in content:
        assert [entry.digest for entry in got.entries] == [row["digest"] for row in content["manifests"]]
        assert [entry.size for entry in got.entries] == [row["size"] for row in content["manifests"]]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in {"chart", "artifact"}])
@pytest.mark.parametrize("architecture", Architecture)
def test_the_manifest_that_a_platform_gets_is_the_one_that_other_clients_choose(
    repository: Repository, shape: str, architecture: Architecture
) -> None:
    SHAPES[shape](repository)
    name = f"{repository.server.host}/{repository.name}:latest"
    verdict = judged(repository)[architecture]
    wanted = f"linux/{architecture}"
    code, digest = regctl(repository, "image", "digest", "--platform", wanted, name)
    # Like the kubelet, regctl takes a single manifest for whatever is asked for, and has 386 and arm as ways out.
    if verdict.verdict is Verdict.SUPPORTED:
        assert (code, digest.decode().strip()) == (0, verdict.digest)
    elif not shape.startswith("single") and shape != "32-bit arm":
        assert code != 0
    code, config = crane("config", "--platform", wanted, name)
    if verdict.verdict is Verdict.SUPPORTED and shape != "nested index":
        assert code == 0
        assert json.loads(config)["architecture"] == architecture.value
