"""The stand-in for SSM Run Command: its commands really run, within SSM's limits.

Some of the limits are checked by botocore before a request is sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multiarch.ssm.model import AnswerStatus
from multiarch.ssm.run_command import run_script
from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from tests.sandbox.served import CLONE, Served

NAME = "i-0123456789abcdef0"


@pytest.fixture
def remote(aws: Served) -> Remote:
    return Remote(aws.endpoint)


def test_what_takes_longer_than_its_time_is_killed(aws: Served, remote: Remote, tmp_path: Path) -> None:
    remote.register(NAME, Target())
    began = time.monotonic()
    pid = tmp_path / "pid"
    answer = run_script(aws.client("ssm"), f"echo $$ > {pid}; sleep 60", [NAME], seconds=5)[NAME]
    assert answer.status is AnswerStatus.TIMED_OUT
    assert answer.reason == "the script did not end in time"
    assert 5 <= time.monotonic() - began < 15
    assert ended(pid)


def ended(pid: Path) -> bool:
    """Whether a process ends within a second."""
    for _ in range(20):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


CTRL_C = """
import boto3, sys
from botocore.config import Config
from multiarch.ssm.run_command import run_script
client = boto3.client("ssm", region_name="eu-west-1", endpoint_url=sys.argv[1])
run_script(client, "sleep 62", [sys.argv[2]], progress=lambda *_: print("asking", flush=True))
"""


def test_ctrl_c_cancels_what_runs(aws: Served, remote: Remote) -> None:
    remote.register(NAME, Target())
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "PYTHONPATH": str(CLONE)}
    command = [sys.executable, "-c", CTRL_C, aws.endpoint, NAME]
    with subprocess.Popen(
        command, env={**os.environ, **keys}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "asking\n"
        while not remote.calls()["ssm:SendCommand"]:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().endswith("KeyboardInterrupt\n")
    assert remote.calls()["ssm:CancelCommand"] == 1
