"""User data: what a node reads at its first start, one module per AMI family.

Its content depends on who starts the kubelet (:class:`~multiarch.nodes.model.BootstrapCase`):

- ``EKS``: EKS merges the user data with its own, which starts the kubelet. Labels and taints go through the node group
  API and are not repeated. The user data holds only what that API can't set: max pods, kubelet flags, a script. It is
  empty when none of these is needed.
- ``CUSTOM_AMI``: EKS merges nothing, the user data runs the bootstrap. Labels and taints are written here **and** in
  the API: EKS applies the API's taints some time after the node has joined, and until then pods that do not tolerate
  them could start on it. Both come from one plan. EKS adds its labels under ``eks.amazonaws.com`` to the nodes of all
  managed groups ("Simplify node lifecycle with managed node groups"); the group's name is known to nobody else before
  the group exists, ``capacityType`` is written here too.
- ``SELF_MANAGED``: there is no node group API; labels and taints are written only here.

Max pods are written where ``max_pods_written`` is set, with ``CUSTOM_AMI`` as EKS would set them; for AL2 and
Bottlerocket wherever the user data runs the bootstrap, because the tables in their images lack newer instance types.

Source: EKS user guide, "Customize managed nodes with launch templates", with "Limits and conditions when specifying
an AMI ID" ("taints set in the API are applied asynchronously").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from multiarch.errors import MultiarchError, look_up
from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.limits import MAX_USER_DATA_BYTES
from multiarch.nodes.model import ClusterFacts, Mirrors, NodeGroupPlan
from multiarch.nodes.user_data import al2, al2023, bottlerocket
from multiarch.nodes.user_data.kubelet_flags import Config, build_config

__all__ = [
    "build_config",
    "render_pool_user_data",
    "render_user_data",
]

_RENDERERS: Mapping[AmiFamily, Callable[[NodeGroupPlan, ClusterFacts], str]] = {
    AmiFamily.AL2: al2.render_al2,
    AmiFamily.AL2023: al2023.render_al2023,
    AmiFamily.BOTTLEROCKET: bottlerocket.render_bottlerocket,
}


def render_pool_user_data(family: AmiFamily, config: Config, mirrors: Mirrors) -> str:
    """Render what an EC2NodeClass can't say otherwise: fields of KubeletConfiguration and registry mirrors, or nothing.

    Karpenter merges it with its own (karpenter-provider-aws, ``pkg/providers/amifamily/bootstrap``).
    """
    if family is AmiFamily.BOTTLEROCKET:
        return bottlerocket.render_bottlerocket_pool(config, mirrors)
    return al2023.render_al2023_pool(config, mirrors)


def render_user_data(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render a node group's user data as plain text, not base64; empty when the node needs none.

    The same arguments give the same bytes. ``cluster`` is used only where the user data runs the bootstrap.

    The plan has checked that family and bootstrap case support its settings. Raises UnknownFactError for a family that
    is not supported, MultiarchError for more than 16,384 bytes, EC2's limit before base64.
    """
    renderer = look_up("AMI family with user data", group.family, _RENDERERS)
    own = len(group.pre_bootstrap.encode())
    text = renderer(group, cluster) if own <= MAX_USER_DATA_BYTES else ""
    size = max(own, len(text.encode()))
    if size > MAX_USER_DATA_BYTES:
        raise MultiarchError(
            f"Node group {group.name!r} has {size} bytes of user data (preBootstrap: {own}); EC2 accepts at most "
            f"{MAX_USER_DATA_BYTES}.",
            hint="Let preBootstrap download long parts, or put them into the image.",
        )
    return text
