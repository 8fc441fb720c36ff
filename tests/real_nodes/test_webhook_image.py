"""The webhook's image, built by buildah from the Containerfile: what it has, for each architecture."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import multiarch
from multiarch.facts.architectures import Architecture
from sandbox.webhook_image import image
from sandbox.webhook_image.buildah import Buildah, ImageBuildError
from tests.cli.running import runner, type_of_run
from tests.registry import server
from tools import build

NAME = "multiarch-webhook"


@pytest.fixture(scope="module")
def layout() -> Path:
    return image.ensure(print)


@pytest.fixture(scope="module")
def pushed(layout: Path) -> Iterator[str]:
    """The image in a real registry, pushed as a user would."""
    with server.running() as registry:
        reference = f"{registry.host}/{NAME}:{image.TAG}"
        command = [build.ensure("crane"), "push", "--insecure", layout, reference]
        subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
        yield reference


def content(layout: Path, digest: str) -> dict[str, Any]:
    return dict(json.loads((layout / "blobs" / digest.replace(":", "/")).read_text()))


def manifests(layout: Path) -> Mapping[str, Any]:
    (top,) = json.loads((layout / "index.json").read_text())["manifests"]
    rows = content(layout, top["digest"])["manifests"]
    return {row["platform"]["architecture"]: content(layout, row["digest"]) for row in rows}


def names(layout: Path, layer: Mapping[str, Any]) -> list[str]:
    with tarfile.open(layout / "blobs" / layer["digest"].replace(":", "/")) as archive:
        return archive.getnames()


@pytest.mark.parametrize("architecture", Architecture)
def test_every_file_is_what_its_platform_declares(
    pushed: str, architecture: Architecture, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    run: type_of_run = runner(capsys)
    where = ("--insecure-registry", pushed.partition("/")[0])
    ran = run("image", "verify", "--deep", pushed, "--platform", f"linux/{architecture}", *where)
    assert ran.code == 0, ran.out + ran.err
    assert f"is {architecture}, via /opt/multiarch/program/bin/multiarch, /usr/bin/env" in ran.out
    assert int(re.search(r"(\d+) visible ELF files, 0 hidden", ran.out)[1]) > 200  # type: ignore[index]


@pytest.mark.parametrize("architecture", Architecture)
def test_it_runs_as_a_numeric_user_and_says_what_it_is(layout: Path, architecture: Architecture) -> None:
    manifest = manifests(layout)[architecture]
    made = content(layout, manifest["config"]["digest"])
    assert made["architecture"] == str(architecture)
    config = made["config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("65532:65532", ["multiarch"], ["webhook", "serve"])
    assert config["Labels"]["org.opencontainers.image.version"] == multiarch.__version__
    assert set(config["ExposedPorts"]) == {"8080/tcp", "8443/tcp"}


@pytest.mark.parametrize("architecture", Architecture)
def test_it_has_what_the_webhook_needs_and_is_small(layout: Path, architecture: Architecture) -> None:
    """Docker Hub's base adds 48 MB; the stand-in's layer is the first."""
    _, *own = manifests(layout)[architecture]["layers"]
    assert sum(layer["size"] for layer in own) < 35_000_000
    files = {name for layer in own for name in names(layout, layer)}
    packages = {found[1] for name in files if (found := re.match(r"opt/multiarch/packages/([^/]+)", name))}
    assert {"aiohttp", "boto3", "cryptography", "msgspec", "pydantic", "uvloop"} <= packages
    assert not [name for name in packages if name.startswith("pulumi")]
    assert "opt/multiarch/program/multiarch/webhook/__pycache__/model.cpython-311.pyc" in files
    assert not [name for name in files if re.search(r"/tests?/|/botocore/data/ec2/", name)]
    assert not [name for name in files if name.startswith(("etc/pip.conf", "run/secrets/"))], "the build's secrets"


def test_an_image_without_its_lock_file_says_what_buildah_said(tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "Containerfile").write_text("FROM scratch\nCOPY requirements-webhook.lock /\n")
    buildah = Buildah(tmp_path, {})
    with pytest.raises(ImageBuildError, match=r"(?s)buildah build ended with exit code .*requirements-webhook\.lock"):
        buildah.run("build", *buildah.policy(), "--isolation", "chroot", tmp_path / "context")
    assert (tmp_path / "networks").is_dir(), "in place of /etc/cni/net.d, which would be left"
