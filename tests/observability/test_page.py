"""What docs/webhook.md says is what the webhook writes, and every outcome and reason is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import closing

import yaml

from multiarch.facts.admission import OFF, Mode
from multiarch.webhook.decision_log import DecisionLog
from multiarch.webhook.logs import Log
from multiarch.webhook.model import Decision, Outcome, Reason, Request
from multiarch.webhook.review import FailureReason
from tests.observability.promtool import ALERTS, ROOT

PAGE = (ROOT / "docs" / "webhook.md").read_text(encoding="utf-8")
IMAGE = "registry.example.com/shop/ledger:2.1"


def test_every_outcome_reason_and_mode_is_documented() -> None:
    for word in (*Outcome, *Reason, *FailureReason, *Mode, OFF):
        assert f"`{word}`" in PAGE or f'reason="{word}"' in PAGE, word


def test_the_quoted_line_of_the_log_is_a_real_one() -> None:
    (quoted,) = re.findall(r'^ *(\{"time":.*\})$', PAGE, re.MULTILINE)
    request = Request(
        "5f8a3c52-8f5e-4a55-9d3b-0d1c5a1f2b7e",
        "shop",
        "ledger-7c9d8b6f5-*",
        "ReplicaSet/ledger-7c9d8b6f5",
        Mode.TOLERATE,
        dry_run=False,
    )
    text = f"{IMAGE} does not support arm64: single manifest for linux/amd64"
    decision = Decision(Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, text, images=(IMAGE,))
    reading, writing = os.pipe()
    with os.fdopen(reading) as lines, os.fdopen(writing, "w"), closing(Log(descriptor=writing)) as log:
        DecisionLog(log).decided(request, decision, 0.000214)
        written = json.loads(lines.readline())
    assert list(json.loads(quoted)) == list(written)
    assert {**json.loads(quoted), "time": ""} == {**written, "time": ""}


def test_the_documented_command_makes_a_prometheusrule() -> None:
    (command,) = re.findall(r"^(\{ printf .*?; \}) \| kubectl apply -f -$", PAGE, re.DOTALL | re.MULTILINE)
    made = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rule = yaml.safe_load(made)
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert rule["spec"] == yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
