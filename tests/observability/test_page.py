"""What docs/webhook.md says is what the webhook writes, and every outcome and reason is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing

import yaml
from pydantic import BaseModel

from multiarch.facts.admission import OFF, AdmissionMode
from multiarch.facts.taints import parse_taint
from multiarch.schema.admission_webhook import AdmissionWebhook
from multiarch.webhook.decision_log import DecisionLog
from multiarch.webhook.logs import Log
from multiarch.webhook.manifests import render_manifests
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason, Request
from multiarch.webhook.policy import build_admission_policy
from multiarch.webhook.review import FailureReason
from tests.observability.promtool import ALERTS, ROOT

PAGE = (ROOT / "docs" / "webhook.md").read_text(encoding="utf-8")
IMAGE = "registry.example.com/shop/ledger:2.1"


def test_every_outcome_reason_and_mode_is_documented() -> None:
    for word in (*DecisionOutcome, *DecisionReason, *FailureReason, *AdmissionMode, OFF):
        assert f"`{word}`" in PAGE or f'reason="{word}"' in PAGE, word


def test_the_quoted_line_of_the_log_is_a_real_one() -> None:
    (quoted,) = re.findall(r'^ *(\{"time":.*\})$', PAGE, re.MULTILINE)
    request = Request(
        "5f8a3c52-8f5e-4a55-9d3b-0d1c5a1f2b7e",
        "shop",
        "ledger-7c9d8b6f5-*",
        "ReplicaSet/ledger-7c9d8b6f5",
        AdmissionMode.TOLERATE,
        dry_run=False,
    )
    text = f"{IMAGE} does not support arm64: single manifest for linux/amd64"
    decision = Decision(DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, text, images=(IMAGE,))
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


def keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a section and of those below it, as they are written in YAML."""
    for definition in [schema := model.model_json_schema(), *schema.get("$defs", {}).values()]:
        yield from definition.get("properties", ())


OF_KUBERNETES = {"caBundle", "failurePolicy", "nodeSelector"}


def test_every_key_of_the_page_can_be_set() -> None:
    known = {"admissionWebhook", *keys(AdmissionWebhook), *OF_KUBERNETES}
    spans = re.findall(r"`([a-z]+(?:[A-Z][a-z]+)*(?:\.[a-z]+(?:[A-Z][a-z]+)*)*)(?:: [^`]*)?`", PAGE)
    written = {part for span in spans if span != span.lower() for part in span.split(".")}
    assert len(written) > 15
    assert written - known == set()


def test_the_names_of_objects_are_those_that_are_installed() -> None:
    shipped = yaml.safe_load_all(render_manifests("registry.example.com/multiarch:0.1.0"))
    every = [*shipped, *build_admission_policy("multiarch-tolerations", [parse_taint("arch=arm64:NoSchedule")])]
    made = {(each["kind"].lower(), each["metadata"]["name"]) for each in every}
    for kind, name in (
        ("mutatingwebhookconfiguration", "zz-multiarch-webhook"),
        ("certificate", "multiarch-webhook"),
        ("deployment", "multiarch-webhook"),
        ("service", "multiarch-webhook"),
        ("namespace", "multiarch-webhook"),
    ):
        assert (kind, name) in made
        assert name in PAGE
    named = set(re.findall(r"\bkubectl (?:-n multiarch-webhook )?(?:delete|get) (\w+) ([a-z][a-z-]+)\b(?![,/])", PAGE))
    assert named
    assert named <= made
