"""The steps from one autoscaler to the other, read from docs/how-to/migrate-autoscaler.md.

A marker ``<!-- migration: WAY NUMBER -->`` stands before each block of a step: YAML holds the keys of the stack file as
the step leaves them (what it does not name stays), a console block what ``multiarch`` says of the file then, a string
block what a preview says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.quotations import ROOT, Block, blocks, commands

DOCUMENT = ROOT / "docs" / "how-to" / "migrate-autoscaler.md"
STACK = "checkout-dev"
TO_KARPENTER, BACK = "to-karpenter", "to-cluster-autoscaler"


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the stack file, and the outputs that are quoted for it: of each command, and of the preview."""

    number: int
    words: Mapping[str, Any]
    commands: tuple[tuple[str, str], ...]
    previewed: str


def steps(way: str) -> list[Step]:
    """The steps of one way, in order. Each has YAML and a preview, or this fails."""
    found: dict[int, dict[str, Block]] = {}
    for block in blocks(DOCUMENT):
        for marked in block.marked("migration"):
            name, number = marked.split()
            if name == way:
                assert block.language not in found.setdefault(int(number), {}), f"{marked}: {block.language} twice"
                found[int(number)][block.language] = block
    assert sorted(found) == list(range(1, len(found) + 1)), found
    return [_step(number, found[number]) for number in sorted(found)]


def _step(number: int, parts: Mapping[str, Block]) -> Step:
    words = YAML(typ="safe", pure=True).load(parts["yaml"].text)
    said = tuple(commands(parts["console"])) if "console" in parts else ()
    return Step(number, words, said, parts["text"].text)


def write(file: Path, *made: Step) -> None:
    """Change a stack file as steps say, one after the other."""
    yaml = YAML()
    yaml.width = 4096
    content = yaml.load(file.read_text(encoding="utf-8"))
    for step in made:
        assert step.words
        content["config"].update(step.words)
    with file.open("w", encoding="utf-8") as sink:
        yaml.dump(content, sink)
