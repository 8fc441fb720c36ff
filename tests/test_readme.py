"""The README is true: its commands are run and their output compared, its files and targets exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.documents import DAY, README, ROOT, Block, blocks, commands, edited, matches, ran, renewed
from tests.images.shapes import Repository
from tests.registry import server
from tests.rules import rules

TODAY = datetime.fromtimestamp(int(DAY), tz=UTC).date()
CONSOLE = [block for block in blocks(README) if block.language == "console"]
RAN = [block for block in CONSOLE if not block.marked("registry")]
ASKED = [block for block in CONSOLE if block.marked("registry")]
"""Of these the registry is made here."""
VARIES = re.compile(
    r"(?<=Pulumi )v\S+ \(.*\)|(?<=127\.0\.0\.1:)\d+|(?<=-)[0-9a-f]{7} +(?=\w)|(?<= in )\d+s$", re.MULTILINE
)
_ROW = re.compile(r"^\| (?P<write>`.+`) \| (?P<says>.+) `\[(?P<rule>[a-z0-9-]+)\]` \|$", re.MULTILINE)
CONTRADICTIONS = list(_ROW.finditer(README.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone as the README's reader has it, and what its commands have left there so far."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    shutil.copytree(ROOT / "config", folder / "config")
    for name in ("components", "examples"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@contextmanager
def changed(block: Block, project: Path) -> Iterator[None]:
    """Make the changes that a block is marked with, and take them back."""
    before: dict[Path, str] = {}
    for change in block.marked("edit"):
        name, _, what = change.partition(": ")
        file = project / name
        before.setdefault(file, file.read_text(encoding="utf-8"))
        file.write_text(edited(file.read_text(encoding="utf-8"), what), encoding="utf-8")
    try:
        yield
    finally:
        for file, text in before.items():
            file.write_text(text, encoding="utf-8")


def compare(block: Block, command: str, quoted: str, real: str) -> None:
    assert matches(quoted, real), f"README.md:{block.line}: {command}\n--- quoted\n{quoted}--- real\n{real}"


def test_every_command_that_needs_no_engine_prints_what_is_quoted(project: Path) -> None:
    assert len(RAN) >= 5
    for block in RAN:  # in the order of the document: later ones build on earlier ones
        with changed(block, project):
            for command, quoted in commands(block):
                compare(block, command, quoted, ran(command, project))


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Path]:
    """A real registry with the images of examples/pods.yaml, one left out, as a mirror of the one that they name."""
    with server.running() as registry:
        for name in ("observability/agent:3.1", "payments/api:2.4.0"):
            repository = Repository(registry, name.partition(":")[0])
            entries = [repository.entry("linux/amd64"), repository.entry("linux/arm64")]
            repository.index(entries, tag=name.partition(":")[2])
        Repository(registry, "payments/ledger").image("linux/amd64", tag="1.19.3")
        folder = tmp_path / "registry.example.com"
        folder.mkdir()
        (folder / "hosts.toml").write_text(f'server = "{registry.url}"\n')
        yield tmp_path


def test_the_commands_that_ask_a_registry_print_what_is_quoted(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(mirror / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(mirror))
    assert [block.marked("registry") for block in ASKED] == [["examples"]]
    for command, quoted in commands(ASKED[0]):
        compare(ASKED[0], command, quoted, ran(f"{command} --hosts-dir {shlex.quote(str(mirror))}", ROOT))


@pytest.mark.e2e
def test_the_sandbox_prints_what_is_quoted(tmp_path: Path) -> None:
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for name in ("components", "multiarch"):
        (tmp_path / name).symlink_to(ROOT / name)
    sandbox = f"{shlex.quote(sys.executable)} -m sandbox --project {shlex.quote(str(tmp_path))}"
    quotations = [(block, command) for block in blocks(README) for command in block.marked("engine")]
    assert [command.partition(" ")[0] for _, command in quotations] == ["up", "preview", "preview", "down"]
    try:
        for block, command in quotations:
            with changed(block, tmp_path):
                # What another machine, port or minute makes different stands for itself.
                quoted = VARIES.sub("…", block.text)
                compare(block, command, quoted, ran(f"{sandbox} {command}", ROOT))
    finally:
        ran(f"{sandbox} down --force", ROOT)
    assert not (tmp_path / ".sandbox").exists()


def test_help_texts_and_tables_are_those_of_the_code() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == renewed(text), "write them anew: python -m tests.documents"


def test_the_first_thing_shown_is_a_valid_stack_of_six_lines(project: Path) -> None:
    (block,) = [block for block in blocks(README) if block.markers == ("stack: search-dev",)]
    lines = block.text.splitlines()
    assert lines[0] == "config:"
    assert len(lines) == 7
    file = project / "six" / "Pulumi.search-dev.yaml"
    file.parent.mkdir()
    file.write_text(block.text, encoding="utf-8")
    plan = make_plan(load_file(file, project_file=project / "Pulumi.yaml"), today=TODAY)
    # What the text below it says of it.
    assert plan.cluster.version == "1.35"
    assert plan.cluster.endpoint_private
    assert not plan.cluster.endpoint_public
    assert plan.cluster.encrypt_secrets
    assert len(plan.addons) == 5
    assert {str(group.family) for group in plan.node_groups} == {"AL2023"}
    found = {group.name: (str(group.architecture), *map(str, group.taints)) for group in plan.node_groups}
    assert found == {"general": ("amd64",), "graviton": ("arm64", "arch=arm64:NoSchedule")}


def test_the_contradictions_are_listed() -> None:
    assert len(CONTRADICTIONS) >= 6
    assert {row["rule"] for row in CONTRADICTIONS} <= rules().keys()


@pytest.mark.parametrize("row", CONTRADICTIONS, ids=[row["rule"] for row in CONTRADICTIONS])
def test_each_contradiction_is_refused_with_the_words_that_are_quoted(row: re.Match[str], tmp_path: Path) -> None:
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    file = tmp_path / "config" / "stacks" / "Pulumi.checkout-dev.yaml"
    yaml = YAML()
    document: Any = yaml.load(file)
    for written in re.findall(r"`([^`]+)`", row["write"]):
        path, _, value = written.partition(": ")
        first, *keys = path.split(".")
        place, keys = document["config"], [f"multiarch-eks:{first}", *keys]
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = YAML(typ="safe").load(value)
    yaml.dump(document, file)
    problems = json.loads(ran("multiarch stack check -o json checkout-dev", tmp_path))["stacks"][0]["problems"]
    said = {(problem["rule"], f"{problem['message']} {problem['hint']}".strip()) for problem in problems}
    assert (row["rule"], row["says"]) in said, said


def test_a_quotation_that_is_not_what_is_printed_is_noticed() -> None:
    real = "one\ntwo three  \n\nfour\n"
    for quoted in ("one\ntwo three\nfour\n", "…\nfour\n", "one\n…\n", "one\ntwo…\nfour\n", "…\ntwo … \n…\n"):
        assert matches(quoted, real), quoted
    for quoted in ("one\n", "one\ntwo\nfour\n", "two three\n…\n", "…\nfive\n", "", "one\ntwo three\nfour\n…\nfive\n"):
        assert not matches(quoted, real), quoted


def test_a_change_is_made_where_its_context_says() -> None:
    text = "a:\n  size: 4\nb:\n  size: 4\n"
    assert edited(text, "b: … size: 4 => size: 6") == "a:\n  size: 4\nb:\n  size: 6\n"
    with pytest.raises(ValueError, match="substring not found"):
        edited(text, "c: … size: 4 => size: 6")
