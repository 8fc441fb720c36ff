"""Draining of self-managed nodes: the AWS Node Termination Handler, and the time that Auto Scaling leaves it for that.

EKS drains nodes of managed groups, Karpenter drains its own. Source:
https://github.com/aws/aws-node-termination-handler, "Instance Metadata Service Processor".
"""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_aws import autoscaling

from multiarch.facts.addon_daemon_sets import TERMINATION_HANDLER
from multiarch.facts.autoscalers import NODE_TERMINATION_HANDLER_CHART, PUBLIC_REGISTRY

from ..component import Component
from ..kubernetes_api import Chart, ChildInCluster, InCluster, Manifest

NAME = TERMINATION_HANDLER.name
CHART = f"{PUBLIC_REGISTRY}/aws-ec2/helm/aws-node-termination-handler"
# Seconds: EC2 ends a spot instance two minutes after its warning.
_DRAIN = 120
# The handler queries the instance's metadata every few seconds, and can't say that it is done: the hook always waits so
# long, also for an empty node.
_HEARTBEAT = _DRAIN + 60


class TerminationHandler(ChildInCluster):
    """The handler's release, and a lifecycle hook for each group.

    A hook without the handler would only make terminations slow, so the hooks come last and go first.
    """

    def __init__(
        self, name: str, owner: Component, cluster: InCluster, groups: Mapping[str, pulumi.Input[str]]
    ) -> None:
        """Declare release and hooks; ``groups`` are the names of Auto Scaling Groups by self-managed node group."""
        super().__init__(name, owner, cluster)
        release = self.declare_release(
            NAME, Chart(CHART, NODE_TERMINATION_HANDLER_CHART), values(cluster.choose_image(NAME))
        )
        for group, scaling_group in groups.items():
            autoscaling.LifecycleHook(
                group,
                name="drain",
                autoscaling_group_name=scaling_group,
                lifecycle_transition="autoscaling:EC2_INSTANCE_TERMINATING",
                heartbeat_timeout=_HEARTBEAT,
                default_result="CONTINUE",
                opts=self.child(depends_on=[release]),
            )
        self.register_outputs({"chartVersion": NODE_TERMINATION_HANDLER_CHART})


def values(image: Mapping[str, str]) -> Manifest:
    """Return the chart's values where they differ from its defaults; ``image`` are those of the image.

    The chart's DaemonSet tolerates all taints, its image has both architectures, and it uses the host's network, from
    which the instance's metadata can be reached with a hop limit of 1. Source: the chart's values.yaml.
    """
    return {
        "fullnameOverride": NAME,
        "enableSpotInterruptionDraining": True,
        "enableScheduledEventDraining": True,
        # What the lifecycle hook keeps waiting: scale-in, instance refresh, unhealthy instances.
        "enableASGLifecycleDraining": True,
        "nodeTerminationGracePeriod": _DRAIN,
        "daemonsetAffinity": TERMINATION_HANDLER.pod_spec["affinity"],
        **({"image": image} if image else {}),
    }
