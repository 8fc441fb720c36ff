"""All rows by token, and which file a missing one belongs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox.providers.aws import eks, groups, iam, keys_logs_ssm, network, queues_events, security_groups
from sandbox.providers.aws.rows import Row

_TABLES: Final = (
    eks.ROWS,
    groups.ROWS,
    iam.ROWS,
    keys_logs_ssm.ROWS,
    network.ROWS,
    queues_events.ROWS,
    security_groups.ROWS,
)

ROWS: Final[Mapping[str, Row]] = {row.token: row for table in _TABLES for row in table}
"""Every resource type the stand-in has."""

_HOMES: Final = {
    "aws:autoscaling/": "groups.py",
    "aws:cloudwatch/event": "queues_events.py",
    "aws:cloudwatch/log": "keys_logs_ssm.py",
    "aws:ec2/launchTemplate": "groups.py",
    "aws:ec2/": "network.py",
    "aws:eks/": "eks.py",
    "aws:iam/": "iam.py",
    "aws:kms/": "keys_logs_ssm.py",
    "aws:sqs/": "queues_events.py",
    "aws:ssm/": "keys_logs_ssm.py",
    "aws:vpc/": "security_groups.py",
}


def home_of(token: str) -> str:
    """The file whose table a resource type belongs in."""
    name = next((file for prefix, file in _HOMES.items() if token.startswith(prefix)), "registry.py")
    return f"sandbox/providers/aws/{name}"
