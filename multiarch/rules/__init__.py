"""Every rule of ``stack check``: its name, its severity, what it rejects and the fix.

A problem takes its severity and, without a hint of its own, the fix from its rule's row; a problem whose rule has
no row can't be made. ``docs/reference/rules.md`` is generated from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from multiarch.rules.autoscaling import AUTOSCALING
from multiarch.rules.cluster import CLUSTER, NETWORK
from multiarch.rules.images import IMAGES
from multiarch.rules.node_groups import NODE_GROUPS
from multiarch.rules.policies import POLICIES
from multiarch.rules.programs import PROGRAMS
from multiarch.rules.rebalance import REBALANCE
from multiarch.rules.reviews import REVIEW_RULES, REVIEW_TOPICS, make_finding
from multiarch.rules.rule import Finding, Location, Risk, Rule, Severity
from multiarch.rules.stack_file import STACK_FILE
from multiarch.rules.webhook import WEBHOOK

__all__ = ["REVIEW_RULES", "REVIEW_TOPICS", "RULES", "Finding", "Location", "Risk", "Rule", "Severity", "make_finding"]

SECTIONS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        "Instance types and images": IMAGES,
        "Node groups": NODE_GROUPS,
        "Cluster and add-ons": CLUSTER,
        "Network": NETWORK,
        "The file": STACK_FILE,
        "Autoscaling": AUTOSCALING,
        "Admission webhook": WEBHOOK,
        "Rebalancing": REBALANCE,
        "Components in a program of your own": PROGRAMS,
        "Policies": POLICIES,
    }
)
"""The rules as docs/reference/rules.md shows them, by heading. Those of the last one need ``--policy``."""
RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rows in SECTIONS.values() for rule in rows})
"""Every rule by its name."""
