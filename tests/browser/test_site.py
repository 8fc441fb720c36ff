"""The site of docs/, opened as files: its search works there, and guides come before the reference."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser.chromium import Browser
from tests.quotations import ROOT, environment

_TYPE = """(() => {{
  const field = document.querySelector('.md-search__input');
  field.focus();
  field.value = {query!r};
  field.dispatchEvent(new KeyboardEvent('keyup', {{key: 'e', bubbles: true}}));
}})()"""
_FOUND = """[...document.querySelectorAll('.md-search-result__item > a')].map(link => new URL(link.href).pathname)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=environment() | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("rebalance", "how-to/rebalance.html"),
        ("simulate", "how-to/simulate.html"),
        ("patch workloads", "how-to/patch-workloads.html"),
    ],
)
def test_the_search_of_a_page_that_is_opened_as_a_file_finds_the_guide_first(
    browser: Browser, site: Path, query: str, page: str
) -> None:
    browser.show(site / "index.html", width=1280)
    assert browser.evaluate("document.querySelector('.md-search__input').getBoundingClientRect().width") > 100
    browser.evaluate(_TYPE.format(query=query))
    until = time.monotonic() + 60
    while not (found := browser.evaluate(_FOUND)) and time.monotonic() < until:
        time.sleep(0.2)
    assert found[0] == str(site / page)
