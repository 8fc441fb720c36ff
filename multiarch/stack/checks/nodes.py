"""What node groups can't work without: room beside the add-ons' pods."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.facts.addon_daemon_sets import list_daemons
from multiarch.facts.addons import add_ons
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.addons import Addons


def check_room_for_pods(addons: Addons, groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    """Reject nodes that the add-ons' own DaemonSets fill."""
    daemons = [each.name for row in add_ons().values() if addons[row.name].enabled for each in list_daemons(row.name)]
    for group in groups:
        if group.max_pods <= len(daemons):
            report(
                "no-room-for-pods",
                (*group.path, "instanceTypes"),
                f"a node of {group.name} takes {group.max_pods} pods, and each runs {len(daemons)} of the add-ons: "
                f"{', '.join(daemons)}.",
            )
