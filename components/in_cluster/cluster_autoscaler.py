"""The cluster autoscaler: its Helm release, and the role that lets it change only this cluster's groups."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

from multiarch.autoscaling.balancing import IGNORED_BY_FLAG
from multiarch.autoscaling.expander import CONFIG_KEY, CONFIG_MAP, format_priorities
from multiarch.autoscaling.iam import build_cluster_autoscaler_policy, format_policy
from multiarch.autoscaling.model import ClusterAutoscalerPlan, build_scale_down_arguments
from multiarch.facts import labels
from multiarch.facts.autoscalers import CLUSTER_AUTOSCALER_REPOSITORY
from multiarch.facts.taints import Taint

from ..component import Component
from ..iam import pod_identity
from ..kubernetes_api import NAMESPACE, Chart, ChildInCluster, InCluster, Manifest, system_tolerations

NAME = "cluster-autoscaler"
PRIORITIES = "cluster-autoscaler-priorities"
# The unprivileged user of the image.
_NOBODY = 65532


class ClusterAutoscaler(ChildInCluster):
    """The cluster autoscaler. ``release`` is its Helm release."""

    release: pulumi.Output[pulumi.Resource]

    def __init__(
        self, name: str, owner: Component, cluster: InCluster, plan: ClusterAutoscalerPlan, arm64_taint: Taint | None
    ) -> None:
        """Declare role, Pod Identity association and release."""
        super().__init__(name, owner, cluster)
        own = self.naming.cluster
        before = pod_identity.give_policy(
            self, NAME, f"Cluster autoscaler of {own}", format_policy(build_cluster_autoscaler_policy(own))
        )
        self.release = self.declare_release(
            NAME,
            Chart(NAME, plan.chart_version, repository=CLUSTER_AUTOSCALER_REPOSITORY),
            values(
                plan,
                cluster=own,
                region=self.account.region,
                arm64_taint=arm64_taint,
                image=cluster.choose_image(NAME),
            ),
            after=(*cluster.ready, *before),
        )
        # Known once the release is deployed: nothing else in a program of others would see that it is not.
        self.register_outputs({"chartVersion": self.release.apply(lambda _: plan.chart_version)})


class Priorities(ChildInCluster):
    """The priorities of an installed cluster autoscaler, which reads them without a restart."""

    def __init__(self, name: str, owner: Component, cluster: InCluster, plan: ClusterAutoscalerPlan) -> None:
        """Declare the ConfigMap."""
        super().__init__(name, owner, cluster)
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": CONFIG_MAP, "namespace": plan.settings.namespace},
            "data": {CONFIG_KEY: format_priorities(plan.priorities, with_others=True)},
        }
        self.declare_object(PRIORITIES, manifest)
        self.register_outputs({})


def values(
    plan: ClusterAutoscalerPlan,
    *,
    cluster: str,
    region: pulumi.Input[str],
    arm64_taint: Taint | None,
    image: Mapping[str, str],
) -> Manifest:
    """Return the chart's values. ``image`` are those of the image, besides its tag.

    Arguments are strings: the chart writes ``--KEY=VALUE``, and would format other YAML types as Go does.
    Source: https://github.com/kubernetes/autoscaler/tree/master/charts/cluster-autoscaler
    """
    return {
        "fullnameOverride": NAME,
        "cloudProvider": "aws",
        "awsRegion": region,
        "autoDiscovery": {"clusterName": cluster},
        "image": {**image, "tag": plan.image_tag},
        "extraArgs": {
            # The chart writes the priorities' ConfigMap only if one element is exactly ``priority``.
            "expander": "priority,least-waste",
            "balance-similar-node-groups": str(plan.balance_similar).lower(),
            # The chart cuts a key at its first underscore, so that one argument can be given several times.
            **{f"balancing-ignore-label_{number}": label for number, label in enumerate(IGNORED_BY_FLAG, 1)},
            **build_scale_down_arguments(plan),
            # During a migration the new autoscaler comes first.
            **({"new-pod-scale-up-delay": f"{delay}s"} if (delay := plan.scale_up_delay_seconds) else {}),
        },
        "expanderPriorities": format_priorities(plan.priorities),
        "rbac": {"create": True, "serviceAccount": {"create": True, "name": NAME}},
        **_pods(arm64_taint),
        "serviceMonitor": {"enabled": plan.settings.service_monitor, "namespace": NAMESPACE},
    }


def _pods(arm64_taint: Taint | None) -> dict[str, object]:
    """Return how its pods run: two replicas, one of them the leader, on any architecture, without privileges."""
    return {
        "replicaCount": 2,
        "podDisruptionBudget": {"maxUnavailable": 1},
        "priorityClassName": "system-cluster-critical",
        # The node's resolver: coredns may wait for a node that only the autoscaler can add.
        "dnsPolicy": "Default",
        "tolerations": system_tolerations([arm64_taint] if arm64_taint else []),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": labels.HOSTNAME,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/instance": NAME}},
            }
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containerSecurityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        # The memory limit equals the request, so that a full node does not evict the pod.
        "resources": {"requests": {"cpu": "100m", "memory": "600Mi"}, "limits": {"memory": "600Mi"}},
    }
