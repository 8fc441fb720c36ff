"""All documents: links, paths, targets, commands and keys that they name exist; rules and JSON are the code's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multiarch.stack.schema_paths import find_elsewhere, find_model, list_fields
from tests.quotations import ROOT, blocks, ran
from tools.generate.documents import help_text, list_documents, renewed

DOCS = ROOT / "docs"
NAMES = [document.relative_to(ROOT).as_posix() for document in list_documents()]
OWN_PREFIXES = (
    ".ci/",
    "benchmarks/",
    "components/",
    "config/",
    "docs/",
    "examples/",
    "multiarch/",
    "observability/",
    "sandbox/",
    "tests/",
    "tools/",
)
LANGUAGES = {"console", "go", "json", "python", "sh", "text", "typescript", "yaml"}
COMMAND = re.compile(r"\bmultiarch (stack|facts|image|audit|workload) ([a-z]+)\b([^`|;)#]*)")
"""A command of ours: its noun, its verb, and what it is given, up to a comment."""
WRITTEN_BY_A_READER = ("config/stacks/Pulumi.search-dev.yaml",)


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(path: Path) -> set[str]:
    """What GitHub and GitLab make of a document's headings."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code_spans(text: str) -> Iterator[str]:
    """Code within lines, and the lines of shell blocks."""
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"^    (\S.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_within_the_project_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(name)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.exists(), target
        assert not name.startswith("docs/") or file.resolve().is_relative_to(DOCS), f"not a page of the site: {target}"
        # The site shows a picture with such an ending in light or in dark mode only.
        scheme = file.suffix == ".svg" and anchor in {"only-light", "only-dark"}
        assert not anchor or scheme or anchor in anchors(file), target


def test_every_document_can_be_reached_from_the_readme() -> None:
    found, left = set(), ["README.md"]
    while left:
        name = left.pop()
        found.add(name)
        for target in re.findall(r"\]\(([\w./-]+\.md)[)#]", text_of(name)):
            path = ((ROOT / name).parent / target).resolve().relative_to(ROOT).as_posix()
            if path not in found:
                left.append(path)
    # The site has a first page of its own.
    assert set(NAMES) - found <= {"docs/index.md"}


@pytest.mark.parametrize("name", NAMES)
def test_every_path_of_the_project_that_is_named_exists(name: str) -> None:
    for span in code_spans(text_of(name)):
        for word in re.findall(r"[\w./-]+", span):
            path = word.rstrip(".")
            made_up = re.search(r"[A-Z]{3,}(?!\w*\.md)", path.replace("README", "").replace("CHANGELOG", ""))
            if path.startswith(OWN_PREFIXES) and not made_up and path not in WRITTEN_BY_A_READER:
                assert (ROOT / path).exists(), f"{span}: {path}"


@pytest.mark.parametrize("name", NAMES)
def test_every_target_of_make_that_is_named_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    for span in code_spans(text_of(name)):
        for named in re.findall(r"\bmake ([a-z]+(?:-[a-z]+)*)", span):
            assert named in targets, span


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_of_ours_that_is_named_exists(name: str) -> None:
    for span in code_spans(text_of(name)):
        for noun, verb, rest in COMMAND.findall(span):
            said = help_text(f"multiarch {noun} {verb}")
            assert said.startswith(f"Usage: multiarch {noun} {verb} "), span
            for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest):
                assert re.search(rf"(?<![\w-]){option}\b", said), f"{span}: {option}"


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_that_are_made_from_the_code_are_current(name: str) -> None:
    assert text_of(name) == renewed(text_of(name)), "run make generate"


def test_the_table_of_keys_has_every_key_of_the_schema() -> None:
    text = text_of("docs/reference/stack-keys.md")
    for key in list_fields(find_model(()) or pytest.fail("no schema")):
        assert f"| `{key}` |" in text
    for key in ("prefixDelegation", "preBootstrap", "maxUnavailablePercentage", "idleTimeoutMinutes", "endpoints"):
        assert f"| `{key}` |" in text


def has_key(*path: str) -> bool:
    """Return whether a stack file has this key."""
    return (model := find_model(path[:-1])) is not None and path[-1] in list_fields(model)


def test_the_page_about_changes_names_keys_that_the_schema_has() -> None:
    rows = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+)", text_of("docs/reference/changes.md"), re.MULTILINE)
    keys = [key for row in rows for key in re.findall(r"`([\w.]+)`", row)]
    assert len(keys) > 25
    for key in keys:
        path = key.split(".")
        assert has_key(*path) or has_key("nodeGroups", "NAME", *path) or find_elsewhere(key), key


def shape(value: Any) -> Any:  # noqa: ANN401
    """The keys of a JSON document, at every depth."""
    if isinstance(value, dict):
        return set(value) | {inner for child in value.values() for inner in shape(child)}
    return {inner for item in value for inner in shape(item)} if isinstance(value, list) else set()


def test_every_key_that_a_command_prints_as_json_is_described(tmp_path: Path) -> None:
    text = text_of("docs/reference/json-output.md")
    described = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    kinds = set()
    for command in (
        "stack list",
        "stack check",
        "stack explain checkout-dev",
        f"stack render checkout-dev -d {tmp_path}",
    ):
        told = json.loads(ran(f"multiarch {command} -o json 2>/dev/null", ROOT))
        assert told["version"] == "2"
        kinds.add(told["kind"])
        assert shape(told) <= described, command
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "multiarch" / "cli").rglob("*.py"))
    all_kinds = set(re.findall(r'Report\(\s*"([a-z-]+)"', source))
    assert kinds < all_kinds
    assert all(f"`{kind}`" in text for kind in all_kinds)


def test_no_document_names_a_folder_of_somebody_s_machine() -> None:
    for name in NAMES:
        text = text_of(name)
        assert not re.search(r"(?<![\w.:/~-])/(?:home|root|work|tmp|Users)/", text), name


def test_fenced_blocks_say_what_they_hold() -> None:
    for document in list_documents():
        for block in blocks(document):
            assert block.language in LANGUAGES, f"{document}:{block.line}"
