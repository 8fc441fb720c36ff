"""What the process of the webhook does every few seconds, and at its end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from multiarch.webhook.certificate import Certificate
from multiarch.webhook.logs import Log
from multiarch.webhook.metrics import Metrics
from multiarch.webhook.server import Listening, Server
from multiarch.webhook.service import check_forever, serve_requests
from tests.webhook.serving import Reviews, pair, run, write


def test_a_check_that_fails_is_made_again(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        often, loop, runs = asyncio.Event(), asyncio.get_running_loop(), []

        def check() -> None:
            runs.append(1)
            if len(runs) == 3:
                loop.call_soon_threadsafe(often.set)
            raise RuntimeError("what a client sent")

        checks = asyncio.create_task(check_forever(0.001, check))
        async with asyncio.timeout(5):
            await often.wait()
        checks.cancel()

    asyncio.run(work())
    assert "a check failed inside of the webhook" in caplog.text


def test_ctrl_c_does_not_wait_for_kubernetes(tmp_path: Path) -> None:
    write(tmp_path, pair())

    async def work() -> None:
        log, metrics = Log(descriptor=os.open(os.devnull, os.O_WRONLY)), Metrics()
        server = Server(Listening("127.0.0.1", 0, 0), Reviews().review, metrics, str, metrics.failed)
        serving = asyncio.create_task(
            serve_requests(server, Certificate(tmp_path, metrics, log), log, drain_seconds=60)
        )
        async with asyncio.timeout(10):
            while len(server.ports) < 2:  # noqa: ASYNC110 (nothing says so)
                await asyncio.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
            await serving
        log.close()

    run(work)
