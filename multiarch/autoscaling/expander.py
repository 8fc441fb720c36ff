"""The ConfigMap of the cluster autoscaler's priority expander.

It matches names of Auto Scaling Groups, not of node groups. AWS creates them: ``eks-NODEGROUP-UUID`` for a managed
group, where NODEGROUP is our prefix with a unique suffix; for a self-managed group, its prefix with such a suffix.
Source:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from multiarch.autoscaling.model import Capacity, Priority, describe_rank, list_bases, rank_capacity
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan

UNORDERED_PRIORITY = 10
"""For capacities that the order omits."""
CORDONED_PRIORITY = 1
"""For groups that a migration removes: they match, so that they are used when nothing else is left."""
CONFIG_MAP = "cluster-autoscaler-priority-expander"
"""The name that the expander looks for, in the autoscaler's namespace; the priorities are below the key."""
CONFIG_KEY = "priorities"

# The provider's suffix is a time and a counter, 26 digits; a stand-in may write it in hexadecimal.
_SUFFIX = "[0-9a-f]+"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")


def get_group_regex(group: NodeGroupPlan) -> str:
    """Match the names of a group's Auto Scaling Group, before and after a replacement, and of no other group.

    Anchored, and of the syntax that RE2 and Python's ``re`` share. Every part between two dashes is fixed but the
    suffix and the UUID, whose number of parts is fixed: ``api`` does not match ``api-arm``'s names.
    """
    prefix = _SPECIAL.sub(lambda found: "\\" + found[0], group.name_prefix)
    if group.kind is NodeGroupKind.MANAGED:
        return f"^eks-{prefix}{_SUFFIX}-{_UUID}$"
    return f"^{prefix}{_SUFFIX}$"


def plan_priorities(
    groups: Sequence[NodeGroupPlan],
    order: Sequence[Capacity],
    *,
    written: Mapping[str, int],
    cordoned: Iterable[str] = (),
) -> tuple[Priority, ...]:
    """Return one line per group, highest first, then by name.

    ``written`` overrides single groups by name; ``cordoned`` groups come last in any case.
    """
    last = set(cordoned)
    rows = []
    for group in groups:
        capacity = Capacity(group.architecture, group.capacity_type)
        place = rank_capacity(capacity, order)
        if group.name in last:
            priority, rule = CORDONED_PRIORITY, "autoscaler being replaced: lowest priority"
        elif group.name in written:
            priority, rule = written[group.name], "set in clusterAutoscaler.priorities"
        else:
            priority = list_bases(order)[place] if place < len(order) else UNORDERED_PRIORITY
            rule = describe_rank(capacity, order)
        rows.append(Priority(priority, group.name, get_group_regex(group), rule))
    return tuple(sorted(rows, key=lambda row: (-row.priority, row.group)))


def format_priorities(priorities: Sequence[Priority], *, with_others: bool = False) -> str:
    """Write the ConfigMap's value: YAML of priorities, highest first, each with its regular expressions.

    ``with_others``: the autoscaler also manages groups that no line matches. The expander would never choose them.
    """
    lines: list[str] = []
    rows = [*priorities, *([Priority(UNORDERED_PRIORITY, "", ".*")] if with_others else ())]
    for priority in sorted({row.priority for row in rows}, reverse=True):
        lines.append(f"{priority}:")
        quoted = sorted(row.regex.replace("'", "''") for row in rows if row.priority == priority)
        lines += [f"  - '{regex}'" for regex in quoted]
    return "".join(f"{line}\n" for line in lines)
