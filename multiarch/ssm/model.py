"""What SSM Run Command answers for one instance."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from multiarch.serialization import OMITTED


class AnswerStatus(StrEnum):
    """What became of a command on one instance."""

    DONE = "done"
    """The script ended with exit code 0. Of its output SSM gives 24,000 characters."""
    FAILED = "failed"
    """The script ended with another exit code; ``output`` is what it printed."""
    TIMED_OUT = "timed out"
    """The script did not end in time, or not before the deadline of this program."""
    OFFLINE = "offline"
    """The SSM agent has registered the instance, but does not answer now."""
    NOT_REGISTERED = "not registered"
    """SSM does not know the instance: no agent, no permission in its instance profile, or no way to the endpoint."""
    NOT_ASKED = "not asked"
    """The command was rejected for this instance, not sent in time, or cancelled; ``reason`` says which."""


@dataclass(frozen=True, slots=True)
class InstanceAnswer:
    """The answer of one instance. ``reason`` and ``hint`` are empty for ``done``.

    ``agent_version`` is the SSM agent's, empty if SSM does not know the instance.
    """

    instance: str = field(metadata=OMITTED)
    status: AnswerStatus
    output: str = field(default="", metadata=OMITTED)
    reason: str = ""
    hint: str = ""
    agent_version: str = ""
