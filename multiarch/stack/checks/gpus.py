"""Whether pods get the GPUs of nodes: NVIDIA's device plugin tells the kubelet of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.errors import KeyPath
from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.instance_types import Accelerator
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import can_pull, check_reachable

_PATH: KeyPath = ("gpuDevicePlugin",)


def choose_device_plugin(
    spec: StackSpec, groups: Sequence[NodeGroupPlan], autoscaling: AutoscalingPlan | None, report: ProblemReport
) -> bool:
    """Return what was written, False without; ``autoscaling`` is None after a problem, and NodePools are not known."""
    nodes = list(_list_gpu_nodes(groups, autoscaling))
    lacking = [path for path, family in nodes if not get_family(family).has_device_plugin]
    fault = hint = ""
    if not spec.gpu_device_plugin:
        if lacking and spec.gpu_device_plugin is None:
            where = "; whether the cluster has the plugin is not known" if spec.cluster else ""
            message = f"these nodes give pods no nvidia.com/gpu without NVIDIA's device plugin{where}."
            hint = "Set gpuDevicePlugin: false once the cluster has it." if spec.cluster else ""
            report("no-device-plugin", lacking[0], message, hint=hint)
        return False
    if autoscaling is not None and not lacking:
        fault = "no node needs it: none has an NVIDIA GPU and an image without the plugin."
    elif spec.cluster is not None:
        fault = f"it would also run on the GPU nodes of others in {spec.cluster.existing}, which may have it."
        hint = "Set gpuDevicePlugin: false; the cluster's owner can install it for all of them."
    elif len(lacking) < len(nodes):
        fault = "nodes of Bottlerocket with GPUs have the plugin already, and would run it twice."
        hint = "Use one family for all nodes with GPUs."
    elif not can_pull(DEVICE_PLUGIN.name, spec):
        fault = "its image is in nvcr.io: it needs internet access."
        hint = "Name your registry that has it: charts.imageRegistries: {nvcr.io: HOST/PATH}."
    if fault:
        report("device-plugin", _PATH, fault, hint=hint)
    else:
        check_reachable("device-plugin-unreachable", _PATH, "install the device plugin", spec, report)
    return True


def _list_gpu_nodes(
    groups: Sequence[NodeGroupPlan], autoscaling: AutoscalingPlan | None
) -> Iterator[tuple[KeyPath, AmiFamily]]:
    """Yield the path of each group and pool with NVIDIA GPUs, with the family of its image; Auto Mode needs nothing."""
    for group in groups:
        if group.instance_types[0].accelerator is Accelerator.NVIDIA:
            yield (*group.path, "instanceTypes"), group.family
    karpenter = autoscaling.karpenter if autoscaling else None
    if karpenter is None:
        return
    for pool in karpenter.pools:
        if any(each.accelerator is Accelerator.NVIDIA for each in pool.instance_types):
            yield tuple(pool.key.split(".")), AmiFamily(karpenter.node_class.ami_family)
