"""Events: what is written about whom, how often, and that nothing waits for them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.admission import AdmissionMode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook import events as module
from multiarch.webhook.events import REPEAT_SECONDS, Events
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason, Request
from tests.kubernetes import api_server, kubeconfigs
from tests.webhook.serving import run
from tests.webhook.stand_ins import AMD64_ONLY, UID, RecordingObserver, StandInImages, pod, review_of

LEAVE = Decision(
    DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, "shop/api:1 lacks arm64", images=("shop/api:1",)
)


def request(**changed: Any) -> Request:
    fields = {"uid": "u", "namespace": "shop", "name": "api-*", "owner": "ReplicaSet/api", "dry_run": False}
    return Request(
        **{**fields, "mode": AdmissionMode.TOLERATE, "owner_api_version": "apps/v1", "owner_uid": "o-1", **changed}
    )


@asynccontextmanager
async def writing(
    folder: Path, clock: list[float], status: int = 201
) -> AsyncIterator[tuple[api_server.ApiServer, Events, Counter[str]]]:
    """Events, and an API server that gets them and answers with ``status``."""
    results: Counter[str] = Counter()
    rejection = {"kind": "Status", "reason": "Forbidden", "message": "no"}

    def answer(_: api_server.Request) -> api_server.Answer:
        return status, {} if status == HTTPStatus.CREATED else rejection, {}

    with api_server.serving(answer) as server:

        def report(result: str) -> None:
            results.update([result])

        async with Events(report, lambda: kubeconfigs.opened(folder, server.url), lambda: clock[0]) as events:
            yield server, events, results


async def settled(results: Counter[str], number: int) -> None:
    async with asyncio.timeout(5):
        while results.total() < number:  # noqa: ASYNC110 (a counter has no event)
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)


def test_an_event_is_about_the_controller_and_valid_for_the_api(tmp_path: Path) -> None:
    async def work() -> None:
        async with writing(tmp_path, [0.0]) as (server, events, results):
            events.decided(request(), LEAVE, 0.001)
            await settled(results, 1)
            assert results == {"created": 1}
            (found,) = server.requests
            assert found.path == "/apis/events.k8s.io/v1/namespaces/shop/events"
            body = json.loads(found.body)
            assert body["regarding"] == {
                "kind": "ReplicaSet",
                "name": "api",
                "namespace": "shop",
                "apiVersion": "apps/v1",
                "uid": "o-1",
            }
            assert (body["reason"], body["type"], body["action"]) == ("UnsupportedImage", "Normal", "Leave")
            assert body["note"] == "The pod gets no toleration: shop/api:1 lacks arm64."
            assert body["metadata"]["name"].startswith("api.")

    run(work)


def test_repetitions_dry_runs_and_other_decisions_make_no_event(tmp_path: Path) -> None:
    clock = [0.0]

    async def work() -> None:
        async with writing(tmp_path, clock) as (server, events, results):
            for _ in range(1000):
                events.decided(request(), LEAVE, 0.001)
            events.decided(request(dry_run=True, owner="Job/a"), LEAVE, 0.001)
            events.decided(request(owner="", name="bare-*"), LEAVE, 0.001)
            for outcome in (DecisionOutcome.TOLERATE, DecisionOutcome.SKIP, DecisionOutcome.UNKNOWN):
                events.decided(request(owner="Job/b"), Decision(outcome, DecisionReason.DEADLINE, "…"), 0.001)
            events.decided(request(owner="", name="bare"), LEAVE, 0.001)
            await settled(results, 2)
            clock[0] = REPEAT_SECONDS + 1
            events.decided(request(), LEAVE, 0.001)
            await settled(results, 3)
            found = [json.loads(each.body)["regarding"] for each in server.requests]
            assert [f"{each['kind']}/{each['name']}" for each in found] == [
                "ReplicaSet/api",
                "Pod/bare",
                "ReplicaSet/api",
            ]

    run(work)


def test_a_namespace_can_t_lead_to_another_path_of_the_api_server(tmp_path: Path) -> None:
    async def work() -> None:
        async with writing(tmp_path, [0.0]) as (server, events, results):
            names = ("a/../../../../api/v1/namespaces/kube-system", "shop?x=")
            for namespace in names:
                events.decided(request(namespace=namespace), LEAVE, 0.001)
            await settled(results, len(names))
            assert {each.path.count("/") for each in server.requests} == {6}

    run(work)


def test_a_failing_api_server_is_counted_and_logged_once_and_a_flood_is_dropped(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        async with writing(tmp_path, [0.0], status=403) as (_, events, results):
            events.decided(request(owner="Job/first"), LEAVE, 0.001)
            await settled(results, 1)
            for number in range(300):
                events.decided(request(owner=f"Job/{number}"), LEAVE, 0.001)
            assert results == {"failed": 1, "dropped": 100}
            await settled(results, 103)
            assert set(results) == {"dropped", "failed"}

    run(work)
    (record,) = caplog.records
    assert record.getMessage().startswith("Events can't be written until the API server takes them again (")


def test_the_handler_names_the_controllers_uid_where_events_are_on() -> None:
    async def work() -> None:
        for on, expected in ((True, ("apps/v1", UID)), (False, ("", ""))):
            observer = RecordingObserver()
            handler = Handler(WebhookConfiguration(events=on), StandInImages(default=AMD64_ONLY), observer)
            await handler.review(review_of(pod("shop/api:1")))
            found = observer.decisions[0][0]
            assert (found.owner_api_version, found.owner_uid) == expected

    run(work)
