"""The site of docs/: what `make docs` runs rejects broken links and pages that the navigation lacks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quotations import ROOT, environment

COMMAND = re.findall(r"\$\(BIN\)/python (-m mkdocs build .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))


def built(folder: Path, page: str, other: str = "# Other\n") -> subprocess.CompletedProcess[str]:
    """Build a site of two pages with the project's settings and the command of `make docs`."""
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(page, encoding="utf-8")
    (folder / "docs" / "other.md").write_text(other, encoding="utf-8")
    settings = (
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nsite_dir: site\nplugins: []\nwatch: []\nextra_css: []\n"
    )
    nav = "nav: [index.md]\n" if "unlisted" in page else "nav: [index.md, other.md]\n"
    (folder / "mkdocs.yml").write_text(settings + nav, encoding="utf-8")
    (command,) = COMMAND
    return subprocess.run(
        [sys.executable, *shlex.split(command), "--config-file", str(folder / "mkdocs.yml")],
        env=environment() | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_links_and_anchors_that_exist_are_accepted(tmp_path: Path) -> None:
    done = built(tmp_path, "# One\n\n[other](other.md), [heading](other.md#a-heading)\n", "# Other\n\n## A heading\n")
    assert done.returncode == 0, done.stderr
    # Nothing is loaded from elsewhere: fonts, scripts, styles.
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="(?:https?:)?//', page)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("# One\n\n[gone](gone.md)\n", "gone.md"),
        ("# One\n\n[gone](other.md#gone)\n", "#gone"),
        ("# One\n\n[outside](../README.md)\n", "README.md"),
        ("# One\n\nThe other page is unlisted.\n", "other.md"),
    ],
)
def test_what_leads_nowhere_is_rejected(page: str, said: str, tmp_path: Path) -> None:
    done = built(tmp_path, page)
    assert done.returncode != 0
    assert said in done.stderr
