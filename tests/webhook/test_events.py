"""Events: what is written about whom, how often, and that nothing waits for them."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from multiarch.errors import MultiarchError
from multiarch.facts.admission import Mode
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook import events as module
from multiarch.webhook.events import REPEAT_SECONDS, Events, event
from multiarch.webhook.handler import Handler
from multiarch.webhook.model import Decision, Outcome, Reason, Request
from multiarch.webhook.pod_api import PodApi
from tests.webhook.issuing import Pair
from tests.webhook.serving import pair, run
from tests.webhook.stand_ins import AMD64_ONLY, UID, RecordingObserver, StandInImages, pod, review_of

LEAVE = Decision(Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, "shop/api:1 lacks arm64", images=("shop/api:1",))


def request(**changed: Any) -> Request:
    fields = {"uid": "u", "namespace": "shop", "name": "api-*", "owner": "ReplicaSet/api", "dry_run": False}
    return Request(**{**fields, "mode": Mode.TOLERATE, "owner_api_version": "apps/v1", "owner_uid": "o-1", **changed})


class ApiServer:
    """Takes Events; answers with ``status``."""

    def __init__(self) -> None:
        self.status = 201
        self.got: list[tuple[str, str, dict[str, Any]]] = []

    async def answer(self, asked: web.BaseRequest) -> web.Response:
        self.got.append((asked.path, asked.headers["Authorization"], json.loads(await asked.read())))
        return web.Response(status=self.status)


@asynccontextmanager
async def writing(folder: Path, clock: list[float]) -> AsyncIterator[tuple[ApiServer, Events, Counter[str]]]:
    made: Pair = pair()
    (folder / "crt").write_bytes(made.certificate)
    (folder / "key").write_bytes(made.key)
    (folder / "token").write_text("first\n", encoding="utf-8")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    api = ApiServer()
    handlers = web.Server(api.answer)
    server = await asyncio.get_running_loop().create_server(handlers, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    (folder / "ca.crt").write_bytes(made.authority)
    api_of_pod = PodApi(f"https://localhost:{port}", folder)
    results: Counter[str] = Counter()
    async with Events(api_of_pod, lambda result: results.update([result]), lambda: clock[0]) as events:
        yield api, events, results
    server.close()
    await handlers.shutdown(0.1)


async def settled(results: Counter[str], number: int) -> None:
    async with asyncio.timeout(5):
        while results.total() < number:  # noqa: ASYNC110 (a counter has no event)
            await asyncio.sleep(0.01)


def test_an_event_is_about_the_controller_and_valid_for_the_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)

    async def work() -> None:
        async with writing(tmp_path, [0.0]) as (api, events, results):
            events.decided(request(), LEAVE, 0.001)
            await settled(results, 1)
            (tmp_path / "token").write_text("second", encoding="utf-8")
            events.decided(request(owner="Job/report"), LEAVE, 0.001)
            await settled(results, 2)
            assert results == {"created": 2}
            (path, token, body), (_, second, _) = api.got
            assert (path, token, second) == (
                "/apis/events.k8s.io/v1/namespaces/shop/events",
                "Bearer first",
                "Bearer second",
            )
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


def test_repetitions_dry_runs_and_other_decisions_make_no_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)
    clock = [0.0]

    async def work() -> None:
        async with writing(tmp_path, clock) as (api, events, results):
            for _ in range(1000):
                events.decided(request(), LEAVE, 0.001)
            events.decided(request(dry_run=True, owner="Job/a"), LEAVE, 0.001)
            events.decided(request(owner="", name="bare-*"), LEAVE, 0.001)
            for outcome in (Outcome.TOLERATE, Outcome.SKIP, Outcome.UNKNOWN):
                events.decided(request(owner="Job/b"), Decision(outcome, Reason.DEADLINE, "…"), 0.001)
            for namespace in ("", "..", "a/../../../../api/v1/namespaces/kube-system", "shop?x=", "Shop"):
                events.decided(request(namespace=namespace), LEAVE, 0.001)
            events.decided(request(owner="", name="bare"), LEAVE, 0.001)
            await settled(results, 2)
            clock[0] = REPEAT_SECONDS + 1
            events.decided(request(), LEAVE, 0.001)
            await settled(results, 3)
            await asyncio.sleep(0.05)
            assert [f"{body['regarding']['kind']}/{body['regarding']['name']}" for _, _, body in api.got] == [
                "ReplicaSet/api",
                "Pod/bare",
                "ReplicaSet/api",
            ]

    run(work)


def test_outside_of_a_pod_is_an_error_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(MultiarchError, match="service account can't be used: KUBERNETES_SERVICE_HOST is not set"):
        PodApi(account=tmp_path)
    (tmp_path / "ca.crt").write_text("nonsense")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "::1")
    with pytest.raises(MultiarchError, match="service account can't be used: "):
        PodApi(account=tmp_path)


def test_a_failing_api_server_is_counted_and_logged_once_and_a_flood_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)

    async def work() -> None:
        async with writing(tmp_path, [0.0]) as (api, events, results):
            api.status = 403
            events.decided(request(owner="Job/first"), LEAVE, 0.001)
            await settled(results, 1)
            for number in range(300):
                events.decided(request(owner=f"Job/{number}"), LEAVE, 0.001)
            assert results == {"failed": 1, "dropped": 100}
            (tmp_path / "token").unlink()
            await settled(results, 301)
            assert results == {"dropped": 100, "failed": 201}

    run(work)
    (record,) = caplog.records
    assert record.getMessage() == "Events can't be written until the API server takes them again (it answered 403)"


def test_a_long_reason_fits_into_a_note() -> None:
    decision = Decision(Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE, "é" * 3000)
    made = event(request(owner=f"ReplicaSet/{'a' * 253}"), f"ReplicaSet/{'a' * 253}", decision, datetime.now(UTC))
    assert len(made["note"].encode()) <= 1024
    assert len(made["metadata"]["name"]) <= 253


def test_the_name_of_an_event_is_valid_where_the_owners_is_cut() -> None:
    made = event(request(), f"Job/{'a-' * 120}", LEAVE, datetime.now(UTC))
    assert re.fullmatch(r"(a-)+a\.[0-9a-f]{16}", made["metadata"]["name"])


def test_the_handler_names_the_controllers_uid_where_events_are_on() -> None:
    async def work() -> None:
        for on, expected in ((True, ("apps/v1", UID)), (False, ("", ""))):
            observer = RecordingObserver()
            handler = Handler(WebhookConfiguration(events=on), StandInImages(default=AMD64_ONLY), observer)
            await handler.review(review_of(pod("shop/api:1")), None)
            found = observer.decisions[0][0]
            assert (found.owner_api_version, found.owner_uid) == expected

    run(work)
