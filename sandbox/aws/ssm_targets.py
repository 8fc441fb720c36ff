"""Where the stand-in for SSM runs the commands of an instance, and how its agent behaves."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Faults", "Target"]

_IN_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c")
# As on a node, the root is a mount.
_MOUNT_AND_ENTER = 'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -c "$1"'


@dataclass(frozen=True)
class Target:
    """One instance. By default its commands run on this machine, and its agent answers.

    ``command_prefix`` comes before ``/bin/sh -c SCRIPT``: ``["nsenter", "-t", "123", "-m", "-p"]`` for a node of the
    rig. ``root`` is a root file system, entered by chroot in mount and pid namespaces of its own (as root; one of
    another architecture needs binfmt_misc). With ``output`` nothing runs: that is what the script "prints".
    ``delay`` is the least time in seconds until the agent reports. ``status`` is the agent's ping status (Online,
    ConnectionLost, Inactive), None for an instance that never registered. ``outcome`` is a status with which the
    service ends the command without running it (Undeliverable, DeliveryTimedOut, InvalidPlatform, AccessDenied, …).
    """

    root: str = ""
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
        if self.root:
            command = [*self.command_prefix, *_IN_NAMESPACES, _MOUNT_AND_ENTER, self.root, script]
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
    ``appear_after`` are the seconds in which a new command has no invocations. ``vague`` leaves the instance IDs out of
    the message of InvalidInstanceId, as SSM sometimes does.
    """

    throttle: dict[str, int] = field(default_factory=dict)
    fail: dict[str, int] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)
    appear_after: float = 0.0
    vague: bool = False

    def takes(self, table: str, operation: str) -> bool:
        """Count down one of the next calls; False if there is none left."""
        left: dict[str, int] = getattr(self, table)
        if left.get(operation, 0) <= 0:
            return False
        left[operation] -= 1
        return True
