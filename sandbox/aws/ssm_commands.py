"""Commands of the stand-in for SSM Run Command: they really run, and are cut and reported as by SSM.

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

from sandbox.aws.ssm_targets import Target

__all__ = ["PLUGIN", "Command", "Invocation"]

PLUGIN: Final = "aws:runShellScript"
_LISTED, _STDOUT, _STDERR = 2_500, 24_000, 8_000
_OUT_CUT, _ERROR_CUT, _ERROR_TITLE = (
    "\n---Output truncated---",
    "\n---Error truncated----",
    "\n----------ERROR-------\n",
)
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
    ended: float = 0.0
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
        self.detail, self.ended = detail, time.time()
        if self._process is not None and self._result is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def status(self) -> dict[str, str]:
        """Status and StatusDetails."""
        return {"Status": _STATUS.get(self.detail, self.detail), "StatusDetails": self.detail}

    def listed(self) -> dict[str, Any]:
        """Its plugin in ListCommandInvocations."""
        times = {"ResponseStartDateTime": self.began} | ({"ResponseFinishDateTime": self.ended} if self.ended else {})
        output = _merged(self.stdout, self.stderr)
        return {"Name": PLUGIN, **self.status, "ResponseCode": self.code, "Output": output, **times}

    def fetched(self) -> dict[str, Any]:
        """Its part of GetCommandInvocation."""
        return {
            "InstanceId": self.instance,
            "PluginName": PLUGIN,
            "ResponseCode": self.code,
            **self.status,
            "StandardOutputContent": _cut(self.stdout, _STDOUT),
            "StandardErrorContent": _cut(self.stderr, _STDERR),
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
        """What a command and its invocations have in common."""
        named = {"CommandId": self.id, "DocumentName": self.request["DocumentName"]}
        return named | {"Comment": self.request.get("Comment", "")}

    def described(self) -> dict[str, Any]:
        """The command as SendCommand and ListCommands show it."""
        states = {each.detail for each in self.invocations.values()}
        status = "InProgress" if "InProgress" in states else "Success" if states == {"Success"} else "Failed"
        return self.common() | {
            "InstanceIds": list(self.invocations),
            "Parameters": self.request["Parameters"],
            "RequestedDateTime": self.sent,
            "ExpiresAfter": self.sent + self.request.get("TimeoutSeconds", 3600),
            "Status": status,
            "StatusDetails": status,
            "TargetCount": len(self.invocations),
            "TimeoutSeconds": self.request.get("TimeoutSeconds", 3600),
        }


def _cut(text: str, limit: int) -> str:
    """As the agent cuts what GetCommandInvocation shows: by bytes, and the mark is within the limit."""
    data = text.encode()
    return text if len(data) < limit else data[: limit - len(_CUT)].decode(errors="replace") + _CUT


def _merged(stdout: str, stderr: str) -> str:
    """As the agent joins and cuts both streams for ListCommandInvocations."""
    title = _ERROR_TITLE if stderr else ""
    out, error, space = stdout.encode(), stderr.encode(), _LISTED - len(title)
    if len(out) + len(error) < space:
        return f"{stdout}{title}{stderr}"
    if len(out) > space // 2 and len(error) > space // 2:
        half = (space - len(_ERROR_CUT) - len(_OUT_CUT)) // 2
        parts = [out[:half], _OUT_CUT.encode(), title.encode(), error[:half], _ERROR_CUT.encode()]
    elif len(out) < space // 2:
        parts = [out, title.encode(), error[: space - len(_ERROR_CUT) - len(out)], _ERROR_CUT.encode()]
    else:
        parts = [out[: space - len(_OUT_CUT) - len(error)], _OUT_CUT.encode(), title.encode(), error]
    return b"".join(parts).decode(errors="replace")
