"""Rendering: the same bytes every time, no trace of an earlier one, nothing of somebody else's touched."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from components import component, rendering
from components.rendering import RenderedStack, declare, marked_values, render
from components.rendering.files import contents
from components.rendering.files import replace as replace_files
from components.rendering.marked_values import Where
from components.rendering.recording import DuplicateResourceError
from multiarch.errors import MultiarchError, OutsideError, UnknownFactError
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.components import autoscaled, declared
from tests.components.declared import World
from tests.stack.words import TODAY, plan

ROOT = Path(__file__).parents[3]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def earlier(rendered: RenderedStack, tmp_path: Path) -> Path:
    """An earlier rendering in ``tmp_path``."""
    return Path(shutil.copytree(rendered.directory, tmp_path / rendered.directory.name))


def test_a_rendering_holds_what_reviewers_read_with_marks_where_aws_alone_knows(rendered: RenderedStack) -> None:
    assert rendered.directory.name == "shop-dev"
    files = content(rendered.directory)
    assert sorted(files) == [str(path) for path in rendered.files]
    assert {
        "resources.json",
        "outputs.json",
        "kubeconfig",
        "user-data/own.mime",
        "user-data/image.mime",
        "launch-templates/web.json",
        "node-groups/web-arm.json",
        "node-groups/own.json",
        "iam/managed-nodes/trust-policy.json",
        "iam/managed-nodes/managed-policies.json",
        "iam/self-managed-nodes/session-logs.json",
        "kms/key.json",
        "sessions/preferences.json",
        "addons/coredns.json",
        "kubernetes/StorageClass-gp3.yaml",
    } <= set(files)
    assert "user-data/web.mime" not in files
    assert all(text.endswith(b"\n") for text in files.values())
    accounts = set(re.findall(r"\b\d{12}\b", files["resources.json"].decode()))
    assert accounts == {"111122223333"}
    assert b"https://shop-dev.example.invalid" in files["kubeconfig"]


def test_a_rendering_holds_what_autoscalers_are_given(migrating: World) -> None:
    files = contents(migrating.resources, migrating.outputs)
    assert {
        "events/spot-interruption.json",
        "helm/cluster-autoscaler.yaml",
        "helm/karpenter-crd.yaml",
        "helm/karpenter.yaml",
        "iam/cluster-autoscaler/cluster-autoscaler.json",
        "iam/karpenter-nodes/managed-policies.json",
        "iam/karpenter/managed-policies.json",
        "iam/karpenter/trust-policy.json",
        "iam/policies/karpenter-node-lifecycle.json",
        "kubernetes/EC2NodeClass-default.yaml",
        "kubernetes/NodePool-general-arm64-spot.yaml",
        "queues/interruption-policy.json",
    } <= set(files)
    assert len([path for path in files if path.startswith("iam/policies/")]) == 6
    assert len([path for path in files if path.startswith("events/")]) == 5
    text = files["helm/cluster-autoscaler.yaml"]
    release: Any = migrating.inputs(autoscaled.RELEASE, "cluster-autoscaler")
    assert text.startswith("# cluster-autoscaler 9.59.0\n")
    assert YAML(typ="safe", pure=True).load(text) == release["values"]
    # A text of several lines reads well.
    assert "expanderPriorities: |\n  90:\n" in text


@pytest.mark.tools  # a process of its own, as slow as all other renderings here
def test_two_processes_render_the_same_bytes(rendered: RenderedStack, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from components.rendering import render;"
        "from tests.components.declared import FULL; from tests.stack.words import plan;"
        "render(plan(FULL), Path(sys.argv[1]))"
    )
    # Sets have another order in the other process.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=environment)
    assert content(tmp_path / "shop-dev") == content(rendered.directory)


def test_files_of_an_earlier_rendering_go_and_nothing_is_left_open(tmp_path: Path, earlier: Path) -> None:
    assert (earlier / "node-groups" / "own.json").exists()
    render(plan(), tmp_path)
    assert not (earlier / "node-groups" / "own.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["shop-dev"]
    descriptors = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    before = len(list(descriptors.iterdir()))
    render(plan(), tmp_path)
    assert len(list(descriptors.iterdir())) == before


@pytest.mark.parametrize("name", ["notes.txt", "own/file.json", "iam/README", "iam/link"])
def test_a_rendering_with_a_file_of_the_users_is_left_alone(tmp_path: Path, earlier: Path, name: str) -> None:
    file = earlier / name
    file.parent.mkdir(exist_ok=True)
    if file.name == "link":
        file.symlink_to(tmp_path)
    else:
        file.write_text("mine")
    before = content(earlier)
    with pytest.raises(MultiarchError, match="which is not from a rendering"):
        render(plan(), tmp_path)
    assert content(earlier) == before


def test_a_failed_rendering_leaves_the_earlier_one(
    tmp_path: Path, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(earlier)
    monkeypatch.setattr(component.Component, "tags", None)
    with pytest.raises(TypeError):
        render(plan(), tmp_path)
    assert content(earlier) == before


def test_a_file_in_place_of_the_folder_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_text("a file where a folder should be")
    with pytest.raises(MultiarchError, match=r"README\.md/shop-dev can't be written: File exists\."):
        replace_files(file / "shop-dev", {"kubeconfig": ""})
    with pytest.raises(MultiarchError, match=r"README\.md can't be written: Not a directory\."):
        render(replace(plan(), stack=file.name), tmp_path)


def test_a_folder_that_cannot_be_written_is_rejected_without_the_name_of_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(dir: Path, prefix: str) -> None:  # noqa: A002  (as tempfile calls it)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), f"{dir}/{prefix}abcdef")

    monkeypatch.setattr("tempfile.TemporaryDirectory", denied)
    with pytest.raises(MultiarchError) as rejected:
        replace_files(tmp_path / "shop-dev", {"kubeconfig": ""})
    assert str(rejected.value) == f"{tmp_path / 'shop-dev'} can't be written: Permission denied."
    assert rejected.value.exit_code == 2


def test_a_stack_without_a_region_is_rendered_with_a_mark_in_its_place() -> None:
    found = declared.world(region=None)
    assert {s.inputs["availabilityZone"] for s in found.all(declared.SUBNET)} == {"REGIONa", "REGIONb"}
    # A region of no partition is not taken for a commercial one.
    with pytest.raises(UnknownFactError, match="mars-north-1"):
        Where.of("mars-north-1")


@pytest.mark.exhaustive
def test_every_shipped_stack_is_rendered_with_user_data_that_has_the_suffix_of_its_format(tmp_path: Path) -> None:
    suffixes = set()
    files = sorted((ROOT / "config" / "stacks").glob("Pulumi.*.yaml"))
    assert len(files) >= 4
    for file in files:
        made = make_plan(load_file(file, project_file=ROOT / "Pulumi.yaml"), today=TODAY)
        rendered = render(made, tmp_path)
        tree = json.loads((rendered.directory / "resources.json").read_text())
        assert len(tree) == len(rendered.declared.resources) > 50
        suffixes |= {path.suffix for path in rendered.files if path.parent.name == "user-data"}
        groups = {path.stem for path in rendered.files if path.parent.name == "node-groups"}
        assert groups == {group.name for group in made.node_groups}
    assert suffixes == {".sh", ".toml"}


def test_the_projects_name_is_that_of_pulumi_yaml() -> None:
    assert f"name: {rendering.PROJECT}\n" in (ROOT / "Pulumi.yaml").read_text()


def test_a_resource_declared_twice_is_a_fault_as_it_is_to_the_engine() -> None:
    planned = plan()
    with pytest.raises(DuplicateResourceError, match="NodeGroup"):
        declare(replace(planned, node_groups=(*planned.node_groups, planned.node_groups[0])))


def test_a_fault_after_the_cluster_is_known_ends_the_run_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = marked_values.cluster

    def without_authority(*args: Any) -> dict[str, object]:
        return {**known(*args), "certificateAuthority": {"data": ""}}

    monkeypatch.setattr(marked_values, "cluster", without_authority)
    with pytest.raises(OutsideError, match="EKS returned no certificate authority"):
        declare(plan())
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]
