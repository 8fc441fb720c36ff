"""Whether nodes of self-managed groups are drained before they end."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.facts.addon_daemon_sets import TERMINATION_HANDLER
from multiarch.nodes.model import NodeGroupKind
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import NodeGroupSpec
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import can_pull, can_reach_api, check_reachable


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
