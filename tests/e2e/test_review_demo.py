"""``make review-demo`` shows the digest of a change that replaces, widens and costs."""

from __future__ import annotations

import pytest

from sandbox.review_demo import PRICES
from tests.e2e.world import World
from tests.quotations import ROOT, blocks, matches

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
PAGE = ROOT / "docs" / "how-to" / "review.md"


def test_the_review_names_the_replacement_the_permission_and_the_cost(
    platform: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # as the page has it
    before = platform.held(STACK)
    said = platform.sandbox("review-demo", STACK).stdout
    assert PRICES in said
    assert platform.held(STACK) == before
    assert not (platform.layout.folder / "review-demo").exists()
    (quoted,) = [block for block in blocks(PAGE) if block.marked("demo") == ["review"]]
    assert matches(quoted.text, said[said.index("$ ") :]), said
