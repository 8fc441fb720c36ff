"""The Containerfile of the webhook's image, without building it: what it pins, copies and keeps."""

from __future__ import annotations

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


def test_the_base_is_pinned_by_digest_and_has_the_minor_version_of_the_tests() -> None:
    (pinned,) = (value.removeprefix("BASE=") for value in instructions("ARG") if value.startswith("BASE="))
    assert re.fullmatch(rf"docker\.io/{base.NAME}:{re.escape(base.TAG)}@sha256:[0-9a-f]{{64}}", pinned)
    assert base.TAG.startswith(f"{sys.version_info[0]}.{sys.version_info[1]}-")
    assert [line.split()[1] for line in instructions("FROM")] == ["${BASE}", "${BASE}"]


def test_programs_run_only_on_the_builders_architecture() -> None:
    stages = TEXT.split("\nFROM ")[1:]
    assert stages[0].startswith("--platform=$BUILDPLATFORM ")
    assert "\nRUN " not in stages[1]


def test_the_version_is_the_packages() -> None:
    assert f"VERSION={multiarch.__version__}" in instructions("ARG")


def test_it_runs_the_webhook_as_a_numeric_user() -> None:
    assert instructions("USER") == ["65532:65532"]
    assert instructions("ENTRYPOINT") == ['["multiarch"]']
    assert instructions("CMD") == ['["webhook", "serve"]']


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
        "botocore/data/ecr/2015-09-21/service-2.json.gz",
        "botocore/data/ec2/2016-11-15/service-2.json.gz",
        "botocore/data/endpoints.json",
        "botocore/cacert.pem",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_what_the_webhook_does_not_use_is_omitted(packages: Path) -> None:
    gone = {path.relative_to(packages).as_posix() for path in image_packages.unused(packages)}
    assert gone >= {"bin", "aiohttp/_websocket/mask.pyx", "some/tests", "boto3/data", "botocore/data/ec2"}
    kept = {"aiohttp/test_utils.py", "boto3/session.py", "botocore/cacert.pem", "botocore/data/ecr"}
    assert not gone & (kept | {"botocore/data", "botocore/data/endpoints.json"})


def test_everything_is_compiled_and_has_one_time(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    (packages / "program").mkdir()
    image_packages.compile_all(packages)
    script = packages / "program" / "bin" / "multiarch"
    assert script.read_text().startswith("#!/usr/bin/env python3\n")
    assert script.stat().st_mode & 0o111
    assert list((packages / "boto3" / "__pycache__").iterdir())
    assert {path.stat().st_mtime for path in packages.rglob("*")} == {1700000000}
