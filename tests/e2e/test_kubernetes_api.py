"""What a run does when the Kubernetes API does not answer, has an object already, or has others' fields.

The stand-in says what the official provider says; see sandbox/providers/kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.aws.faults import Failure
from sandbox.aws.remote import Remote
from tests.e2e.world import NO_REFRESH, Step, World

pytestmark = pytest.mark.e2e

STACK = "checkout-dev"
CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
UP = ("up", "--yes", "--skip-preview", "--json")


@contextmanager
def edited(world: World) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The StorageClass's file, and its content; when the block ends, the stack makes it again."""
    (file,) = world.layout.manifests(STACK).glob("storage.k8s.io_storageclass_*.yaml")
    try:
        yield file, yaml.safe_load(file.read_text())
    finally:
        file.unlink(missing_ok=True)
        world.pulumi(STACK, *UP)


def test_without_the_api_a_run_ends_at_the_refresh_and_changes_of_aws_pass_without_it(platform: World) -> None:
    remote, held = Remote(platform.server.url), platform.held(STACK)
    remote.set_kubernetes_down(3600)
    try:
        said = platform.pulumi(STACK, *UP, expect=1).errors()
        assert "failed to read resource state due to unreachable cluster" in said
        assert "PULUMI_K8S_DELETE_UNREACHABLE" in said
        with platform.made(STACK, "nodeGroups", "graviton", "maxSize", value=8, options=(NO_REFRESH,)) as steps:
            assert {step.what for step in steps} == {"aws:eks/nodeGroup:NodeGroup graviton"}
    finally:
        remote.set_kubernetes_down(0)
    assert platform.held(STACK) == held


def test_an_object_that_exists_passes_the_preview_and_fails_the_update(platform: World) -> None:
    with edited(platform) as (file, _):
        (urn,) = [row["urn"] for row in platform.resources(STACK) if row["type"] == CLASS]
        platform.pulumi(STACK, "state", "delete", urn, "--yes")
        assert platform.preview(STACK) == [Step("create", f"{CLASS} {urn.rpartition('::')[2]}")]
        there = file.read_text()
        said = platform.pulumi(STACK, *UP, expect=1).errors()
        assert "storageclasses.storage.k8s.io" in said
        assert "already exists" in said
        assert file.read_text() == there


def test_another_apply_managers_field_fails_the_update_and_then_previews_too(platform: World) -> None:
    with edited(platform) as (file, there):
        fields: dict[str, Any] = {"f:allowVolumeExpansion": {}}
        there["metadata"]["managedFields"] = [{"manager": "argocd", "operation": "Apply", "fieldsV1": fields}]
        file.write_text(yaml.safe_dump({**there, "allowVolumeExpansion": False}))
        (step,) = platform.preview(STACK)
        assert (step.op, step.paths) == ("update", frozenset({"allowVolumeExpansion"}))
        for words in (UP, ("preview", "--json")):
            said = platform.pulumi(STACK, *words, expect=1)
            assert 'Apply failed with 1 conflict: conflict with "argocd": .allowVolumeExpansion' in said.errors()


def test_a_chart_that_cannot_be_loaded_fails_the_preview(platform: World) -> None:
    remote = Remote(platform.server.url)
    remote.set_faults(Failure("chart"))
    try:
        said = platform.pulumi(STACK, "preview", "--json", expect=1).errors()
    finally:
        remote.set_faults()
    # Other tests of the shared world may have put the charts into another kind of registry.
    assert re.search(
        r"property chart value \{.*(is not a valid chart repository or cannot be reached|no such host)", said
    )
