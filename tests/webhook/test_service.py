"""What the process of the webhook does every few seconds."""

from __future__ import annotations

import asyncio

import pytest

from multiarch.webhook.service import check_forever


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
