"""Each alert fires when it should, says what it should, and does not fire for what comes close; promtool says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from multiarch.webhook.metrics import Metrics
from tests.observability import metrics, promtool
from tests.observability.promtool import ALERTS, ROOT, Series

pytestmark = pytest.mark.tools

WEBHOOK = 'namespace="multiarch-webhook",job="multiarch-webhook"'
REPLICA = f'{WEBHOOK},instance="10.0.0.1:8080",pod="multiarch-webhook-1"'
OTHER = REPLICA.replace("-1", "-2").replace("0.1:", "0.2:")
NAME = "tolerate.webhook.multiarch-eks"
CALLED = f'name="{NAME}",type="admit"'
GROUPED = {"namespace": "multiarch-webhook", "job": "multiarch-webhook"}

RULES: Mapping[str, Mapping[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}


def metric(name: str, labels: str = REPLICA, **more: str) -> str:
    return f"{name}{{{','.join([labels, *(f'{key}={chr(34)}{value}{chr(34)}' for key, value in more.items())])}}}"


def webhook(name: str, **more: str) -> str:
    return metric(f"multiarch_webhook_{name}", **more)


def decisions(outcome: str, reason: str) -> str:
    return webhook("decisions_total", outcome=outcome, reason=reason, mode="tolerate")


def durations(name: str, labels: str, counts: Mapping[str, str]) -> Series:
    return {metric(f"{name}_bucket", labels, le=bound): values for bound, values in counts.items()}


@dataclass(frozen=True)
class Case:
    """Series for which an alert fires, and for which it does not, after 90 minutes.

    ``labels`` are those of the alert besides severity; ``says`` is its description.
    """

    fires: Series
    quiet: Series
    says: str
    labels: Mapping[str, str] = field(default_factory=lambda: GROUPED)


REVIEWS = "multiarch_webhook_review_duration_seconds"
CALLS = "apiserver_admission_webhook_admission_duration_seconds"
FAIL_OPEN = "apiserver_admission_webhook_fail_open_count"
REJECTIONS = "apiserver_admission_webhook_rejection_count"
EXPIRY = "certificate_expiry_timestamp_seconds"
DAY = 86400
END = 90 * 60
"""The seconds at which alerts are looked at; time starts at 0."""

CASES: Mapping[str, Case] = {
    "MultiarchWebhookAbsent": Case(
        {metric("up", 'job="other"'): "1x90"},
        {webhook("build_info", version="0.1.0", python="3.12"): "1x90"},
        "Either no replica runs, or Prometheus does not find them. Without a replica, pods are created as before, but "
        "get no toleration for arm64 nodes.",
        {},
    ),
    "MultiarchWebhookDown": Case(
        {metric("up"): "1x80 0x10", metric("up", OTHER): "1x90"},
        {metric("up"): "1x87 0x3", metric("up", 'job="other"'): "0x90"},
        "10.0.0.1:8080 has not answered on its metrics port for 5 minutes.",
        {**GROUPED, "instance": "10.0.0.1:8080", "pod": "multiarch-webhook-1"},
    ),
    "MultiarchWebhookFailsOpen": Case(
        {metric(FAIL_OPEN, CALLED): "_x84 1x6"},
        {metric(FAIL_OPEN, CALLED): "7x90", metric(FAIL_OPEN, 'name="vpa.k8s.io",type="admit"'): "0+1x90"},
        f"Calls of {NAME} failed in the last 10 minutes: no connection, no valid certificate, or no answer within the "
        "timeout. The pods were created as they were.",
        {"name": NAME},
    ),
    "MultiarchWebhookRejectsPods": Case(
        {metric(REJECTIONS, CALLED, error_type="calling_webhook_error"): "_x84 1x6"},
        {
            metric(REJECTIONS, CALLED, error_type="calling_webhook_error"): "3x90",
            metric(REJECTIONS, 'name="policy.example.com",type="admit"', error_type="no_error"): "0+1x90",
        },
        f"The API server rejected pods because of {NAME} in the last 10 minutes. The webhook itself never rejects a "
        "pod: look at failurePolicy, which must be Ignore.",
        {"name": NAME},
    ),
    "MultiarchWebhookSlowForAPIServer": Case(
        durations(CALLS, CALLED, {"1.0": "0+98x90", "2.5": "0+100x90", "+Inf": "0+100x90"}),
        durations(CALLS, CALLED, {"0.5": "0+99x90", "1.0": "0+100x90", "2.5": "0+100x90", "+Inf": "0+100x90"}),
        f"As the API server measures it, 1% of the calls of {NAME} take 1.75s or longer. It waits 3 s at most.",
        {"name": NAME},
    ),
    "MultiarchWebhookNearDeadline": Case(
        durations(REVIEWS, REPLICA, {"1.0": "0+98x90", "1.5": "0+100x90", "+Inf": "0+100x90"}),
        durations(REVIEWS, REPLICA, {"0.5": "0+99x90", "1.0": "0+100x90", "1.5": "0+100x90", "+Inf": "0+100x90"}),
        "1% of the reviews take 1.25s or longer; look-ups end at the deadline.",
    ),
    "MultiarchWebhookUnknownDecisions": Case(
        {
            decisions("unknown", "deadline"): "0+2x90",
            decisions("tolerate", "supported"): "0+8x90",
            decisions("skip", "opted-out"): "0+900x90",
        },
        {decisions("unknown", "deadline"): "0+1x90", decisions("tolerate", "supported"): "0+9x90"},
        "For 20% of the pods, an image could not be read in time; they got no toleration.",
    ),
    "MultiarchWebhookRegistryErrors": Case(
        {
            webhook("registry_errors_total", reason="unreachable"): "0+2x90",
            webhook("registry_errors_total", reason="denied"): "0+1x90",
            webhook("lookups_total", purpose="review"): "0+6x90",
        },
        {
            webhook("registry_errors_total", reason="unreachable"): "0+1x90",
            webhook("registry_errors_total", reason="not-found"): "0+5x90",
            webhook("registry_errors_total", reason="not-allowed"): "0+5x90",
            webhook("lookups_total", purpose="review"): "0+6x90",
        },
        "50% of the look-ups fail because of a registry or the way to it.",
    ),
    "MultiarchWebhookRateLimited": Case(
        {webhook("registry_errors_total", reason="rate-limited"): "0+1x90"},
        {webhook("registry_errors_total", reason="rate-limited"): "5x90"},
        "Images that are not in the cache can't be looked up until the registry answers again.",
    ),
    "MultiarchWebhookCertificateExpires": Case(
        {webhook(EXPIRY): f"{END + 10 * DAY}x90", metric(f"multiarch_webhook_{EXPIRY}", OTHER): f"{END + 60 * DAY}x90"},
        {webhook(EXPIRY): f"{END + 15 * DAY}x90"},
        "It expires in 10d 0h 0m 0s.",
    ),
    "MultiarchWebhookCertificateExpiresSoon": Case(
        {webhook(EXPIRY): f"{END + DAY}x90"},
        {webhook(EXPIRY): f"{END + 3 * DAY}x90"},
        "It expires in 1d 0h 0m 0s. After that, the API server creates pods without calling the webhook.",
    ),
    "MultiarchWebhookCertificateNotReloaded": Case(
        {webhook("certificate_reloads_total", result="failure"): "0x80 1x10"},
        {
            webhook("certificate_reloads_total", result="failure"): "1x90",
            webhook("certificate_reloads_total", result="success"): "0x80 1x10",
        },
        "10.0.0.1:8080 serves the previous one. Its log says what is wrong with the files.",
        {**GROUPED, "instance": "10.0.0.1:8080", "pod": "multiarch-webhook-1"},
    ),
    "MultiarchWebhookReviewsFail": Case(
        {webhook("failures_total", reason="internal"): "0+1x90"},
        {webhook("failures_total", reason="internal"): "9x90"},
        "Requests fail with the reason internal. Pods are created as they are.",
        {**GROUPED, "reason": "internal"},
    ),
    "MultiarchWebhookConnectionsRefused": Case(
        {webhook("connections_refused_total"): "0x84 1x6"},
        {webhook("connections_refused_total"): "4x90"},
        "More connections were open than a replica accepts. The API servers open only a few.",
    ),
    "MultiarchWebhookTooManyLookups": Case(
        {decisions("unknown", "too-many-lookups"): "0+1x90"},
        {decisions("unknown", "too-many-lookups"): "4x90", decisions("unknown", "deadline"): "0+1x90"},
        "Pods are left alone whose images are not in the cache.",
    ),
    "MultiarchWebhookCacheTooSmall": Case(
        {
            webhook("image_cache_size_bytes"): "95x90",
            webhook("image_cache_limit_bytes"): "100x90",
            webhook("image_cache_requests_total", result="miss"): "0+3x90",
            webhook("image_cache_requests_total", result="hit"): "0+7x90",
        },
        {
            webhook("image_cache_size_bytes"): "95x90",
            webhook("image_cache_limit_bytes"): "100x90",
            webhook("image_cache_requests_total", result="miss"): "0+1x90",
            webhook("image_cache_requests_total", result="hit"): "0+9x90",
        },
        "It is full, and more than a fifth of the images that pods request are not in it.",
    ),
    "MultiarchWebhookInvalidMode": Case(
        {decisions("skip", "invalid-mode"): "_x80 1x10"},
        {decisions("skip", "invalid-mode"): "1x90", decisions("skip", "opted-out"): "0+1x90"},
        "Its pods are left alone. The namespace's label multiarch-eks/webhook must be tolerate, prefer, pin, observe "
        "or off, the pod's annotation off.",
    ),
}


def test_each_alert_fires_when_it_should_and_not_when_it_is_close(tmp_path: Path) -> None:
    assert set(CASES) == set(RULES)
    tests: list[Mapping[str, Any]] = []
    for name, case in CASES.items():
        rule = RULES[name]
        fired = {
            "exp_labels": {**rule["labels"], **case.labels},
            "exp_annotations": {**rule["annotations"], "description": case.says},
        }
        for kind, series, expected in (("fires", case.fires, [fired]), ("quiet", case.quiet, [])):
            wanted = {"eval_time": "90m", "alertname": name, "exp_alerts": expected}
            tests.append({"name": f"{name} {kind}", "series": series, "alert_rule_test": [wanted]})
    promtool.unit_test(tmp_path, tests)


def test_calls_that_go_on_failing_go_on_alerting(tmp_path: Path) -> None:
    for name in ("MultiarchWebhookFailsOpen", "MultiarchWebhookRejectsPods", "MultiarchWebhookInvalidMode"):
        series = {
            key: values.replace("_x84 1x6", "0+1x90").replace("_x80 1x10", "0+1x90")
            for key, values in CASES[name].fires.items()
        }
        firing = f'ALERTS{{alertname="{name}",alertstate="firing"}}'
        wanted = {"expr": f"count({firing})", "eval_time": "90m", "exp_samples": [{"labels": "{}", "value": 1}]}
        promtool.unit_test(tmp_path, [{"series": series, "promql_expr_test": [wanted]}])


def test_promtool_finds_nothing_in_the_rules() -> None:
    assert f"{len(RULES)} rules found" in promtool.run("check", "rules", "--lint=all", "--lint-fatal", ALERTS)


@pytest.mark.parametrize("name", RULES)
def test_each_alert_says_how_bad_it_is_and_has_a_runbook(name: str) -> None:
    rule = RULES[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert "{{" not in rule["annotations"]["summary"]
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert anchor == name.lower()
    assert f"\n### {name}\n" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RULES)
def test_every_metric_and_label_of_an_alert_exists(name: str) -> None:
    known = metrics.known_labels()
    for metric_name, labels in metrics.used(RULES[name]["expr"]):
        assert labels <= known[metric_name], metric_name


def test_the_series_of_the_cases_exist() -> None:
    known = metrics.known_labels()
    for case in CASES.values():
        for series in (*case.fires, *case.quiet):
            for metric_name, labels in metrics.used(series):
                assert labels <= known[metric_name], series


def test_promtool_finds_nothing_in_the_metrics() -> None:
    promtool.run("check", "metrics", text=Metrics().text()[0].decode())
