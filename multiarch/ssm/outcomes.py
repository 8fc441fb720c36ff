"""What SSM says about an instance, before and after a command, as an answer.

Sources: Systems Manager user guide, "Understanding command statuses"; API reference, DescribeInstanceInformation and
GetCommandInvocation; amazon-ssm-agent (iohandler) for what the agent adds to stderr.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from multiarch.ssm.model import AnswerStatus, InstanceAnswer

_AGENT_SAYS: Final = re.compile(r"(failed to run commands: exit status -?\d+|--output truncated--)\s*\Z")
"""What the agent adds to stderr."""

_GOING_ON: Final = frozenset({"pending", "inprogress", "delayed", "cancelling", ""})
_ENDPOINTS: Final = "the endpoints ssm, ssmmessages and ec2messages (NAT gateway or VPC endpoints)"
_DELIVERY: Final = "Check that the node is not overloaded and that its SSM agent runs; then run the command again."
_AGAIN: Final = "Run the command again."
_LINUX: Final = "Only Linux nodes can be queried."
_SHELL: Final = "Open a session on the node with `aws ssm start-session`, and check its shell and its free disk space."
_ENDS: Final[Mapping[str, tuple[AnswerStatus, str, str]]] = {
    "timedout": (AnswerStatus.TIMED_OUT, "the script did not end in time", "Check the load of the node."),
    "executiontimedout": (AnswerStatus.TIMED_OUT, "the script did not end in time", "Check the load of the node."),
    "deliverytimedout": (AnswerStatus.OFFLINE, "the SSM agent did not take the command in time", _DELIVERY),
    "undeliverable": (AnswerStatus.OFFLINE, "the command could not be delivered to the SSM agent", _DELIVERY),
    "cancelled": (AnswerStatus.NOT_ASKED, "the command was cancelled before it ended", _AGAIN),
    "terminated": (AnswerStatus.NOT_ASKED, "SSM ended the command after errors on other nodes", _AGAIN),
    "invalidplatform": (AnswerStatus.NOT_ASKED, "the document does not support the node's platform", _LINUX),
    "accessdenied": (
        AnswerStatus.NOT_ASKED,
        "access denied for this instance",
        "Use credentials that allow ssm:SendCommand for it.",
    ),
    "rateexceeded": (
        AnswerStatus.NOT_ASKED,
        "the account has too many pending commands",
        "Run the command again when others have ended.",
    ),
}
"""By status detail, in lower case and without spaces: the API and the console write the same status differently."""


def explain_unreachable(instance: str, row: Mapping[str, Any] | None) -> InstanceAnswer | None:
    """Return the answer of an instance that can't run a command; None if it can.

    ``row`` is DescribeInstanceInformation's, None for an instance that SSM does not know.
    """
    if row is None:
        hint = "Attach AmazonSSMManagedInstanceCore to the node role. Check that the AMI has the SSM agent, and that"
        said = "this instance is not registered"
        return InstanceAnswer(instance, AnswerStatus.NOT_REGISTERED, "", said, f"{hint} it reaches {_ENDPOINTS}.")
    version = row.get("AgentVersion", "")
    if (ping := row.get("PingStatus", "")) != "Online":
        seen = f" since {row['LastPingDateTime']:%Y-%m-%d %H:%M %Z}".rstrip() if row.get("LastPingDateTime") else ""
        hint = f"Check that the instance is running, that its SSM agent runs, and that it reaches {_ENDPOINTS}."
        said = f"the SSM agent does not answer: ping status {ping}{seen}"
        return InstanceAnswer(instance, AnswerStatus.OFFLINE, "", said, hint, version)
    if (platform := row.get("PlatformType", "")) not in ("", "Linux"):
        return InstanceAnswer(instance, AnswerStatus.NOT_ASKED, "", f"the instance runs {platform}", _LINUX, version)
    return None


def has_ended(invocation: Mapping[str, Any]) -> bool:
    """Return whether an invocation has reached a terminal status."""
    return _detail(invocation) not in _GOING_ON


def read_answer(instance: str, agent_version: str, invocation: Mapping[str, Any]) -> InstanceAnswer:
    """Return the answer of an instance, from a terminal invocation of GetCommandInvocation."""
    detail = _detail(invocation)
    text = invocation.get("StandardOutputContent", "")
    if detail == "success":
        status, reason, hint = AnswerStatus.DONE, "", ""
    elif detail == "failed":
        status, hint = AnswerStatus.FAILED, _SHELL
        reason = f"the script ended with exit code {invocation.get('ResponseCode', 'unknown')}"
        said = _AGENT_SAYS.sub("", invocation.get("StandardErrorContent", "")).strip().splitlines()
        reason += f": {said[-1].strip()}" if said else ""
    else:
        unknown = (AnswerStatus.NOT_ASKED, f"SSM reports the status {invocation.get('StatusDetails')}", _AGAIN)
        status, reason, hint = _ENDS.get(detail, unknown)
    return InstanceAnswer(instance, status, text, reason, hint, agent_version)


def _detail(invocation: Mapping[str, Any]) -> str:
    status = invocation.get("StatusDetails") or invocation.get("Status") or ""
    plain = str(status).replace(" ", "").lower()
    return "cancelled" if plain == "canceled" else plain
