"""The Containerfile, without building the image: what it pins, copies and keeps."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import multiarch
from sandbox.webhook_image import base
from tests.quotations import ROOT
from tools import image_packages

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()


def instructions(name: str) -> list[str]:
    lines = re.sub(r"\\\n", "", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{name} ")]


def test_what_it_is_built_from_is_pinned_by_digest_and_has_the_minor_version_of_the_tests() -> None:
    pinned = [value.partition("=")[2] for value in instructions("ARG") if "@" in value]
    images = [f"{base.NAME}:{base.TAG}", f"{base.GIT_NAME}:{base.GIT_TAG}"]
    for reference, image in zip(pinned, images, strict=True):
        assert re.fullmatch(rf"docker\.io/{re.escape(image)}@sha256:[0-9a-f]{{64}}", reference)
    assert base.TAG.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}-")
    assert base.TAG.endswith("bookworm"), "Git's program is used with the base's libraries"
    assert [line.split()[1] for line in instructions("FROM")] == ["${GIT}", "${BASE}", "${BASE}"]


def test_programs_run_only_on_the_builders_architecture() -> None:
    git, packages, final = TEXT.split("\nFROM ")[1:]
    assert packages.startswith("--platform=$BUILDPLATFORM ")
    assert "\nRUN " not in git + final


def test_the_version_is_the_packages() -> None:
    assert f"VERSION={multiarch.__version__}" in instructions("ARG")


def test_it_runs_the_command_line_as_a_numeric_user() -> None:
    assert instructions("USER") == ["65532:65532"]
    assert instructions("ENTRYPOINT") == ['["multiarch"]']
    assert instructions("CMD") == ['["--help"]']


OPENED_BY = {"client", "_client", "clients", "open_client", "_pages"}
"""What gives a client, or calls one, by the name of its service."""
CREDENTIALS = {"ecr", "ecr-public", "sso", "sso-oidc", "sts"}
"""Those of Amazon ECR are opened by a computed name, those of IAM Identity Center by botocore."""


def test_the_services_that_commands_query_are_kept_and_no_others() -> None:
    texts = (file.read_text(encoding="utf-8") for file in (ROOT / "multiarch").rglob("*.py"))
    opening = (text for text in texts if any(f"{name}(" in text for name in OPENED_BY))
    nodes = (node for text in opening for node in ast.walk(ast.parse(text)))
    calls = (node for node in nodes if isinstance(node, ast.Call) and node.args)
    opened = {
        call.args[0].value
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in OPENED_BY and isinstance(call.args[0], ast.Constant)
    }
    assert opened | CREDENTIALS == set(image_packages.SERVICES)


def test_the_builder_gets_what_is_copied_and_nothing_else() -> None:
    copied = {
        word for line in instructions("COPY") if not line.startswith("--from=") for word in line.split()[:-1]
    }  # fmt: skip
    assert {line.removeprefix("!") for line in IGNORED if line.startswith("!")} == copied
    assert [line for line in IGNORED if not line.startswith(("!", "#"))] == ["*", "**/__pycache__"]
    assert all((ROOT / name).exists() for name in copied)


def test_wheels_are_chosen_for_the_target_whatever_the_builder_is() -> None:
    tags = image_packages.platforms("arm64")
    assert set(tags[::2]) == {"--platform"}
    assert {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "manylinux_2_28_aarch64"} <= set(tags[1::2])
    assert not [tag for tag in tags if "x86_64" in tag]
    assert image_packages.platforms("amd64")[1] == "manylinux_2_36_x86_64"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in (
        "bin/typer",
        "aiohttp/test_utils.py",
        "aiohttp/_websocket/mask.pyx",
        "cffi/_cffi_include.h",
        "some/tests/test_it.py",
        "boto3/data/s3/resources.json",
        "boto3/session.py",
        *(f"botocore/data/{service}/2016-11-15/service-2.json.gz" for service in image_packages.SERVICES),
        "botocore/data/ec2/2014-09-01/service-2.json.gz",
        "botocore/data/s3/2006-03-01/service-2.json.gz",
        "botocore/data/endpoints.json",
        "botocore/cacert.pem",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_what_the_program_does_not_use_is_omitted(packages: Path) -> None:
    gone = {path.relative_to(packages).as_posix() for path in image_packages.unused(packages)}
    assert gone >= {"bin", "aiohttp/_websocket/mask.pyx", "some/tests", "boto3/data"}
    assert {name for name in gone if name.startswith("botocore")} == {
        "botocore/data/ec2/2014-09-01",
        "botocore/data/s3",
    }
    assert not gone & {"aiohttp/test_utils.py", "boto3/session.py"}


def test_dpkg_s_record_of_one_package_is_kept(tmp_path: Path) -> None:
    (tmp_path / "status").write_text("Package: git-man\nVersion: 1\n\nPackage: git\nVersion: 1:2.39\n\n")
    image_packages.record("git", tmp_path / "status", tmp_path / "status.d")
    assert (tmp_path / "status.d" / "git").read_text() == "Package: git\nVersion: 1:2.39\n"


def test_everything_is_compiled_and_has_one_time(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    image_packages.write_script(packages)
    image_packages.compile_all(packages)
    script = packages / "bin" / "multiarch"
    assert script.read_text().startswith("#!/usr/bin/env python3\n")
    assert script.stat().st_mode & 0o111
    assert list((packages / "boto3" / "__pycache__").iterdir())
    assert {path.stat().st_mtime for path in packages.rglob("*")} == {1700000000}
