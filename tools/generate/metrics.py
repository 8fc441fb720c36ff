"""The webhook's metrics, as the documents list them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from multiarch.facts.admission import AdmissionMode
from multiarch.registry.errors import RegistryReason
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason, Request
from multiarch.webhook.review import FailureReason


def metric_families() -> Iterable[Metric]:
    """Return what a webhook to which everything has happened exposes."""
    metrics = Metrics()
    for outcome in DecisionOutcome:
        for reason in DecisionReason:
            request = Request("uid", "shop", "web-*", "ReplicaSet/web", AdmissionMode.TOLERATE, dry_run=False)
            metrics.decided(request, Decision(outcome, reason, "text"), 0.001)
    for failure in FailureReason:
        metrics.failed(failure, "text")
    metrics.responses.labels("200").inc()
    metrics.expiry.set(1_800_000_000.0)
    metrics.watch_server(lambda: 1.0, lambda: 2.0)
    for each in RegistryReason:
        metrics.registry_errors.labels(each.replace(" ", "-")).inc()
    metrics.watch_look_ups(lambda: 1.0, lambda: 2.0, 131_072, 512)
    return text_string_to_metric_families(metrics.text()[0].decode())
