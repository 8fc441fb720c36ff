"""The stand-in for SSM Run Command: its commands really run, within SSM's limits.

Some of the limits are checked by botocore before a request is sent.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from multiarch.ssm.model import AnswerStatus
from multiarch.ssm.run_command import run_script
from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from tests.sandbox.served import CLONE, Served

NAME = "i-0123456789abcdef0"


@pytest.fixture
def remote(aws: Served) -> Remote:
    return Remote(aws.endpoint)


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    """A root file system with a shell, ls and uname of this machine."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    for program in ("/bin/sh", "/bin/ls", "/bin/uname", "/bin/sleep"):
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for path in [program, *re.findall(r"/\S+(?= \()", linked)]:
            (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path[1:])
    return root


def told(aws: Served, script: str, *, name: str = NAME, **options: Any) -> str:
    answer = run_script(aws.client("ssm"), script, [name], **options)[name]
    assert answer.status is AnswerStatus.DONE, answer
    return answer.output


def rejected(call: Any, **parameters: Any) -> str:  # noqa: ANN401 (botocore makes its clients at run time)
    with pytest.raises((ClientError, ParamValidationError)) as caught:
        call(**parameters)
    error = caught.value
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else "ValidationException"


def test_a_command_runs_in_a_root_file_system_with_its_own_processes(
    aws: Served, remote: Remote, small_root: Path
) -> None:
    (small_root / "mark").touch()
    remote.register(NAME, Target(root=str(small_root)))
    assert "mark" in told(aws, "ls /").split()
    assert told(aws, "echo $$; ls -d /proc/[0-9]*").startswith("1\n/proc/1\n")
    assert not list((small_root / "proc").iterdir()), "/proc is mounted in the command's namespace only"


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
