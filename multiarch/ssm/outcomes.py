"""What Run Command's statuses and outputs mean.

Sources: Systems Manager user guide, "Understanding command statuses"; API reference, GetCommandInvocation and
CommandPlugin; the limits and marks of cut outputs are those of amazon-ssm-agent (iohandler).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from multiarch.ssm.model import Answer, AnswerStatus

_LISTED: Final = 2_500
"""ListCommandInvocations has this much of stdout and stderr together."""
_LISTED_MARKS: Final = ("\n---Output truncated---", "\n---Error truncated----", "\n----------ERROR-------\n")
_FETCHED: Final = 24_000
"""GetCommandInvocation has this much of stdout. The agent counts bytes, the service characters."""
_FETCHED_MARK: Final = "--output truncated--"
_AGENT_SAYS: Final = re.compile(r"(failed to run commands: exit status -?\d+|--output truncated--)\s*\Z")
"""What the agent adds to stderr."""

_GOING_ON: Final = frozenset({"pending", "inprogress", "delayed", "cancelling", ""})
_DELIVERY: Final = "Check that the node is not overloaded and that its SSM agent runs; then run the command again."
_AGAIN: Final = "Run the command again."
_LINUX: Final = "Only Linux nodes can be asked."
_SHELL: Final = "Open a session on the node with `aws ssm start-session`, and check its shell and its free disk space."
_PRINTS: Final = "Check what the node's shell prints before it runs a script."
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


def ended(invocation: Mapping[str, Any]) -> bool:
    """Whether an invocation has reached a terminal status."""
    return _detail(invocation) not in _GOING_ON


def ran(invocation: Mapping[str, Any]) -> bool:
    """Whether the script ran to its end, so that GetCommandInvocation has more to say."""
    return _detail(invocation) in {"success", "failed"}


def whole_output(invocation: Mapping[str, Any]) -> str | None:
    """The script's stdout if ListCommandInvocations has all of it; None if GetCommandInvocation must be asked.

    It must be asked if the script failed, if it wrote to stderr, or if the output may be cut.
    """
    if _detail(invocation) != "success":
        return None
    output = "".join(plugin.get("Output") or "" for plugin in invocation.get("CommandPlugins", ()))
    cut = len(output.encode()) >= _LISTED or any(mark in output for mark in _LISTED_MARKS)
    return None if cut or not output else output


def answer(instance: str, agent_version: str, invocation: Mapping[str, Any], output: str | None = None) -> Answer:
    """The answer of an instance, from a terminal invocation.

    ``invocation`` is GetCommandInvocation's; with ``output``, what :func:`whole_output` says, one of
    ListCommandInvocations will do.
    """
    detail = _detail(invocation)
    text = invocation.get("StandardOutputContent", "") if output is None else output
    if detail == "success":
        cut = text.endswith(_FETCHED_MARK) or len(text.encode()) >= _FETCHED
        status, reason, hint = AnswerStatus.DONE, "", ""
        if cut:
            status, hint = AnswerStatus.TRUNCATED, _PRINTS
            reason = f"the output has more than {_FETCHED:,} characters"
    elif detail == "failed":
        status, hint = AnswerStatus.FAILED, _SHELL
        reason = f"the script ended with exit code {invocation.get('ResponseCode', 'unknown')}"
        said = _AGENT_SAYS.sub("", invocation.get("StandardErrorContent", "")).strip().splitlines()
        reason += f": {said[-1].strip()}" if said else ""
    else:
        unknown = (AnswerStatus.NOT_ASKED, f"SSM reports the status {invocation.get('StatusDetails')}", _AGAIN)
        status, reason, hint = _ENDS.get(detail, unknown)
    return Answer(instance, status, text, reason, hint, agent_version)


def _detail(invocation: Mapping[str, Any]) -> str:
    status = invocation.get("StatusDetails") or invocation.get("Status") or ""
    plain = str(status).replace(" ", "").lower()
    return "cancelled" if plain == "canceled" else plain
