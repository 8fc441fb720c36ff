"""The site of docs/: what `make docs` runs rejects broken links and pages that the navigation lacks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.quotations import ROOT, environment

COMMAND = re.findall(r"\$\(BIN\)/python (-m mkdocs build .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))


def built(folder: Path, page: str, other: str, nav: str) -> subprocess.CompletedProcess[str]:
    """Build a site of two pages with the project's settings and the command of `make docs`."""
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(page, encoding="utf-8")
    (folder / "docs" / "other.md").write_text(other, encoding="utf-8")
    settings = (
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nsite_dir: site\nplugins: []\nwatch: []\nextra_css: []\n"
    )
    (folder / "mkdocs.yml").write_text(f"{settings}nav: {nav}\n", encoding="utf-8")
    (command,) = COMMAND
    return subprocess.run(
        [sys.executable, *shlex.split(command), "--config-file", str(folder / "mkdocs.yml")],
        env=environment() | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_links_and_anchors_that_exist_are_accepted(tmp_path: Path) -> None:
    page, other = "# One\n\n[other](other.md), [heading](other.md#a-heading)\n", "# Other\n\n## A heading\n"
    done = built(tmp_path, page, other, "[index.md, other.md]")
    assert done.returncode == 0, done.stderr
    # Nothing is loaded from elsewhere: fonts, scripts, styles.
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="(?:https?:)?//', page)


def test_each_link_that_leads_nowhere_and_each_unlisted_page_is_rejected(tmp_path: Path) -> None:
    page = "# One\n\n[gone](gone.md), [heading](other.md#gone), [outside](../README.md)\n"
    done = built(tmp_path, page, "# Other\n", "[index.md]")
    assert done.returncode != 0
    _, *warnings = done.stderr.split("WARNING")
    for said in ("gone.md", "#gone", "README.md", "- other.md"):
        assert [each for each in warnings if said in each], said
    assert "Aborted with 4 warnings in strict mode!" in done.stderr + done.stdout
