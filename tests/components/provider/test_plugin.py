"""The plugin as a process of its own, as an engine starts it: with the installed package alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from tests.quotations import ROOT, environment
from tools.generate.plugin import SCHEMA

FOLDER = ROOT / "provider"


@pytest.fixture
def port(installed: Path) -> Iterator[int]:
    """Where the plugin listens, which is the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, FOLDER, "127.0.0.1:1"],
        env=environment() | {"PYTHONPATH": str(installed)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_the_program_beside_pulumi_plugin_yaml_answers_with_the_schema_that_is_committed(port: int) -> None:
    assert yaml.safe_load((FOLDER / "PulumiPlugin.yaml").read_text(encoding="utf-8"))["runtime"]["name"] == "python"
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        provider: Any = provider_pb2_grpc.ResourceProviderStub(channel)
        answered = provider.GetSchema(provider_pb2.GetSchemaRequest(), timeout=30)
    assert json.loads(answered.schema) == json.loads(SCHEMA.read_text(encoding="utf-8"))


def test_its_requirements_are_the_clone_around_it() -> None:
    lines = (FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line[0] != "#"] == ["..[pulumi]"]
