"""The webhook's metrics for Prometheus. Dashboards and alerts depend on their names and labels.

Names: https://prometheus.io/docs/practices/naming/
"""

from __future__ import annotations

import platform
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

from multiarch import __version__
from multiarch.webhook.model import Decision, Request

PREFIX = "multiarch_webhook"
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""The buckets of durations: a warm review takes less than a millisecond, and the API server waits for 3 s."""


class Metrics:
    """All metrics of a process, in a registry of their own. An Observer."""

    def __init__(self) -> None:
        """Begin at zero."""
        # Without this each series has another one with the time of its creation, which Prometheus does not use.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._decisions = self._counter("decisions", "Decisions about pods.", "outcome", "reason", "mode")
        text = "Time from a whole review to its answer."
        name = f"{PREFIX}_review_duration_seconds"
        self._seconds = Histogram(name, text, ["outcome"], registry=self._registry, buckets=SECONDS)
        self._by_decision: dict[tuple[str, str, str], tuple[Callable[[], None], Callable[[float], None]]] = {}
        self._failures = self._counter("failures", "Requests that are not reviews, and reviews that failed.", "reason")
        self.responses = self._counter("http_responses", "HTTP responses by status code.", "code")
        self._requests = self._gauge("http_requests_in_progress", "HTTP requests that are being answered.")
        self._connections = self._gauge("connections", "Open connections.")
        self.rejected = self._counter("connections_refused", "Connections closed because too many were open.")
        self.reloads = self._counter("certificate_reloads", "Changes of the certificate's files.", "result")
        self.expiry = self._gauge(
            "certificate_expiry_timestamp_seconds", "When the certificate in use expires, as Unix time."
        )
        self._lines = self._counter("log_lines_dropped", "Log lines that were not written, by reason.", "reason")
        images = self._counter("image_cache_requests", "Images that reviews requested.", "result")
        self.hit, self.stale, self.miss = (images.labels(each).inc for each in ("hit", "stale", "miss"))
        text = "Look-ups that queried a registry: for a review, or to check a tag in the background."
        self.look_ups = self._counter("lookups", text, "purpose")
        self.registry_errors = self._counter("registry_errors", "Failed look-ups by reason.", "reason")
        self._gauge("build_info", "Versions, as labels.", "version", "python").labels(
            __version__, platform.python_version()
        ).set(1)
        _begin(self.reloads, "success", "failure")
        _begin(self._lines, "rate-limit", "write-error")
        _begin(self.look_ups, "review", "refresh")

    def decided(self, request: Request, decision: Decision, seconds: float) -> None:
        """Count a decision."""
        key = decision.outcome, decision.reason, request.mode
        found = self._by_decision.get(key)
        if found is None:
            # Looking the labels up takes as long as all else in here.
            found = self._decisions.labels(*key).inc, self._seconds.labels(decision.outcome).observe
            self._by_decision[key] = found
        found[0]()
        found[1](seconds)

    def failed(self, reason: str, text: str) -> None:
        """Count a request that is not a review, or a review that failed."""
        del text
        self._failures.labels(reason).inc()

    def watch_server(self, requests: Callable[[], float], connections: Callable[[], float]) -> None:
        """Read the numbers of requests and connections from these functions."""
        self._requests.set_function(requests)
        self._connections.set_function(connections)

    def watch_look_ups(
        self, entries: Callable[[], float], under_way: Callable[[], float], most_entries: int, entry_bytes: int
    ) -> None:
        """Read the numbers of remembered images and of look-ups from these functions."""
        self._gauge("image_cache_entries", "Remembered images.").set_function(entries)
        size = self._gauge("image_cache_size_bytes", "Memory of remembered images, as estimated.")
        size.set_function(lambda: entries() * entry_bytes)
        self._gauge("image_cache_limit_bytes", "The limit of that memory.").set(most_entries * entry_bytes)
        self._gauge("lookups_in_progress", "Look-ups under way.").set_function(under_way)

    def lines_dropped(self, reason: str, lines: int) -> None:
        """Count log lines that were not written for ``rate-limit`` or ``write-error``."""
        self._lines.labels(reason).inc(lines)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics in the format that the header Accept requests, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", text, labels, registry=self._registry)


def _begin(counter: Counter, *values: str) -> None:
    """Show these values of the only label from the start: an alert on an increase misses a series' first sample."""
    for value in values:
        counter.labels(value)
