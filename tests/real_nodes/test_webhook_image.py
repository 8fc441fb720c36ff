"""The image, built by buildah from the Containerfile: what it has for each architecture, and commands run in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import multiarch
from multiarch.facts.architectures import Architecture
from sandbox.cluster.machine import native_architecture
from sandbox.webhook_image import image
from tests.cli.running import runner, type_of_run
from tests.quotations import ROOT
from tests.registry import server
from tools import build, image_packages

NAME = "multiarch"
# With a mount namespace of its own: the root is read-only, as with `--read-only`, and nothing stays mounted.
CONTAINER = """\
mount --bind "$1" "$1" && mount --bind "$2" "$1/work" && mount --rbind /dev "$1/dev" && mount -o remount,bind,ro "$1" &&
root=$1 user=$3 && shift 3 && exec chroot --userspec="$user" --groups= "$root" "$@"
"""


@pytest.fixture(scope="module")
def layout() -> Path:
    return image.ensure(print)


@pytest.fixture(scope="module")
def pushed(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The image in a real registry, pushed as a user would; in memory, large layers cost it seconds."""
    with server.running(storage=tmp_path_factory.mktemp("registry")) as registry:
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
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("65532:65532", ["multiarch"], ["--help"])
    assert config["Labels"]["org.opencontainers.image.version"] == multiarch.__version__
    assert set(config["ExposedPorts"]) == {"8080/tcp", "8443/tcp"}
    assert config["WorkingDir"] == "/work"


@pytest.mark.parametrize("architecture", Architecture)
def test_it_has_what_commands_and_the_webhook_need_and_is_small(layout: Path, architecture: Architecture) -> None:
    """Docker Hub's base adds 48 MB; the stand-in's layer is the first."""
    _, *own = manifests(layout)[architecture]["layers"]
    assert sum(layer["size"] for layer in own) < 42_000_000
    files = {name for layer in own for name in names(layout, layer)}
    packages = {found[1] for name in files if (found := re.match(r"opt/multiarch/packages/([^/]+)", name))}
    assert {
        "aiohttp",
        "boto3",
        "cryptography",
        "github",
        "gitlab",
        "jinja2",
        "msgspec",
        "pydantic",
        "uvloop",
    } <= packages
    assert not [name for name in packages if name.startswith("pulumi")]
    assert "opt/multiarch/program/multiarch/webhook/__pycache__/model.cpython-311.pyc" in files
    assert not [name for name in files if re.search(r"/tests?/|/botocore/data/(s3|ec2/2014)", name)]
    assert {"usr/bin/git", "var/lib/dpkg/status.d/git"} <= files
    assert not [name for name in files if name.startswith(("etc/pip.conf", "run/secrets/"))], "the build's secrets"


@dataclass(frozen=True, slots=True)
class Container:
    """The image's files for this machine's architecture, its settings, and a folder in place of `/work`."""

    root: Path
    settings: Mapping[str, Any]
    work: Path

    def run(self, *words: str, user: str = "") -> str:
        """Return what a program prints, on both streams, with its exit code if it fails; ``user`` is as in `--user`."""
        inside = ["env", "-i", f"--chdir={self.settings['WorkingDir']}", *self.settings["Env"], *words]
        outside = [str(self.root), str(self.work), user or self.settings["User"]]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", CONTAINER, "sh", *outside, *inside],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return f"{done.stdout}exit code {done.returncode}" if done.returncode else done.stdout


@pytest.fixture(scope="module")
def container(layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    folder = tmp_path_factory.mktemp("container")
    root, work = folder / "root", folder / "work"
    manifest = manifests(layout)[native_architecture()]
    root.mkdir()
    for layer in manifest["layers"]:
        archive = layout / "blobs" / layer["digest"].replace(":", "/")
        subprocess.run(["tar", "--extract", "--gzip", "--file", archive, "--directory", root], check=True)
    (root / "work").mkdir(exist_ok=True)  # buildah leaves that to the runtime where it keeps steps
    shutil.copytree(ROOT / "config", work / "config")
    shutil.copy(ROOT / "Pulumi.yaml", work)
    for words in ("init -q -b main", "add .", "-c user.name=t -c user.email=t@example.com commit -qm first"):
        subprocess.run(["git", *words.split()], cwd=work, check=True, capture_output=True)
    stack = work / "config/stacks/Pulumi.legacy-al2.yaml"
    stack.write_text(stack.read_text().replace("multiarch-eks:owner: ", "multiarch-eks:owner: another-"))
    yield Container(root, content(layout, manifest["config"]["digest"])["config"], work)
    shutil.rmtree(folder)


def test_commands_read_the_mounted_folder_as_any_user(container: Container) -> None:
    checked = container.run("multiarch", "stack", "check", user="4711:4711")
    assert "ok config/stacks/Pulumi.payments-prod.yaml" in checked
    assert re.search(r"^\d+ stacks: 0 errors", checked, re.MULTILINE)
    # The clone is another user's.
    affected = container.run("multiarch", "stack", "affected", "--since", "main")
    assert "legacy-al2" in affected
    assert "payments-prod" not in affected
    review = container.run("multiarch", "review", "--since", "main")
    assert "error: A temporary folder can't be made: No usable temporary directory found" in review


def test_commands_read_registries(container: Container, pushed: str) -> None:
    inspected = container.run("multiarch", "image", "inspect", pushed)
    assert re.search(r"arm64 +supported +index has linux/arm64", inspected), inspected


def test_clients_of_all_services_open(container: Container) -> None:
    """Each has its description, its rules for endpoints and the newest version of its API."""
    program = f"""\
from multiarch.aws_errors import open_clients
clients = open_clients("eu-west-1")
print(*(clients(each).meta.endpoint_url.partition(".")[2] for each in {image_packages.SERVICES}))
"""
    opened = container.run("python3", "-c", program).split()
    assert len(opened) == len(image_packages.SERVICES), opened
    assert all(each.endswith("amazonaws.com") for each in opened)


def test_a_kubeconfig_of_the_aws_cli_gets_its_token(container: Container) -> None:
    """As `aws eks update-kubeconfig` writes it, in `~/.kube/config`."""
    words = "--region eu-west-1 eks get-token --cluster-name shop-prod --output json"
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": words.split()}}
    config = {
        "clusters": [{"name": "shop", "cluster": {"server": "https://example.eks.amazonaws.com"}}],
        "users": [{"name": "shop", "user": user}],
        "contexts": [{"name": "shop", "context": {"cluster": "shop", "user": "shop"}}],
        "current-context": "shop",
    }
    (container.root / ".kube").mkdir()
    (container.root / ".kube/config").write_text(json.dumps(config))
    program = """\
from multiarch.kubernetes.kubeconfig import ClusterAccess, read_connection
print(read_connection(ClusterAccess()).authorization)
"""
    keys = ("AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret")
    assert container.run("env", *keys, "python3", "-c", program).startswith("Bearer k8s-aws-v1.")
