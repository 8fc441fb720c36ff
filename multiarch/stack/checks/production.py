"""What production asks for: protection from deletion, and zones that stay."""

from __future__ import annotations

from multiarch.nodes.report import Report
from multiarch.stack.schema.stack import StackWords

PRODUCTION = frozenset({"live", "prod", "production"})


def deletion_protection(words: StackWords, report: Report) -> bool:
    """Return what was written, or true in production."""
    production = words.environment in PRODUCTION
    if words.deletion_protection is None:
        return production
    if production and not words.deletion_protection:
        report(
            "prod-unprotected",
            ("deletionProtection",),
            f"{words.environment} without deletion protection.",
            value=False,
        )
    return words.deletion_protection


def check_zones(words: StackWords, report: Report) -> None:
    """In production the zones are named: a list that AWS changes would move subnets, and with them all nodes."""
    network = words.network
    if words.environment in PRODUCTION and network.vpc_id is None and not isinstance(network.zones, list):
        report(
            "zones-not-named",
            ("network", "zones"),
            f"the zones of {words.environment} are the region's first ones of the day; where AWS's list changes, "
            "subnets and nodes would be replaced.",
            value=network.zones,
        )
