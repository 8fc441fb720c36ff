"""Commands of the stand-in for SSM Run Command and where they run: really, and cut and reported as by SSM.

Sources: amazon-ssm-agent (iohandler: the limits and marks of outputs; runscript), Systems Manager user guide,
"Understanding command statuses".
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["PLUGIN", "Command", "Faults", "Invocation", "Target"]

PLUGIN: Final = "aws:runShellScript"
_STDOUT, _STDERR = 24_000, 8_000
_CUT: Final = "--output truncated--"

# The status of the API for each status detail; others are the same.
_STATUS: Final[Mapping[str, str]] = {
    "ExecutionTimedOut": "TimedOut",
    "DeliveryTimedOut": "TimedOut",
    "Undeliverable": "Failed",
    "Terminated": "Cancelled",
    "InvalidPlatform": "Failed",
    "AccessDenied": "Failed",
    "RateExceeded": "Failed",
}


@dataclass(frozen=True)
class Target:
    """One instance. By default its commands run on this machine, and its agent answers.

    ``command_prefix`` comes before ``/bin/sh -c SCRIPT``: ``["nsenter", "-t", "123", "-m", "-p"]`` for a node of the
    rig. With ``output`` nothing runs: that is what the script "prints". ``delay`` is the least time in seconds until
    the agent reports. ``status`` is the agent's ping status (Online, ConnectionLost, Inactive), None for an instance
    that never registered. ``outcome`` is a status with which the service ends the command without running it
    (Undeliverable, DeliveryTimedOut, InvalidPlatform, AccessDenied, …).
    """

    command_prefix: Sequence[str] = ()
    output: str | None = None
    errors: str = ""
    exit_code: int = 0
    delay: float = 0.0
    status: str | None = "Online"
    outcome: str = ""
    agent_version: str = "3.3.3050.0"
    platform: str = "Linux"
    platform_name: str = "Amazon Linux"

    def start(self, script: str) -> subprocess.Popen[bytes]:
        """Start the script, in a session of its own."""
        command = [*self.command_prefix, "/bin/sh", "-c", script]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


@dataclass
class Faults:
    """What the API does wrong on request.

    ``throttle`` and ``fail`` say how many of the next calls of an operation are throttled, or fail with
    InternalServerError. ``denied`` has actions (``ssm:SendCommand``) and instance IDs that SendCommand is denied for.
    ``appear_after`` are the seconds in which a new command has no invocations.
    """

    throttle: dict[str, int] = field(default_factory=dict)
    fail: dict[str, int] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)
    appear_after: float = 0.0

    def takes(self, table: str, operation: str) -> bool:
        """Count down one of the next calls; False if there is none left."""
        left: dict[str, int] = getattr(self, table)
        if left.get(operation, 0) <= 0:
            return False
        left[operation] -= 1
        return True


@dataclass
class Invocation:
    """A command on one instance. ``detail`` is its status detail, as of the last :meth:`look`."""

    instance: str
    target: Target
    detail: str = "InProgress"
    stdout: str = ""
    stderr: str = ""
    code: int = -1
    began: float = field(default_factory=time.time)
    _process: subprocess.Popen[bytes] | None = None
    _result: tuple[str, str, int] | None = None

    def start(self, script: str) -> None:
        """Run the script, or do what the target says in place of it."""
        if self.target.output is not None:
            self._result = self.target.output, self.target.errors, self.target.exit_code
        elif not self.target.outcome:
            self._process = self.target.start(script)
            threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        out, errors = process.communicate()
        self._result = out.decode(errors="replace"), errors.decode(errors="replace"), process.returncode

    def look(self, timeout: float) -> None:
        """Bring the status up to now. ``timeout`` is the command's executionTimeout in seconds."""
        passed = time.time() - self.began
        if self.detail != "InProgress":
            return
        if self.target.outcome and passed >= self.target.delay:
            self._end(self.target.outcome)
        elif self._result and self.target.delay <= passed and self.target.delay <= timeout:
            self.stdout, self.stderr, self.code = self._result
            if self.code:
                self.stderr += f"failed to run commands: exit status {self.code}"
            self._end("Failed" if self.code else "Success")
        elif passed >= timeout and not self.target.outcome:
            self._end("ExecutionTimedOut")

    def cancel(self) -> None:
        """Stop it; nothing happens if it has ended."""
        if self.detail == "InProgress":
            self._end("Cancelled")

    def _end(self, detail: str) -> None:
        self.detail = detail
        if self._process is not None and self._result is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def status(self) -> dict[str, str]:
        """Status and StatusDetails."""
        return {"Status": _STATUS.get(self.detail, self.detail), "StatusDetails": self.detail}

    def fetched(self) -> dict[str, Any]:
        """Return its part of GetCommandInvocation."""
        return {
            "InstanceId": self.instance,
            "PluginName": PLUGIN,
            "ResponseCode": self.code,
            **self.status,
            "StandardOutputContent": _cut(self.stdout.encode(), _STDOUT, _CUT),
            "StandardErrorContent": _cut(self.stderr.encode(), _STDERR, _CUT),
        }


@dataclass
class Command:
    """What SendCommand made. ``invocations`` are in the order of the request's instances."""

    request: Mapping[str, Any]
    invocations: dict[str, Invocation]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    sent: float = field(default_factory=time.time)

    @classmethod
    def send(cls, request: Mapping[str, Any], targets: Mapping[str, Target]) -> Command:
        """Start the command on each of the instances."""
        command = cls(request, {each: Invocation(each, targets[each]) for each in request["InstanceIds"]})
        script = "\n".join(request["Parameters"]["commands"])
        for invocation in command.invocations.values():
            invocation.start(script)
        return command

    def look(self) -> None:
        """Bring every invocation up to now."""
        values: Sequence[str] = self.request["Parameters"].get("executionTimeout", ["3600"])
        seconds = float(values[0])
        for invocation in self.invocations.values():
            invocation.look(seconds if seconds >= 5 else 3600)  # noqa: PLR2004 (the agent's least)

    def common(self) -> dict[str, Any]:
        """Return what a command and its invocations have in common."""
        named = {"CommandId": self.id, "DocumentName": self.request["DocumentName"]}
        return named | {"Comment": self.request.get("Comment", "")}


def _cut(data: bytes, limit: int, mark: str) -> str:
    """Cut by bytes, as the agent does; the mark is within the limit."""
    return (
        data.decode(errors="replace")
        if len(data) < limit
        else data[: limit - len(mark)].decode(errors="replace") + mark
    )
