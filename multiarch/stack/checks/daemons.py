"""DaemonSets that a stack installs: whether nodes are drained, and pods get the GPUs and EFA interfaces of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.autoscaling.model import AutoscalingPlan, KarpenterPlan
from multiarch.errors import KeyPath
from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN, TERMINATION_HANDLER, AddOnDaemon, get_efa_plugin
from multiarch.facts.ami_families import AmiFamily, get_family
from multiarch.facts.autoscalers import get_publisher
from multiarch.facts.instance_types import Accelerator
from multiarch.facts.node_resources import EFA
from multiarch.frozen import dataclass
from multiarch.nodes.model import NodeGroupKind, NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import NodeGroupSpec
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import can_pull, can_reach_api, check_reachable


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A plugin, and what the file says of it. ``lacking`` are paths of nodes whose pods get no ``resource`` without.

    ``clash`` says why it must not run on some, empty without a reason.
    """

    plugin: AddOnDaemon
    written: bool | None
    resource: str
    whose: str
    lacking: Sequence[KeyPath]
    clash: str = ""


def choose_device_plugins(
    spec: StackSpec, groups: Sequence[NodeGroupPlan], autoscaling: AutoscalingPlan | None, report: ProblemReport
) -> tuple[AddOnDaemon, ...]:
    """List what was turned on; ``autoscaling`` is None after a problem, and NodePools are not known."""
    karpenter = autoscaling.karpenter if autoscaling else None
    gpus = list(_list_gpu_nodes(groups, karpenter))
    lacking = [path for path, family in gpus if not get_family(family).has_device_plugin]
    twice = "nodes of Bottlerocket with GPUs have the plugin already, and would run it twice."
    interfaces = [(*each.path, "efa") for each in groups if each.efa and each.instance_types[0].efa_cards]
    clash = twice if len(lacking) < len(gpus) else ""
    rows = [_Wanted(DEVICE_PLUGIN, spec.gpu_device_plugin, "nvidia.com/gpu", "GPU", lacking, clash)]
    if interfaces or spec.efa_device_plugin is not None:  # the plugin's list of instance types takes time
        rows.append(_Wanted(get_efa_plugin(), spec.efa_device_plugin, EFA, "EFA", interfaces))
    return tuple(each.plugin for each in rows if _check(each, spec, report))


def _check(row: _Wanted, spec: StackSpec, report: ProblemReport) -> bool:
    """Report what is missing, or in the way; return whether the file wants the plugin."""
    key, fault, hint = row.plugin.key, "", f"Remove {row.plugin.key}."
    if not row.written:
        if row.lacking and row.written is None:
            where = "; whether the cluster has the plugin is not known" if spec.cluster else ""
            message = f"these nodes give pods no {row.resource} without its device plugin{where}."
            hint = "once the cluster has it" if spec.cluster else f"if you install it yourself, or {key}: true"
            report("no-device-plugin", row.lacking[0], message, hint=f"Set {key}: false {hint}.")
        return False
    if spec.cluster is not None:
        fault = f"it would also run on the {row.whose} nodes of others in {spec.cluster.existing}, which may have it."
        hint = f"Set {key}: false; the cluster's owner can install it for all of them."
    elif row.clash:
        fault, hint = row.clash, "Use one family for all nodes with GPUs."
    elif not can_pull(row.plugin.name, spec):
        host = get_publisher(row.plugin.name)
        fault = f"its image is in {host}: it needs internet access."
        hint = f"Name your registry that has it: charts.imageRegistries: {{{host}: HOST/PATH}}."
    if fault:
        report("device-plugin", (key,), fault, hint=hint)
    else:
        check_reachable("device-plugin-unreachable", (key,), "install the device plugin", spec, report)
    return True


def _list_gpu_nodes(
    groups: Sequence[NodeGroupPlan], karpenter: KarpenterPlan | None
) -> Iterator[tuple[KeyPath, AmiFamily]]:
    """Yield the path of each group and pool with NVIDIA GPUs, with the family of its image; Auto Mode needs nothing."""
    for group in groups:
        if group.instance_types[0].accelerator is Accelerator.NVIDIA:
            yield (*group.path, "instanceTypes"), group.family
    if karpenter is None:
        return
    for pool in karpenter.pools:
        if any(each.accelerator is Accelerator.NVIDIA for each in pool.instance_types):
            yield tuple(pool.key.split(".")), AmiFamily(karpenter.node_class.ami_family)


def choose_termination_handler(spec: StackSpec, groups: Sequence[NodeGroupSpec], report: ProblemReport) -> bool:
    """Return what was written, or whether there are self-managed groups and the handler can be installed and run."""
    own = [group for group in groups if group.kind is NodeGroupKind.SELF_MANAGED]
    written, path = spec.node_termination_handler, ("nodeTerminationHandler",)
    # A mirror alone does not turn it on: stacks had mirrors before the handler could be pulled from one.
    isolated = not can_pull(TERMINATION_HANDLER.name, spec, mirrored=bool(written))
    able = can_reach_api(spec) and not isolated and spec.cluster is None
    wanted = bool(own) and able if written is None else written
    if wanted and not own:
        report("termination-handler", path, "there is no self-managed group.")
    elif wanted and spec.cluster is not None:
        message = f"it would also drain the self-managed nodes of others in {spec.cluster.existing}."
        hint = "Remove nodeTerminationHandler; the cluster's owner can install the handler for all of them."
        report("termination-handler", path, message, hint=hint)
    elif wanted and isolated:
        hint = "Name your registry that has it: charts.imageRegistries: {public.ecr.aws: HOST/PATH}."
        report("termination-handler", path, "its image is in public.ecr.aws: it needs internet access.", hint=hint)
    elif wanted:
        check_reachable("termination-handler-unreachable", path, "install the node termination handler", spec, report)
    elif own:
        hint, why = "", "in a new VPC with a private endpoint, the first run can't install the node termination handler"
        if written is False:
            why = "nodeTerminationHandler is off"
        elif spec.cluster is not None:
            why = "the cluster's own handler, if it has one, is not known"
            hint = "Use managed groups, or acknowledge this if the cluster has a handler."
        elif isolated:
            why = "the VPC has no internet access, so the handler's image can't be pulled"
        message = f"nodes of self-managed groups end without being drained: {why}."
        report("not-drained", own[0].path if written is None else path, message, hint=hint)
    return wanted
