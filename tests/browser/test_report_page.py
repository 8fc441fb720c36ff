"""The page of ``multiarch report`` in a real browser: how it looks, what it is called, and what the keyboard does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Browser

SIZES = {"laptop": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
COLORS = {"light": ("rgb(15, 138, 128)", "rgb(194, 98, 10)"), "dark": ("rgb(47, 181, 168)", "rgb(232, 137, 58)")}
"""Of bars of arm64 and amd64 nodes."""
BARS = """
[...document.querySelectorAll("#nodes figure > svg .piece")]
  .map((bar) => [getComputedStyle(bar).fill, bar.getBoundingClientRect().width])
"""
CONSOLE = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}
REQUEST = "Network.requestWillBeSent"
LOOKS = [(size, scheme) for size in SIZES for scheme in SCHEMES]

FIRST_CELLS = (
    "[...document.querySelectorAll('#{name} ~ .scroll tbody tr:not([hidden])')].map(row => row.cells[0].innerText)"
)
CONTRASTS = """
(() => {
  const channels = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };
  const luminance = (color) => {
    const [red, green, blue] = channels(color).slice(0, 3).map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (channels(color)[3] === 1) return color;
    }
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style")) continue;
    const style = getComputedStyle(element);
    const color = element.closest("svg") ? style.fill : style.color;
    const [one, other] = [luminance(color), luminance(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) low.push(`${walker.currentNode.data.trim()}: ${contrast.toFixed(1)}`);
  }
  return low;
})()
"""
"""Text with less contrast than WCAG 2 requires (level AA, https://www.w3.org/TR/WCAG22/#contrast-minimum)."""


def open_page(browser: Browser, page: Path, size: str = "laptop", scheme: str = "light") -> None:
    width, height = SIZES[size]
    browser.show(page, width=width, height=height, scheme=scheme)


def first_cells(browser: Browser, name: str) -> list[str]:
    found: list[str] = browser.evaluate(FIRST_CELLS.replace("{name}", name))
    return found


def focus(browser: Browser, name: str) -> None:
    """Press Tab until the element with this accessible name has the focus."""
    browser.evaluate("document.activeElement.blur()")
    for _ in range(200):
        browser.press("Tab")
        focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
        if browser.evaluate(focused) == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_the_page_fits_its_window_and_every_text_can_be_read(
    browser: Browser, page: Path, size: str, scheme: str
) -> None:
    open_page(browser, page, size, scheme)
    assert browser.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    assert browser.evaluate(CONTRASTS) == []


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_a_chart_has_bars_in_the_colors_of_the_architectures(
    browser: Browser, page: Path, size: str, scheme: str
) -> None:
    open_page(browser, page, size, scheme)
    widths = dict.fromkeys(COLORS[scheme], 0.0)
    for color, width in browser.evaluate(BARS):
        widths[color] += width
    # 3 arm64 nodes of one group, 2 + 1 amd64 nodes of two: as much of each color.
    arm64, amd64 = widths.values()
    assert arm64 > 50
    assert amd64 == pytest.approx(arm64, rel=0.1)


@pytest.mark.parametrize("size", SIZES)
def test_the_page_asks_for_nothing_and_the_console_is_silent(browser: Browser, page: Path, size: str) -> None:
    open_page(browser, page, size)
    browser.evaluate("document.querySelectorAll('button').forEach((button) => button.click())")
    requests = [each["params"]["request"]["url"] for each in browser.events if each["method"] == REQUEST]
    assert requests == [page.resolve().as_uri()]
    assert [each for each in browser.events if each["method"] in CONSOLE] == []


def test_the_policy_stops_what_is_not_the_page_s(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    image = "<img src=https://example.invalid/x.png onerror=hit=1>"
    browser.evaluate(f"document.body.insertAdjacentHTML('beforeend', '{image}')")
    browser.evaluate(
        "const added = document.createElement('script'); added.text = 'hit = 2'; document.body.append(added)"
    )
    browser.evaluate("fetch('https://example.invalid/').catch(() => null)")
    assert browser.evaluate("typeof hit") == "undefined"
    rejected = [each["params"]["entry"]["text"] for each in browser.events if each["method"] == "Log.entryAdded"]
    assert len([each for each in rejected if "Content Security Policy" in each]) >= 3


@pytest.mark.parametrize("size", SIZES)
def test_everything_that_is_used_or_read_has_a_name(browser: Browser, page: Path, size: str) -> None:
    open_page(browser, page, size)
    found = browser.accessible()
    assert [each for each in found if each["role"] in NAMED and not each["name"].strip()] == []
    assert names(found, "navigation") == ["Sections"]
    assert names(found, "region") == [
        "Node groups",
        "Where pods run",
        "Ready for arm64",
        "DaemonSets",
        "When something fails",
        "Cost per month",
    ]
    assert {"Node groups and NodePools", "Workloads", "Where each DaemonSet runs", "Failures"} <= set(
        names(found, "table")
    )
    assert "Nodes by group" in names(found, "image")
    assert "Filter Node groups and NodePools" in names(found, "searchbox")
    headings = {each["name"]: level(each) for each in found if each["role"] == "heading"}
    assert (headings["payments-prod"], headings["Where pods run"], headings["Workloads"]) == (1, 2, 3)


NAMED = {"button", "columnheader", "heading", "image", "img", "link", "region", "rowheader", "searchbox", "table"}


def names(found: list[dict[str, Any]], role: str) -> list[str]:
    return [each["name"] for each in found if each["role"] == role]


def level(node: dict[str, Any]) -> int:
    return next(int(each["value"]["value"]) for each in node["properties"] if each["name"] == "level")


@pytest.mark.parametrize("size", SIZES)
def test_a_table_is_one_for_a_screen_reader_at_any_width(browser: Browser, page: Path, size: str) -> None:
    open_page(browser, page, size)
    found = browser.accessible()
    table = next(each for each in found if each["role"] == "table" and each["name"] == "Failures")
    children = {each["nodeId"]: each for each in found}

    def below(node: dict[str, Any]) -> list[dict[str, Any]]:
        own = [children[each] for each in node["childIds"] if each in children]
        return [*own, *(deeper for each in own for deeper in below(each))]

    roles = [each["role"] for each in below(table)]
    assert roles.count("row") == 5
    assert roles.count("columnheader") == 6
    assert roles.count("rowheader") == 4
    # Cells that are empty are not shown on a phone.
    assert roles.count("cell") == (18 if size == "phone" else 20)


@pytest.mark.parametrize("size", SIZES)
def test_a_table_is_sorted_by_the_keyboard(browser: Browser, page: Path, size: str) -> None:
    open_page(browser, page, size)
    before = first_cells(browser, "failures-table-1")
    assert before == ["nothing fails", "zone eu-west-1b", "arm64 spot", "largest node"]
    focus(browser, "pods without a node")
    column = "document.activeElement.closest('th').getAttribute('aria-sort')"
    assert browser.evaluate(column) == "none"
    browser.press("Enter")
    assert browser.evaluate(column) == "descending"
    assert first_cells(browser, "failures-table-1")[:2] == ["zone eu-west-1b", "largest node"]
    browser.press(" ")
    assert browser.evaluate(column) == "ascending"
    assert first_cells(browser, "failures-table-1")[-1] == "zone eu-west-1b"
    browser.press("Enter")
    assert browser.evaluate(column) == "none"
    assert first_cells(browser, "failures-table-1") == before


def test_amounts_that_are_unknown_come_last_in_both_directions(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    buttons = "[...document.querySelector('#cost-table-1 ~ .scroll').querySelectorAll('thead button')]"
    button = f"{buttons}.find((each) => each.innerText === 'now')"
    for expected in (["default-arm64", "base"], ["base", "default-arm64"]):
        browser.evaluate(f"{button}.click()")
        assert first_cells(browser, "cost-table-1") == [*expected, "default-arm64-spot"]


def test_a_table_is_filtered_by_the_keyboard_and_says_how_many_rows_are_left(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    focus(browser, "Filter Node groups and NodePools")
    said = "document.activeElement.nextElementSibling.innerText"
    assert browser.evaluate(said) == "8 rows"
    browser.press(*"SPOT arm64")
    assert browser.evaluate(said) == "2 of 8 rows"
    assert first_cells(browser, "nodes-table-1") == ["jobs-arm64-spot", "general-arm64-spot"]
    assert "2 of 8 rows" in [each["name"] for each in browser.accessible() if each["role"] == "StaticText"]
    browser.press("Escape")
    assert browser.evaluate(said) == "8 rows"


def test_details_of_a_cell_unfold_by_the_keyboard(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    focus(browser, "fails")
    reasons = "document.activeElement.closest('details').querySelector('ul')"
    assert browser.evaluate(f"{reasons}.checkVisibility()") is False
    browser.press("Enter")
    assert browser.evaluate(f"{reasons}.checkVisibility()") is True


def test_without_scripts_the_tables_are_complete(browser: Browser, page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        open_page(browser, page)
        found = browser.accessible()
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert names(found, "searchbox") == names(found, "button") == []
    assert "general-arm64-spot" in names(found, "rowheader")
