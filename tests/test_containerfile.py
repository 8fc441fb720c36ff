"""The Containerfile, without building the image: what it pins, copies and keeps."""

from __future__ import annotations

import ast
import re
import sys

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


OPENED_BY = {"client", "clients", "_pages"}
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
