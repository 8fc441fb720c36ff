"""What the documents quote is real: commands are run, in the order of each document, and their output compared."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.quotations import ROOT, Block, blocks, commands, edited, matches, ran
from tools.generate.documents import list_documents

TUTORIAL = ROOT / "docs" / "tutorial" / "sandbox.md"
CONSOLE = {
    document: [block for block in blocks(document) if block.language == "console"] for document in list_documents()
}
RAN = {
    document: [block for block in found if not block.marked("registry") and not block.marked("migration")]
    for document, found in CONSOLE.items()
}
ASKED = [(document, block) for document, found in CONSOLE.items() for block in found if block.marked("registry")]
"""The blocks whose commands query a registry."""
VARIES = re.compile(
    r"(?<=Pulumi )v\S+ \(.*\)|(?<=127\.0\.0\.1:)\d+|(?<=-)[0-9a-f]{7} +(?=\w)|(?<= in )\d+s$", re.MULTILINE
)
_ROW = re.compile(r"^\| (?P<write>`.+`) \| (?P<says>.+) `\[(?P<rule>[a-z0-9-]+)\]` \|$", re.MULTILINE)
CONTRADICTIONS = list(_ROW.finditer(TUTORIAL.read_text(encoding="utf-8")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone as a reader has it, and what a document's commands have left there so far."""
    folder = tmp_path / "clone"
    folder.mkdir()
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    for name in ("config", "examples"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "components").symlink_to(ROOT / "components")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "multiarch").symlink_to(Path(sys.executable).with_name("multiarch"))
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


def compare(document: Path, block: Block, command: str, quoted: str, real: str) -> None:
    place = f"{document.relative_to(ROOT)}:{block.line}"
    assert matches(quoted, real), f"{place}: {command}\n--- quoted\n{quoted}--- real\n{real}"


def test_commands_are_quoted_where_they_matter() -> None:
    quoted = {document.relative_to(ROOT).as_posix(): len(found) for document, found in RAN.items() if found}
    assert quoted["README.md"] >= 1
    assert quoted["docs/tutorial/sandbox.md"] >= 3
    assert quoted["docs/tutorial/own-account.md"] >= 2


@pytest.mark.parametrize(
    "document",
    [document for document, found in RAN.items() if found],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_command_that_needs_no_engine_prints_what_is_quoted(document: Path, project: Path) -> None:
    for block in RAN[document]:  # in the order of the document: later ones build on earlier ones
        with changed(block, project):
            for command, quoted in commands(block):
                compare(document, block, command, quoted, ran(command, project))


@pytest.mark.e2e
def test_the_commands_that_ask_a_registry_print_what_is_quoted(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    sandbox = f"{shlex.quote(sys.executable)} -m sandbox --project {shlex.quote(str(project))}"
    printed = ran(f"{sandbox} registry", ROOT)
    try:
        for document, block in ASKED:
            assert block.marked("registry") == ["demo"]
            for command, quoted in commands(block):
                compare(document, block, command, quoted, ran(command, project))
                # What the target prints is what the documents show, but for options of their own.
                assert command.removeprefix(".venv/bin/").removesuffix(" --fail-on unsupported") in printed
    finally:
        ran(f"{sandbox} down", ROOT)
    assert {document.name for document, _ in ASKED} == {"README.md", "audit-images.md", "cost.md", "image-verdicts.md"}


@pytest.mark.e2e
def test_the_sandbox_prints_what_is_quoted(tmp_path: Path) -> None:
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for name in ("components", "multiarch"):
        (tmp_path / name).symlink_to(ROOT / name)
    sandbox = f"{shlex.quote(sys.executable)} -m sandbox --project {shlex.quote(str(tmp_path))}"
    readme = [(block, command) for block in blocks(ROOT / "README.md") for command in block.marked("engine")]
    quotations = [(block, command) for block in blocks(TUTORIAL) for command in block.marked("engine")]
    assert [command for _, command in readme] == ["up checkout-dev"]
    assert [command.partition(" ")[0] for _, command in quotations] == ["up", "preview", "preview", "down"]
    try:
        for block, command in quotations:
            with changed(block, tmp_path):
                real = ran(f"{sandbox} {command}", ROOT)
                # What another machine, port or minute makes different matches any string.
                compare(TUTORIAL, block, command, VARIES.sub("…", block.text), real)
                if command == readme[0][1]:
                    compare(ROOT / "README.md", readme[0][0], command, VARIES.sub("…", readme[0][0].text), real)
    finally:
        ran(f"{sandbox} down --force", ROOT)
    assert not (tmp_path / ".sandbox").exists()


@pytest.mark.parametrize("row", CONTRADICTIONS, ids=[row["rule"] for row in CONTRADICTIONS])
def test_each_contradiction_is_rejected_with_the_words_that_are_quoted(row: re.Match[str], tmp_path: Path) -> None:
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
