"""The public Python API: what ``__all__`` declares is documented, and the documents' programs run."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.quotations import ROOT, Block, blocks, environment, matches
from tools.generate.documents import list_documents

PAGE = ROOT / "docs" / "reference" / "python-api.md"
MODULES = re.findall(r"^::: ([\w.]+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
_PULUMI = """
import sys
from multiarch_eks.rendering import record

async def program():
    exec(sys.stdin.read(), {})

record(program, stack="dev", region="eu-west-1")
"""
"""As the engine runs a program: in an event loop, with a monitor, and with the installed package."""


def modules_with_all() -> set[str]:
    found = set()
    for folder in ("multiarch", "components"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if re.search(r"^__all__ = ", text, re.MULTILINE) and not text.startswith('"""The former name of '):
                parts = path.relative_to(ROOT).with_suffix("").parts
                found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def test_the_page_lists_the_modules_that_declare_what_is_public() -> None:
    assert len(MODULES) == len(set(MODULES))
    assert set(MODULES) == modules_with_all()


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_is_defined_there_and_described(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert module.__all__
    for each in module.__all__:
        assert not each.startswith("_")
        value = getattr(module, each)
        if callable(value):
            assert value.__module__ == name or value.__module__.startswith(f"{name}."), each
            assert value.__doc__, each


def programs() -> list[tuple[Path, Block, Block | None]]:
    """Each Python block of the documents, with the text block after it, which is what it prints."""
    found = []
    for document in list_documents():
        all_blocks = blocks(document)
        for block, after in pairwise([*all_blocks, None]):
            if block and block.language == "python":
                found.append((document, block, after if after and after.language == "text" else None))
    return found


@pytest.mark.parametrize(
    ("document", "block", "printed"),
    programs(),
    ids=[f"{document.stem}-{block.line}" for document, block, _ in programs()],
)
def test_each_program_in_the_documents_runs_and_prints_what_is_quoted(
    document: Path, block: Block, printed: Block | None, installed: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PULUMI] if "import pulumi" in block.text else [sys.executable, "-"],
        input=block.text,
        cwd=ROOT,
        env=environment() | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    place = f"{document.relative_to(ROOT)}:{block.line}"
    assert done.returncode == 0, f"{place}\n{done.stderr}"
    assert matches(printed.text if printed else "", done.stdout), f"{place}\n{done.stdout}"


def test_importing_the_package_loads_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import multiarch; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['multiarch']"
