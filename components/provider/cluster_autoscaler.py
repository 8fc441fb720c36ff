"""The cluster autoscaler in a cluster that is there already, from the keys of a stack's ``autoscaling``."""

import pulumi

from multiarch.schema.parts import SingleClusterAutoscaler
from multiarch.stack.parts import build_part_tags, plan_autoscaler_part

from ..component import Naming
from ..in_cluster import cluster_autoscaler
from .arguments import ClusterAutoscalerArgs
from .part import Part, accepting, region, settings


class ClusterAutoscaler(Part):
    """The cluster autoscaler, with the priority expander: the preferred architecture's groups come first.

    A Pulumi stack has one for each cluster at most.
    """

    chart_version: pulumi.Output[str]
    """The version of its chart."""

    priorities: pulumi.Output[dict[str, int]]
    """The priority of each node group; the higher wins."""

    def __init__(self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Make the plan, and declare it. Raises ArgumentsError."""
        with accepting(f"ClusterAutoscaler {name}") as today:
            known = settings(SingleClusterAutoscaler, args)
            part = plan_autoscaler_part(known, region=region(), today=today)
        super().__init__(name, part.warnings, opts, Naming(known.cluster.name, build_part_tags(known.tags)))
        cluster = self.reach(known.cluster, name, known.charts)
        cluster_autoscaler.ClusterAutoscaler(name, self, cluster, part.plan, part.arm64_taint)
        self.chart_version = pulumi.Output.from_input(part.plan.chart_version)
        self.priorities = pulumi.Output.from_input({row.group: row.priority for row in part.plan.priorities})
        self.register_outputs({"chartVersion": self.chart_version, "priorities": self.priorities})
