"""Plain words: the terms of Kubernetes' and AWS' documentation in names, docstrings, messages and documents."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

INSTEAD = {
    r"\bways? out\b": "fix",
    r"\b(?:leave|leaves|leaving|left) (?:(?:the |that )?[\w.`]+ )?out\b": "omit",
    r"\bexcludes? (?:each other|one another)\b": "are mutually exclusive",
    # "connection refused" is what the system itself says; "refused" alone is a rule.
    r"(?<!onnection )(?<!^\")(?<!`)\brefus(?:e|es|ed|ing|al|als)\b(?!-)": "reject",
    # "not asked" is a status, and "not-asked" its rule.
    r"(?<!\bnot[ -])\b[Aa]sk(?:s|ed|ing)?\b": "query or request",
    r"\b[Aa](?: JSON| YAML|n empty|nother)? text\b(?! file| of)": "string",
    r"\b(?:IPv4|VPC|VPC's|Services?|Services') ranges?\b": "CIDR block",
}
"""Words that are not used, as regular expressions, and what to write instead."""

NAME_INSTEAD = {
    "way_out": "fix",
    "left_out|leave_out": "omit",
    r"(?<!connection)(?<!connection[s_])(?<!connections_)refus": "reject",
}
"""The same for names of functions, classes, parameters and variables."""

VERBS = frozenset(
    """
    accept add allow answer apply arrange assign attach audit average break bring build call cancel change check
    choose clean close collect compare compile complete compute convert cordon count create cut decide declare
    decode delete derive describe destroy detect discard do download drain draw drop dump edit end escape estimate
    evaluate evict exit explain fail fetch fill filter find finish fold follow forget format forward gather get give
    go grant group hash identify ignore insert inspect install issue join judge keep know lay leave let limit list
    listen load log look make map mark mask match measure merge mount move multiply name narrow normalise note omit
    open order parse pass patch pin place plan post preempt prepare print push put query queue quote raise rank
    reach read rebalance rebuild recommend record reduce refresh register reject relax remember remove rename render
    renew replace report require resolve restrict retry return review rewrite round route run sample say score
    search select send serve set settle share show simulate skip sort spell split start stop store strip subtract
    suggest sum summarise switch tag take tell terminate tidy transform translate trust try turn uncordon unpack
    unpin update use validate verify wait walk warn watch wrap write yield
    """.split()  # noqa: SIM905 # prose: a list of strings would take 200 lines
)
"""First words of docstrings and of functions' names. Add a verb when you use a new one."""

AUXILIARIES = frozenset(
    """
    are can claims could depends has is keeps knows loses may names needs restricts runs starts supports to was with
    """.split()  # noqa: SIM905 # as above
)
"""First words of predicates, of conversions (``to_json``) and of what returns a changed copy (``with_values``)."""

CONSTRUCTORS = {"rules/rule": {"error", "warning"}}
"""Rows of tables are written with these; longer names would break their lines."""

INTERFACES = {"cli/formats": {"render"}}
"""Functions that every module of a folder has, and that are called by the module's name: ``json.render``."""


@cache
def _sources() -> tuple[Path, ...]:
    rooms = ("multiarch", "components", "sandbox", "policy", "provider", "tools", "benchmarks", "__main__.py")
    listed = subprocess.run(["git", "ls-files", *rooms], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(ROOT / name for name in listed.splitlines() if name.endswith(".py"))


@cache
def _trees() -> dict[str, ast.Module]:
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in _sources()}


def _module(file: str) -> str:
    return file.removeprefix("multiarch/").removesuffix(".py").removesuffix("/__init__")


@cache
def _tokens(path: Path) -> tuple[tokenize.TokenInfo, ...]:
    return tuple(tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline))


def _found_in_tokens(kinds: set[int], instead: dict[str, str]) -> Iterator[str]:
    """Search the tokens of the files that have one of the words anywhere: few files have to be tokenized."""
    anywhere = re.compile("|".join(f"(?:{words})" for words in instead))
    for path in _sources():
        if anywhere.search(path.read_text(encoding="utf-8")):
            for token in _tokens(path):
                if token.type in kinds:
                    yield from _found(str(path.relative_to(ROOT)), token.start[0], token.string, instead)


def _found(where: str, line: int, text: str, instead: dict[str, str]) -> Iterator[str]:
    for words, better in instead.items():
        for match in re.finditer(words, text):
            yield f"{where}:{line + text[: match.start()].count(chr(10))}: {match.group()!r}: write {better}"


def test_strings_comments_and_docstrings_use_plain_words() -> None:
    assert list(_found_in_tokens({tokenize.STRING, tokenize.COMMENT}, INSTEAD)) == []


def test_names_use_plain_words() -> None:
    assert list(_found_in_tokens({tokenize.NAME}, NAME_INSTEAD)) == []


def test_documents_use_plain_words() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "docs", "examples", "config", "README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert listed
    assert [
        found
        for name in listed
        if name.endswith((".md", ".yaml", ".json"))
        for found in _found(name, 1, (ROOT / name).read_text(encoding="utf-8"), INSTEAD)
    ] == []


def _public_functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file, tree in _trees().items():
        if file.startswith("multiarch/"):
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                    yield file, node


def _is_command(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function is a command, which has the command's name."""
    described = re.search(r", as :data:`[A-Z]+` says\.$", ast.get_docstring(node) or "") is not None
    return file.startswith("multiarch/cli/") and (node.name == "main" or described)


def test_a_public_functions_name_has_a_verb_and_a_noun() -> None:
    assert [
        f"{file}: {node.name}"
        for file, node in _public_functions()
        if "_" not in node.name and not _is_command(file, node)
        if node.name not in CONSTRUCTORS.get(_module(file), ())
        if node.name not in INTERFACES.get(_module(file).rpartition("/")[0], ())
    ] == []


def test_a_public_functions_name_begins_with_a_verb() -> None:
    assert [
        f"{file}: {node.name}"
        for file, node in _public_functions()
        if not _is_command(file, node) and node.name.split("_")[0] not in VERBS | AUXILIARIES | {"error", "warning"}
    ] == []


def _docstrings() -> Iterator[tuple[str, str, str]]:
    for file, tree in _trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
            if not decorators & {"property", "cached_property"} and (text := ast.get_docstring(node)):
                yield file, node.name, text


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    assert [
        f"{file}: {name}: {text.splitlines()[0]}"
        for file, name, text in _docstrings()
        if re.split(r"[\s,.:;]", text.lower(), maxsplit=1)[0] not in VERBS
    ] == []


def test_a_class_name_exists_once() -> None:
    places = defaultdict(list)
    for file, tree in _trees().items():
        if file.startswith("multiarch/"):
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize("sentence", ["what the API server refuses", "It asks AWS.", "a text", "the VPC's range"])
def test_the_list_finds_its_words(sentence: str) -> None:
    assert list(_found("x", 1, sentence, INSTEAD))
