"""Decisions are handed on in order, soon, and all of them at the end."""

from __future__ import annotations

import asyncio

from multiarch.facts.admission import Mode
from multiarch.webhook.deferred import FLUSH_SECONDS, Deferred
from multiarch.webhook.model import Decision, Outcome, Reason, Request
from tests.webhook.serving import run
from tests.webhook.stand_ins import RecordingObserver

SKIP = Decision(Outcome.SKIP, Reason.OPTED_OUT, "opted out")


def request(number: int) -> Request:
    return Request(str(number), "shop", "api-*", "", Mode.PIN, dry_run=False)


def test_decisions_are_handed_on_in_order_after_a_moment_and_failures_at_once() -> None:
    async def work() -> None:
        observer = RecordingObserver()
        deferred = Deferred(observer)
        for number in range(100):
            deferred.decided(request(number), SKIP, 0.001)
        deferred.failed("not-json", "Not JSON.")
        assert (len(observer.decisions), len(observer.failures)) == (0, 1)
        await asyncio.sleep(FLUSH_SECONDS * 2)
        assert [found.uid for found, _, _ in observer.decisions] == [str(number) for number in range(100)]
        deferred.decided(request(100), SKIP, 0.001)
        deferred.flush()
        assert observer.decisions[100] == (request(100), SKIP, 0.001)
        await asyncio.sleep(FLUSH_SECONDS * 2)
        assert len(observer.decisions) == 101

    run(work)
