"""One browser for all tests of pages, and the page of invented results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from multiarch.report.pages import build_page
from multiarch.report.rendering import Renderer
from tests.browser.chromium import Browser, running
from tests.report import samples


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with running() as found:
        yield found


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sections, and a workload whose name is HTML."""
    contents = replace(samples.contents(), placement=samples.placement(workload=samples.HOSTILE))
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(Renderer().render(build_page(contents)), encoding="utf-8")
    return file
