"""The series that dashboards and alerts may request: the webhook's, as it prints them, and the API server's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families

from tools.generate.metrics import metric_families

TARGET: Mapping[str, str] = {
    "job": "multiarch-webhook",
    "instance": "10.0.0.1:8080",
    "namespace": "multiarch-webhook",
    "pod": "multiarch-webhook-1",
}
"""Labels that Prometheus adds to what it reads from a pod."""
API_SERVER: Mapping[str, tuple[str, ...]] = {
    "apiserver_admission_webhook_fail_open_count": ("name", "type"),
    "apiserver_admission_webhook_rejection_count": ("name", "type", "operation", "error_type", "rejection_code"),
    "apiserver_admission_webhook_request_total": ("name", "type", "operation", "code", "rejected"),
    "apiserver_admission_webhook_admission_duration_seconds_bucket": ("name", "type", "operation", "rejected", "le"),
}
"""The API server's metrics that are used, with their labels; a test compares them with its source."""
ENTRY = "tolerate.webhook.multiarch-eks"
"""An entry of the MutatingWebhookConfiguration."""

Labels = Mapping[str, str]


def webhook() -> Iterator[tuple[str, Labels]]:
    """Every series of a webhook to which everything has happened, with the target's labels."""
    for family in metric_families():
        for sample in family.samples:
            yield sample.name, {**TARGET, **sample.labels}


def series(text: str) -> Iterator[tuple[str, Labels]]:
    """Every series of what a program exposes."""
    names = {re.split(r"[{ ]", line, maxsplit=1)[0] for line in text.splitlines()}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            # The parser adds _total to the name of a counter without it.
            yield sample.name if sample.name in names else sample.name.removesuffix("_total"), sample.labels


def api_server() -> Iterator[tuple[str, Labels]]:
    """The series of the API server for a call of the webhook."""
    for name, labels in API_SERVER.items():
        for bound in ("0.005", "1.0", "+Inf") if "le" in labels else ("",):
            values = {"name": ENTRY, "type": "admit", "operation": "CREATE", "rejected": "false", "le": bound}
            yield (
                name,
                {"job": "apiserver", "instance": "10.0.1.1:443", **{each: values.get(each, "x") for each in labels}},
            )


def known_labels() -> Mapping[str, set[str]]:
    """The labels of every metric, by the names in series."""
    found: dict[str, set[str]] = {"up": set(TARGET)}
    for name, labels in (*webhook(), *api_server()):
        found.setdefault(name, set()).update(labels)
    return found


_SELECTOR = re.compile(r"\b(?P<name>[a-z_]+:?[a-z_]*)(?:\{(?P<matchers>[^}]*)\})")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"')
_BARE = re.compile(r"\b(multiarch_webhook_\w+|apiserver_\w+|process_\w+|python_\w+)\b")
_GROUPS = re.compile(r"\b(?:by|on) \(([^)]*)\)")


def used(query: str) -> Iterator[tuple[str, set[str]]]:
    """The metrics that a query names, with the labels that it matches or groups by."""
    groups = {label.strip() for match in _GROUPS.finditer(query) for label in match[1].split(",")} - {""}
    matched: dict[str, set[str]] = {name: set() for name in _BARE.findall(query)}
    for match in _SELECTOR.finditer(query):
        matched.setdefault(match["name"], set()).update(_MATCHER.findall(match["matchers"]))
    for name, labels in matched.items():
        yield name, labels | groups
