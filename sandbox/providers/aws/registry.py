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
    security_groups,
)
from sandbox.providers.aws.rows import Row

_TABLES: Final = (
    network,
    eks_clusters,
    eks_nodegroups,
    eks_access,
    groups,
    iam,
    keys_logs_ssm,
    queues_events,
    security_groups,
)

ROWS: Final[Mapping[str, Row]] = {row.token: row for table in _TABLES for row in table.ROWS}
"""Every resource type the stand-in has."""


def home_of(token: str) -> str:
    """Return the file whose table a resource type belongs in: the first one with a type of its service."""
    service = f"{token.partition('/')[0]}/"
    homes = (table.__name__ for table in _TABLES if any(row.token.startswith(service) for row in table.ROWS))
    return f"{next(homes, __name__).replace('.', '/')}.py"
