"""What the process of the webhook does every few seconds."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from multiarch.webhook.logs import Log
from multiarch.webhook.service import Notes, check_forever


def test_a_check_that_fails_keeps_neither_itself_nor_others_from_the_next_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []

    def fails() -> None:
        done.append("fails")
        raise RuntimeError("what a client sent")

    async def work() -> None:
        often = asyncio.Event()
        loop = asyncio.get_running_loop()

        def works() -> None:
            done.append("works")
            if len(done) >= 6:
                loop.call_soon_threadsafe(often.set)

        checks = asyncio.create_task(check_forever(0.001, fails, works))
        async with asyncio.timeout(5):
            await often.wait()
        checks.cancel()

    asyncio.run(work())
    assert done[:6] == ["fails", "works"] * 3
    assert "a check failed inside of the webhook" in caplog.text


def test_a_problem_with_the_cache_on_disk_is_logged_once_and_also_a_later_one(tmp_path: Path) -> None:
    problems = ["it was damaged"]
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    log = Log(descriptor=descriptor)
    notes = Notes(lambda: problems, log)
    notes.check()
    problems.append("the disk is full")
    notes.check()
    notes.check()
    log.close()
    os.close(descriptor)
    entries = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert [(each["level"], each["message"]) for each in entries] == [("warning", each) for each in problems]
