"""User data: what a node reads at its first start, one module per AMI family.

Who starts the kubelet decides what stands in it (:class:`~multiarch.nodes.model.BootstrapCase`):

- ``EKS``: EKS merges the user data with its own, which starts the kubelet. Labels and taints go through the node group
  API and are not repeated. The user data holds only what that API has no word for: max pods, kubelet flags, a script.
  There is none when nothing of that is wanted.
- ``CUSTOM_AMI``: EKS merges nothing, the user data owns the bootstrap. Labels and taints stand here **and** in
  the API: EKS applies the API's taints some time after the node has joined, and until then pods that do not tolerate
  them could land on it. Both come from one plan, so the API finds what it wants to set. Labels under
  ``eks.amazonaws.com`` are EKS's own, and a node group is ready without their being repeated here.
- ``SELF_MANAGED``: there is no node group API; labels and taints stand here alone.

Max pods are told to the kubelet where ``max_pods_written`` says so. AL2 and Bottlerocket get them wherever the user
data owns the bootstrap: the tables in their images know only the instance types of their day.

Source: EKS user guide, "Customize managed nodes with launch templates", with "Limits and conditions when specifying
an AMI ID" ("taints set in the API are applied asynchronously").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.limits import MAX_USER_DATA_BYTES
from multiarch.nodes.model import ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import al2, al2023, bottlerocket
from multiarch.nodes.user_data.errors import UserDataError
from multiarch.nodes.user_data.kubelet_flags import kubelet_flag_fault, restricted_label
from multiarch.nodes.user_data.kubelet_start import starts_kubelet

__all__ = [
    "UserDataError",
    "kubelet_flag_fault",
    "render",
    "restricted_label",
    "starts_kubelet",
]

_FAMILIES: Mapping[AmiFamily, Callable[[NodeGroupPlan, ClusterFacts], str]] = {
    AmiFamily.AL2: al2.render,
    AmiFamily.AL2023: al2023.render,
    AmiFamily.BOTTLEROCKET: bottlerocket.render,
}


def render(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Write a node group's user data as plain text, not base64; empty when the node needs none.

    The same arguments give the same bytes. ``cluster`` is read only where the user data owns the bootstrap.

    Raises UserDataError for a family without a bootstrap here, for wishes that the family or the case can't carry out,
    and for more than 16,384 bytes, which is EC2's limit before base64.
    """
    write = _FAMILIES.get(group.family)
    if write is None:
        known = ", ".join(_FAMILIES)
        raise UserDataError(group, f"is of family {group.family}, which has no user data here.", hint=f"Use {known}.")
    text = write(group, cluster)
    size = len(text.encode())
    if size > MAX_USER_DATA_BYTES:
        raise UserDataError(
            group,
            f"has {size} bytes of user data, of which preBootstrap is {len(group.pre_bootstrap.encode())}; "
            f"EC2 takes {MAX_USER_DATA_BYTES} at most.",
            hint="Let preBootstrap fetch what is long, or put it into the image.",
        )
    return text
