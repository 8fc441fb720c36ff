"""The page as HTML: complete, self-contained, and with every name of others as text."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from multiarch.errors import MultiarchError
from multiarch.prices.model import UnknownPrice
from multiarch.report.bars import draw_chart
from multiarch.report.contents import ReportContents, Unread
from multiarch.report.model import BarChart, ChartBar, ChartPiece, PageSection, PageTable, Status
from multiarch.report.pages import build_page
from multiarch.report.rendering import Renderer
from multiarch.report.sections.cost import build_cost_section
from tests.report import samples

UNREAD = Unread("The API server 127.0.0.1:1 of context production can't be reached: connection refused.")


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and the text of style and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.text: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, _tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside].append(data)
        elif data.strip():
            self.text.append(data.strip())


def parsed(contents: ReportContents) -> Parsed:
    return Parsed(Renderer().render(build_page(contents)))


def section(contents: ReportContents, identifier: str) -> PageSection:
    return next(each for each in build_page(contents).sections if each.identifier == identifier)


def table(contents: ReportContents, identifier: str, title: str) -> PageTable:
    return next(each for each in section(contents, identifier).tables if each.title.startswith(title))


def rows(found: PageTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in found.rows]


@pytest.fixture(scope="module")
def page() -> Parsed:
    return parsed(samples.contents())


def test_every_section_is_there_with_its_heading_and_a_link_to_it(page: Parsed) -> None:
    links = {attributes["href"] for tag, attributes in page.elements if tag == "a"}
    sections = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert sections == ["nodes", "pods", "images", "daemonsets", "failures", "cost"]
    assert {f"#{each}" for each in sections} <= links
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_the_policy_allows_the_page_s_own_style_and_script_alone(page: Parsed) -> None:
    (policy,) = [
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    for tag in ("style", "script"):
        assert sum(each == tag for each, _ in page.elements) == 1
        digest = base64.b64encode(hashlib.sha256("".join(page.raw[tag]).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none';")
    assert "unsafe" not in str(policy)


def test_nothing_is_loaded_and_no_attribute_has_code(page: Parsed) -> None:
    for tag, attributes in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in {"style", "src"}
            if name == "href":
                assert value == "data:," or str(value).startswith("#")


def test_names_of_others_stay_text() -> None:
    contents = samples.contents()
    evil = samples.placement(workload=samples.HOSTILE)
    html = Renderer().render(
        build_page(replace(contents, placement=evil, source=samples.HOSTILE, capacity=Unread(samples.HOSTILE)))
    )
    assert not [tag for tag, _ in Parsed(html).elements if tag == "img"]
    assert "\\u202e" in html
    assert "\u202e" not in html
    assert html.count("&lt;img src=x") >= 3


def test_each_part_that_was_not_read_says_why_and_the_others_are_there() -> None:
    contents = replace(samples.contents(), placement=UNREAD, workloads=UNREAD, capacity=UNREAD)
    found = {each.identifier: each.unread for each in build_page(contents).sections}
    assert found == {
        "nodes": "",
        "pods": UNREAD.reason,
        "images": UNREAD.reason,
        "daemonsets": "",
        "failures": UNREAD.reason,
        "cost": "",
    }
    assert f"Nodes were not read: {UNREAD.reason}" in section(contents, "nodes").notes
    shown = {figure.label: figure.value for figure in build_page(contents).figures}
    assert [label for label, value in shown.items() if value == "–"] == [
        "Nodes",
        "Pods on arm64",
        "Workloads blocked",
        "Failures survived",
    ]
    assert "".join(parsed(contents).text).count(UNREAD.reason) == 4


def test_the_key_figures_summarize_the_sections() -> None:
    shown = {figure.label: (figure.value, figure.detail) for figure in build_page(samples.contents()).figures}
    assert shown["Nodes"] == ("6", "3 arm64, 3 amd64")
    assert shown["Pods on arm64"] == ("71 %", "15 of 21 pods, 2 without a node")
    assert shown["Workloads blocked"] == ("3", "of 6, 1 unknown")
    assert shown["DaemonSet findings"] == ("1", "in 2 DaemonSets")
    assert shown["Failures survived"] == ("2 of 3", "1 workload short")
    assert shown["Cost per month"] == ("830", "USD, plus unknown costs")


def test_groups_of_the_plan_have_the_nodes_that_are_there_and_others_are_counted() -> None:
    found = {row[0]: row[4] for row in rows(table(samples.contents(), "nodes", "Node groups"))}
    assert (found["base"], found["arm64-services"], found["(other nodes)"]) == ("2", "0", "1")
    without = {row[0]: row[4] for row in rows(table(replace(samples.contents(), placement=UNREAD), "nodes", "Node gr"))}
    assert (without["base"], without["general-arm64-spot"]) == ("3", "as needed")


def test_workloads_show_where_their_pods_are() -> None:
    found = {row[0]: row[1:] for row in rows(table(samples.contents(), "pods", "Workloads"))}
    zones = "eu-west-1a 3, eu-west-1b 3, eu-west-1c 3"
    assert found["Deployment/api"] == ["shop", "9", "9", "0", "0", "3", zones]
    assert found["Deployment/legacy-billing"][:5] == ["pay", "6", "0", "4", "2"]


def test_images_that_block_name_all_their_users() -> None:
    (row,) = table(samples.contents(), "images", "Images").rows
    assert [cell.text for cell in row][:3] == ["registry.example/old:1", "8", "the index has amd64 only"]
    assert row[-1].details == ("shop Deployment/billing", "shop Deployment/invoices")
    states = [row[2] for row in rows(table(samples.contents(), "images", "Next step"))]
    assert states == ["blocked", "blocked", "blocked", "unknown", "ready", "already there"]


def test_a_cell_of_the_matrix_of_daemon_sets_has_its_reasons() -> None:
    cells = {row[0].text: row[1:] for row in table(samples.contents(), "daemonsets", "Where").rows}
    runs, fails = cells["ops/agent"]
    assert (runs.text, runs.details) == ("runs", ())
    assert (fails.text, fails.status) == ("fails", Status.BAD)
    assert fails.details == ("This is a finding.", "image registry.example/agent:1 has no arm64 build")


def test_a_workload_that_is_short_comes_first_with_what_limits_it() -> None:
    first, *_ = table(samples.contents(), "failures", "Pods").rows
    assert [cell.text for cell in first] == ["shop billing", "amd64", "12 of 12", "9 of 12", "12 of 12", "11 of 12"]
    assert first[3].status is Status.BAD
    assert first[5].status is Status.WARNING
    short, *_ = rows(table(samples.contents(), "failures", "What is short"))
    assert short[:4] == ["shop billing", "zone eu-west-1b", "9 of 12", "10"]
    assert short[5] == "raise nodeGroups.base.maxSize to 6, or spread it over zones"


def test_the_way_to_a_better_stack_file_is_named_where_a_failure_is_not_survived() -> None:
    hint = "`multiarch capacity` with `--recommend`"
    assert hint in section(samples.contents(), "failures").summary
    survived = replace(samples.capacity(), failures=samples.capacity().failures[1:2])
    assert hint not in section(replace(samples.contents(), capacity=survived), "failures").summary


def test_pods_that_cost_less_on_amd64_are_not_said_to_cost_more() -> None:
    found = build_cost_section(replace(samples.cost(), fallback=Decimal("-58.41")))
    assert "Pods on amd64 nodes that may run on arm64 cost 58.41 less." in found.summary


def test_a_price_that_is_unknown_says_why() -> None:
    found = {row[0].text: row for row in table(samples.contents(), "cost", "Nodes").rows}
    unknown = next(cell for cell in found["default-arm64-spot"] if cell.text == "unknown")
    assert unknown.details == ("EC2 had no spot price for m7g.xlarge in eu-west-1",)
    assert section(samples.contents(), "cost").warnings == (f"Unknown: {unknown.details[0]}.",)
    by_group, by_kind = section(samples.contents(), "cost").charts
    assert [bar.text for bar in by_group.bars] == ["357.41", "294.34", "unknown"]
    assert [(bar.label, bar.text) for bar in by_kind.bars][:2] == [
        ("arm64 on-demand nodes", "357.41 (43%)"),
        ("amd64 on-demand nodes", "294.34 (35%)"),
    ]
    assert [bar.text for bar in by_kind.bars][-1] == "unknown"


def test_a_region_without_prices_has_no_currency_and_no_charts() -> None:
    none = UnknownPrice("prices.json has no prices of eu-west-9; `multiarch prices fetch` adds them")
    lines = tuple(replace(line, monthly=none) for line in samples.cost().nodes)
    without = replace(
        samples.cost(),
        currency="",
        prices_fetched_at=None,
        nodes=lines,
        others=(),
        at_maximum_size=(),
        fallback=none,
        savings=(),
    )
    found = section(replace(samples.contents(), cost=without), "cost")
    assert found.warnings == (f"Unknown: {none.reason}.",)
    assert found.charts == ()
    assert [each.title for each in found.tables] == ["Nodes (per month)"]


def test_commands_in_sentences_are_code() -> None:
    html = Renderer().render(
        build_page(replace(samples.contents(), cost=Unread("`multiarch prices fetch` writes <prices>.")))
    )
    assert "<code>multiarch prices fetch</code> writes &lt;prices&gt;." in html
    assert "one ` alone" in Renderer().render(build_page(replace(samples.contents(), cost=Unread("one ` alone"))))


def test_bars_share_one_scale_and_their_text_says_all() -> None:
    arm, amd = ChartPiece("arm64", 3, Status.ARM64, "3"), ChartPiece("amd64", 1, Status.AMD64, "1")
    drawing = draw_chart(BarChart("Nodes", (ChartBar("a" * 60, (arm, amd), "4"), ChartBar("b", (amd,), "1"))))
    assert [[(piece["x"], piece["width"]) for piece in bar["pieces"]] for bar in drawing["bars"]] == [
        [("0.000%", "75.000%"), ("75.000%", "25.000%")],
        [("0.000%", "25.000%")],
    ]
    assert drawing["bars"][0]["label"] == "a" * 31 + "…"
    assert drawing["description"] == f"{'a' * 60}: 3 arm64, 1 amd64; b: 1 amd64"
    assert drawing["legend"] == [("arm64", Status.ARM64), ("amd64", Status.AMD64)]
    assert draw_chart(BarChart("Nothing", (ChartBar("none", (), "0"),)))["bars"][0]["pieces"] == []


def test_without_jinja_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MultiarchError, match=r"Jinja2 is not installed\. .*pip install Jinja2"):
        Renderer()


def test_every_status_that_marks_a_cell_or_a_bar_has_a_style() -> None:
    html = Renderer().render(build_page(samples.contents()))
    style = html[html.index("<style>") : html.index("</style>")]
    for status in Status:
        if status:
            assert re.search(rf"\.{status}\b", style), status
