"""All rows by token, and which file a missing one belongs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox.providers.aws import (
    eks_access,
    eks_clusters,
    eks_nodegroups,
    groups,
    iam,
    keys_logs_ssm,
    network,
    queues_events,
    routes,
    security_groups,
)
from sandbox.providers.aws.rows import Row

_TABLES: Final = (
    eks_access.ROWS,
    eks_clusters.ROWS,
    eks_nodegroups.ROWS,
    groups.ROWS,
    iam.ROWS,
    keys_logs_ssm.ROWS,
    network.ROWS,
    queues_events.ROWS,
    routes.ROWS,
    security_groups.ROWS,
)

ROWS: Final[Mapping[str, Row]] = {row.token: row for table in _TABLES for row in table}
"""Every resource type the stand-in has."""

_HOMES: Final = {
    "aws:autoscaling/": "groups.py",
    "aws:cloudwatch/event": "queues_events.py",
    "aws:cloudwatch/log": "keys_logs_ssm.py",
    "aws:ec2/launchTemplate": "groups.py",
    "aws:ec2/route": "routes.py",
    "aws:ec2/vpcEndpoint": "routes.py",
    "aws:ec2/": "network.py",
    "aws:eks/cluster": "eks_clusters.py",
    "aws:eks/nodeGroup": "eks_nodegroups.py",
    "aws:eks/": "eks_access.py",
    "aws:iam/": "iam.py",
    "aws:kms/": "keys_logs_ssm.py",
    "aws:sqs/": "queues_events.py",
    "aws:ssm/": "keys_logs_ssm.py",
}


def home_of(token: str) -> str:
    """The file whose table a resource type belongs in."""
    name = next((file for prefix, file in _HOMES.items() if token.startswith(prefix)), "registry.py")
    return f"sandbox/providers/aws/{name}"
