"""``make report-demo`` writes a page about a stack of the sandbox, and a real browser opens it."""

from __future__ import annotations

import shutil

import pytest

from tests.browser.chromium import running
from tests.e2e.world import World
from tests.quotations import ROOT

pytestmark = pytest.mark.e2e
STACK = "payments-prod"
PAGE = f".sandbox/report-{STACK}.html"


def test_the_page_of_the_sandbox_opens_in_a_browser(world: World) -> None:
    shutil.copytree(ROOT / "examples", world.root / "examples")
    try:
        said = world.sandbox("report-demo", STACK).stdout
    finally:
        page = (world.root / PAGE).read_bytes() if (world.root / PAGE).exists() else b""
        world.sandbox("down")
    assert f"Wrote {PAGE}." in said
    file = world.root / "page.html"
    file.write_bytes(page)
    with running() as browser:
        browser.show(file)
        found = browser.accessible()
        problems = [each for each in browser.events if each["method"] in {"Log.entryAdded", "Runtime.exceptionThrown"}]
    assert problems == []
    headings = [each["name"] for each in found if each["role"] == "heading"]
    assert headings[0] == STACK
    assert "payments Deployment/ledger" in [each["name"] for each in found if each["role"] == "rowheader"]
    assert not [each for each in found if each["role"] == "StaticText" and each["name"] == "Not read."]
