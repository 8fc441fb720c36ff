"""The log: what a line has, what it never has, and what a flood of lines costs."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.admission import AdmissionMode
from multiarch.webhook.decision_log import REPEAT_SECONDS, DecisionLog
from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.model import Decision, DecisionOutcome, DecisionReason, Request


class Written:
    """A log, and the lines that it has written once it is closed."""

    def __init__(self, folder: Path, level: LogLevel = LogLevel.INFO) -> None:
        self._file = folder / "log"
        self.dropped = 0
        self._descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT)
        self.log = Log(level, descriptor=self._descriptor, dropped=self._drop)

    def _drop(self, _reason: str, lines: int) -> None:
        self.dropped += lines

    def lines(self) -> list[str]:
        self.log.close()
        os.close(self._descriptor)
        return self._file.read_text(encoding="utf-8").splitlines()

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


def request(**changed: Any) -> Request:
    fields = {"uid": "u-1", "namespace": "team-a", "name": "api-*", "owner": "ReplicaSet/api", "dry_run": False}
    return Request(**{**fields, "mode": AdmissionMode.PREFER, **changed})


LEAVE = Decision(
    DecisionOutcome.LEAVE,
    DecisionReason.UNSUPPORTED_IMAGE,
    "shop/api:1 lacks arm64",
    b'[{"op":"add"}]',
    ("shop/api:1",),
    "amd64",
)
SKIP = Decision(DecisionOutcome.SKIP, DecisionReason.OPTED_OUT, "opted out")
UNKNOWN = Decision(DecisionOutcome.UNKNOWN, DecisionReason.DEADLINE, "too slow", images=("shop/api:1",))


def test_a_decision_is_one_line_with_all_that_it_was_about(tmp_path: Path) -> None:
    written = Written(tmp_path)
    DecisionLog(written.log).decided(request(), LEAVE, 0.0012345)
    (entry,) = written.entries()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.pop("time"))
    assert entry == {
        "level": "info",
        "message": "shop/api:1 lacks arm64",
        "outcome": "leave",
        "reason": "unsupported-image",
        "mode": "prefer",
        "namespace": "team-a",
        "pod": "api-*",
        "owner": "ReplicaSet/api",
        "images": ["shop/api:1"],
        "pinned": "amd64",
        "dryRun": False,
        "milliseconds": 1.234,
        "uid": "u-1",
    }


def test_levels_filter(tmp_path: Path) -> None:
    counts = {}
    for level in LogLevel:
        folder = tmp_path / level
        folder.mkdir()
        written = Written(folder, level=level)
        log = DecisionLog(written.log)
        for decision in (LEAVE, SKIP, UNKNOWN):
            log.decided(request(), decision, 0.001)
        counts[str(level)] = [entry["outcome"] for entry in written.entries()]
    assert counts == {
        "debug": ["leave", "skip", "unknown"],
        "info": ["leave", "unknown"],
        "warning": ["unknown"],
        "error": [],
    }


def test_repeated_decisions_about_one_owner_are_one_line_a_minute(tmp_path: Path) -> None:
    now = [0.0]
    written = Written(tmp_path)
    log = DecisionLog(written.log, clock=lambda: now[0])
    for _ in range(10):
        log.decided(request(), LEAVE, 0.001)
    log.decided(request(owner="ReplicaSet/web"), LEAVE, 0.001)
    log.decided(request(mode=AdmissionMode.PIN), LEAVE, 0.001)
    log.decided(request(), UNKNOWN, 0.001)
    now[0] = REPEAT_SECONDS + 1
    log.decided(request(), LEAVE, 0.001)
    found = [(each["owner"], each["mode"], each["outcome"], each.get("repeated")) for each in written.entries()]
    assert found == [
        ("ReplicaSet/api", "prefer", "leave", None),
        ("ReplicaSet/web", "prefer", "leave", None),
        ("ReplicaSet/api", "pin", "leave", None),
        ("ReplicaSet/api", "prefer", "unknown", None),
        ("ReplicaSet/api", "prefer", "leave", 9),
    ]


@pytest.mark.exhaustive
def test_a_flood_is_bounded_and_counted_and_the_next_pod_of_an_owner_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiarch.webhook.logs.LINES_PER_SECOND", 3)
    time.sleep(1.05 - time.time() % 1.0)  # the beginning of a second
    written = Written(tmp_path)
    log = DecisionLog(written.log)
    library = logging.getLogger("test.webhook.flood")
    library.addHandler(written.log)
    for index in range(5):
        log.decided(request(owner=f"Job/{index}"), LEAVE, 0.001)
        log.failed("not-json", "Not JSON.")
        library.warning("what clients can cause")
    assert written.dropped == 12
    time.sleep(1.0 - time.time() % 1.0)
    log.decided(request(owner="Job/4"), LEAVE, 0.001)
    assert [entry.get("owner") for entry in written.entries()] == ["Job/0", None, None, "Job/4"]


HOSTILE = 'a\x1b[31m\x7f\x9b\u202e\n\r\t"\\é日'


def test_no_text_of_others_steers_a_terminal_or_begins_a_line(tmp_path: Path) -> None:
    written = Written(tmp_path)
    decision = Decision(DecisionOutcome.LEAVE, DecisionReason.UNSUPPORTED_IMAGE, HOSTILE, images=(HOSTILE,))
    DecisionLog(written.log).decided(request(owner=HOSTILE, name=HOSTILE), decision, 0.001)
    (line,) = written.lines()
    assert line.isprintable()
    entry = json.loads(line)
    assert (entry["message"], entry["owner"], entry["images"]) == (HOSTILE, HOSTILE, [HOSTILE])


def test_a_log_that_nobody_reads_delays_nothing_and_its_lines_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiarch.webhook.logs._MAXIMUM_WAITING", 10)
    reader, writer = os.pipe()
    dropped: Counter[str] = Counter()
    log = Log(level=LogLevel.DEBUG, descriptor=writer, dropped=lambda reason, lines: dropped.update({reason: lines}))
    for _ in range(1000):
        log.write(LogLevel.INFO, "x" * 100)
    assert dropped["write-error"] > 0
    os.close(reader)
    log.close()
    os.close(writer)


def test_closing_writes_what_was_queued_while_the_reader_was_slow() -> None:
    reading, writing = os.pipe()
    log = Log(level=LogLevel.DEBUG, descriptor=writing)
    for _ in range(900):
        log.write(LogLevel.INFO, "x" * 100)
    time.sleep(0.1)  # the pipe is full now
    log.write(LogLevel.INFO, "the last line")
    found: list[bytes] = []

    def read() -> None:
        while part := os.read(reading, 65536):
            found.append(part)

    reader = threading.Timer(0.2, read)
    reader.start()
    log.close()
    os.close(writing)
    reader.join()
    os.close(reading)
    assert b"the last line" in b"".join(found)


def test_what_libraries_log_has_the_errors_class_and_not_its_message(tmp_path: Path) -> None:
    written = Written(tmp_path)
    library = logging.getLogger("test.webhook.errors")
    library.addHandler(written.log)
    try:
        int("password=hunter2")
    except ValueError:
        library.exception("Error handling request from %s", "10.0.0.1")
    library.debug("GET /")
    (entry,) = written.entries()
    del entry["time"]
    assert entry == {
        "level": "error",
        "message": "Error handling request from 10.0.0.1",
        "logger": "test.webhook.errors",
        "error": "ValueError",
    }
