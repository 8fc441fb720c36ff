"""How the kubelets of a plan's node groups start, and what they have to register with.

Nodes of Karpenter's NodePools are not here: the plan has no user data for them. Karpenter writes it, with labels and
taints of the NodePool and of its own; :mod:`.al2023` and the other readers read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.autoscaling.node_labels import build_group_labels
from multiarch.errors import look_up
from multiarch.facts import labels as keys
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.instance_types import recommend_max_pods
from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from sandbox.cluster.bootstrap import al2, al2023, bottlerocket
from sandbox.cluster.bootstrap.model import KubeletStart
from sandbox.cluster.bootstrap.registration import Registration

READERS: Mapping[AmiFamily, Callable[[Sequence[str]], KubeletStart]] = {
    AmiFamily.AL2: al2.read,
    AmiFamily.AL2023: al2023.read,
    AmiFamily.BOTTLEROCKET: bottlerocket.read,
}
"""Each takes the documents of one node's user data."""


@dataclass(frozen=True, slots=True)
class ManagedGroup:
    """A managed node group as EKS knows it: its name there, its image, and EKS's own launch template."""

    name: str
    image: str = "ami-0123456789abcdef0"
    launch_template: str = "lt-0123456789abcdef0"
    launch_template_version: str = "1"

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels that EKS adds to those of the node group API and ``eks.amazonaws.com/capacityType``."""
        return {
            keys.EKS_NODE_GROUP: self.name,
            keys.EKS_IMAGE: self.image,
            keys.EKS_LAUNCH_TEMPLATE_ID: self.launch_template,
            keys.EKS_LAUNCH_TEMPLATE_VERSION: self.launch_template_version,
        }


def _render_eks_part(group: NodeGroupPlan, cluster: ClusterFacts, made: ManagedGroup) -> str:
    """Render a stand-in for what EKS adds to the user data of a managed group without a custom AMI.

    It starts the kubelet as the user data of a custom AMI does, with EKS's labels. EKS computes max pods itself: the
    minimum over all instance types, without prefixes. Which of the two documents comes first is not documented.
    Source: EKS user guide, "Customize managed nodes with launch templates".
    """
    own = replace(
        group,
        case=BootstrapCase.CUSTOM_AMI,
        labels=tuple({**build_group_labels(group), **made.labels}.items()),
        max_pods=min(map(recommend_max_pods, group.instance_types)),
        max_pods_written=True,
        pre_bootstrap="",
        kubelet_extra_args=(),
    )
    return render_user_data(own, cluster)


def _made_group(group: NodeGroupPlan) -> ManagedGroup:
    """Return a managed group as EKS could have made it."""
    return ManagedGroup(f"{group.name_prefix}20260101000000000000000001")


def group_start(
    group: NodeGroupPlan, user_data: str, cluster: ClusterFacts, made: ManagedGroup | None = None
) -> KubeletStart:
    """Return how a node of ``group`` starts with the group's rendered user data (plain text, empty if there is none).

    EKS adds its part for managed groups without a custom AMI; :func:`_render_eks_part` stands in for it, with ``made``
    or else :func:`_made_group`. Raises NodeStartError if a node would not join.
    """
    documents = [user_data] if user_data else []
    if group.case is BootstrapCase.EKS:
        documents.insert(0, _render_eks_part(group, cluster, made or _made_group(group)))
    return look_up("AMI family with a reader of user data", group.family, READERS)(documents)


def expected(group: NodeGroupPlan, made: ManagedGroup | None = None) -> Registration:
    """Return what the kubelets of ``group`` have to register with by its plan.

    With a custom AMI EKS adds the labels with the names of its own things later, and the kubelet does not know them.
    """
    labels = build_group_labels(group)
    if group.case is BootstrapCase.EKS:
        labels |= (made or _made_group(group)).labels
    return Registration(labels, tuple(sorted(group.taints)))
