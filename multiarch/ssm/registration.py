"""Which instances SSM knows, and whether their agents answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from multiarch.ssm.calls import Calls
from multiarch.ssm.model import Answer, AnswerStatus

PAGE: Final = 50
"""DescribeInstanceInformation returns up to 50 instances per page, so that 50 IDs need one call.

Source: Systems Manager API reference, DescribeInstanceInformation (a filter may have 100 values).
"""

_ENDPOINTS: Final = "the endpoints ssm, ssmmessages and ec2messages (NAT gateway or VPC endpoints)"


@dataclass(frozen=True, slots=True)
class Registration:
    """An instance as SSM knows it: ``ping`` is Online, ConnectionLost or Inactive; ``seen`` is the last ping's time."""

    instance: str
    ping: str
    seen: str
    agent_version: str
    platform: str
    """Linux, Windows or MacOS; empty if the agent has not said it."""


def read_registrations(calls: Calls, instances: Sequence[str]) -> dict[str, Registration]:
    """Return up to 50 instances as SSM knows them; those that it does not know are missing.

    Raises OutOfTimeError, ClientError and BotoCoreError.
    """
    found: dict[str, Registration] = {}
    more: dict[str, str] = {}
    while True:
        wanted = [{"Key": "InstanceIds", "Values": list(instances)}]
        page = calls("describe_instance_information", Filters=wanted, MaxResults=PAGE, **more)
        found |= {row["InstanceId"]: _registration(row) for row in page.get("InstanceInformationList", ())}
        if not page.get("NextToken"):
            return found
        more = {"NextToken": page["NextToken"]}


def unreachable(instance: str, row: Registration | None) -> Answer | None:
    """Return the answer of an instance that can't run a command; None if it can."""
    if row is None:
        return Answer(
            instance,
            AnswerStatus.NOT_REGISTERED,
            reason="SSM does not know this instance",
            hint="Attach AmazonSSMManagedInstanceCore to the node role. Check that the AMI has the SSM agent, and that"
            f" it reaches {_ENDPOINTS}.",
        )
    if row.ping != "Online":
        return Answer(
            instance,
            AnswerStatus.OFFLINE,
            reason=f"the SSM agent does not answer: ping status {row.ping}"
            + (f" since {row.seen}" if row.seen else ""),
            hint=f"Check that the instance is running, that its SSM agent runs, and that it reaches {_ENDPOINTS}.",
            agent_version=row.agent_version,
        )
    if row.platform not in ("", "Linux"):
        return Answer(
            instance,
            AnswerStatus.NOT_ASKED,
            reason=f"the instance runs {row.platform}",
            hint="Only Linux nodes can be asked.",
            agent_version=row.agent_version,
        )
    return None


def _registration(row: dict[str, Any]) -> Registration:
    seen = row.get("LastPingDateTime")
    return Registration(
        row["InstanceId"],
        row.get("PingStatus", ""),
        f"{seen:%Y-%m-%d %H:%M %Z}".strip() if seen else "",
        row.get("AgentVersion", ""),
        row.get("PlatformType", ""),
    )
