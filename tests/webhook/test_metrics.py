"""The metrics' names and labels: dashboards and alert rules are written for them."""

from __future__ import annotations

from multiarch import __version__
from multiarch.facts.admission import AdmissionMode
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason, Request

REQUEST = Request("u", "team-a", "api", "", AdmissionMode.PIN, dry_run=False)


def samples(metrics: Metrics) -> dict[str, float]:
    lines = [line for line in metrics.text()[0].decode().splitlines() if line.startswith("multiarch_webhook_")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_decisions_are_counted_by_outcome_reason_and_mode_with_their_duration() -> None:
    metrics = Metrics()
    for seconds in (0.0004, 0.002, 0.7):
        metrics.decided(REQUEST, Decision(DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, "…"), seconds)
    metrics.failed("not-json", "…")
    found = samples(metrics)
    labels = 'mode="pin",outcome="leave",reason="unsupported-image"'
    assert found[f"multiarch_webhook_decisions_total{{{labels}}}"] == 3
    bucket = 'multiarch_webhook_review_duration_seconds_bucket{{le="{}",outcome="leave"}}'
    assert [found[bucket.format(le)] for le in ("0.0005", "0.0025", "0.5", "1.0", "+Inf")] == [1, 2, 2, 3, 3]
    assert found['multiarch_webhook_failures_total{reason="not-json"}'] == 1


def test_series_for_alerts_are_there_from_the_start() -> None:
    metrics = Metrics()
    metrics.watch_look_ups(lambda: 0.0, lambda: 0.0, 5, 512)
    found = samples(metrics)
    for name in (
        'multiarch_webhook_certificate_reloads_total{result="failure"}',
        'multiarch_webhook_certificate_reloads_total{result="success"}',
        'multiarch_webhook_image_cache_requests_total{result="hit"}',
        'multiarch_webhook_image_cache_requests_total{result="miss"}',
        'multiarch_webhook_image_cache_requests_total{result="stale"}',
        'multiarch_webhook_log_lines_dropped_total{reason="rate-limit"}',
        'multiarch_webhook_log_lines_dropped_total{reason="write-error"}',
        'multiarch_webhook_lookups_total{purpose="refresh"}',
        'multiarch_webhook_lookups_total{purpose="review"}',
        "multiarch_webhook_connections_refused_total",
        "multiarch_webhook_lookups_in_progress",
    ):
        assert found[name] == 0, name


def test_the_format_is_what_prometheus_asks_for_and_the_process_is_in_it() -> None:
    metrics = Metrics()
    text, content_type = metrics.text("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")
    text, content_type = metrics.text()
    assert content_type.startswith("text/plain; version=0.0.4")
    assert b"\nprocess_resident_memory_bytes " in text
    assert f'version="{__version__}"' in text.decode()
    assert b"_created" not in text
