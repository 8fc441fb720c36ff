"""Grafana's own types read the dashboard, its queries find data, and it follows the rules of Grafana's linter.

The linter itself (github.com/grafana/dashboard-linter) is not in the Go module proxy, so its rules are tested here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.observability import metrics, promtool
from tests.observability.promtool import ROOT

FILE = ROOT / "observability" / "dashboard.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COUNTER = re.compile(r"\b\w+(?:_total|_count|_bucket)\{")


def panels() -> Iterator[dict[str, Any]]:
    yield from (panel for panel in DASHBOARD["panels"] if panel["type"] != "row")


def queries() -> Iterator[tuple[str, str]]:
    """Each query with its panel's title, its variables replaced by what Grafana would write for "All"."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def replaced(query: str) -> str:
    for variable, value in {"$job": ".+", "$instance": ".+", "$apiserver": ".+", "$__rate_interval": "5m"}.items():
        query = query.replace(variable, value)
    return query


def test_grafanas_types_read_all_of_it() -> None:
    plugins.register_default_plugins()
    written = json.dumps(Dashboard.from_json(DASHBOARD), cls=JSONEncoder)
    assert lost(DASHBOARD, json.loads(written)) == []


def lost(given: Any, read: Any, path: str = "") -> list[str]:  # noqa: ANN401 (JSON)
    """Paths of values that were not read, or not as they were written. Defaults that were added do not count."""
    if isinstance(given, dict) and isinstance(read, dict):
        return [each for key in given for each in lost(given[key], read.get(key), f"{path}.{key}")]
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        return [each for at, (a, b) in enumerate(zip(given, read, strict=True)) for each in lost(a, b, f"{path}[{at}]")]
    return [] if given == read else [f"{path}: {given!r} was read as {read!r}"]


def test_every_panel_says_what_it_shows_in_which_unit_and_asks_the_chosen_data_source() -> None:
    for panel in panels():
        assert panel["title"], panel["id"]
        assert panel["description"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["targets"], panel["title"]
        assert [panel["datasource"], *(each["datasource"] for each in panel["targets"])] == [SOURCE] * (
            1 + len(panel["targets"])
        )
    identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(identifiers) == len(set(identifiers))


def test_data_source_job_and_instance_can_be_chosen() -> None:
    by_name = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert (by_name["datasource"]["type"], by_name["datasource"]["query"]) == ("datasource", "prometheus")
    for name in ("job", "instance", "apiserver"):
        variable = by_name[name]
        assert (variable["type"], variable["datasource"], variable["refresh"]) == ("query", SOURCE, 2)
        assert (variable["multi"], variable["includeAll"], variable["allValue"]) == (True, True, ".+")
        metric = re.fullmatch(r"label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)", variable["query"]["query"])
        assert metric
        assert metric[2] in metrics.known_labels()[metric[1]]
    assert DASHBOARD["editable"] is False


@pytest.mark.parametrize(("title", "query"), list(queries()))
def test_every_query_is_of_the_chosen_job_and_counters_are_rates(title: str, query: str) -> None:
    for selector in re.findall(r"\w+\{([^}]*)\}", query):
        chosen = 'job=~"$apiserver"' if "webhook[.]multiarch-eks" in selector else 'job=~"$job",instance=~"$instance"'
        assert selector.startswith(chosen), title
    assert re.findall(r"\[([^]]*)\]", re.sub(r'"[^"]*"', "", query)) == (
        ["1h"] if "increase(" in query else ["$__rate_interval"] * query.count("rate(")
    )
    for counter in COUNTER.finditer(query):
        assert query[: counter.start()].endswith(("rate(", "increase(")), title


def test_every_metric_of_the_webhook_is_shown() -> None:
    shown = {name for _, query in queries() for name, _ in metrics.used(query)}
    own = {name for name, _ in metrics.webhook() if name.startswith("multiarch_webhook")}
    of_histograms = {f"multiarch_webhook_review_duration_seconds_{each}" for each in ("count", "sum")}
    assert own - of_histograms == {name for name in shown if name.startswith("multiarch_webhook")}


@pytest.mark.tools
def test_every_query_finds_data(tmp_path: Path) -> None:
    every = (*metrics.webhook(), *metrics.api_server())
    series = {promtool.written(name, labels): "1+1x90" for name, labels in every}
    found = [
        {
            "expr": f"count({replaced(query)}) > bool 0",
            "eval_time": "80m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for _, query in queries()
    ]
    promtool.unit_test(tmp_path, [{"series": series, "promql_expr_test": found}])
