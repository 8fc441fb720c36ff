"""What production requests: protection from deletion, and zones that stay."""

from __future__ import annotations

from multiarch.nodes.report import ProblemReport
from multiarch.schema.stack import StackSpec

PRODUCTION = frozenset({"live", "prod", "production"})


def choose_deletion_protection(spec: StackSpec, report: ProblemReport) -> bool:
    """Return what was written, or true in production."""
    production = spec.environment in PRODUCTION
    if spec.deletion_protection is None:
        return production
    if production and not spec.deletion_protection:
        report("prod-unprotected", ("deletionProtection",), f"{spec.environment} without deletion protection.")
    return spec.deletion_protection


def check_zones(spec: StackSpec, report: ProblemReport) -> None:
    """Require named zones in production: a list that AWS changes would move subnets, and with them all nodes."""
    network = spec.network
    if spec.environment in PRODUCTION and network.vpc_id is None and not isinstance(network.zones, list):
        report(
            "zones-not-named",
            ("network", "zones"),
            f"the zones of {spec.environment} are the region's first ones of the day; where AWS's list changes, "
            "subnets and nodes would be replaced.",
        )
