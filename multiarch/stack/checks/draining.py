"""Whether nodes of self-managed groups are drained before they end."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.nodes.model import NodeGroupKind
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import NodeGroupSpec
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import reachable


def termination_handler(spec: StackSpec, groups: Sequence[NodeGroupSpec], report: ProblemReport) -> bool:
    """Return what was written, or whether there are self-managed groups and the handler can be installed and run."""
    own = [group for group in groups if group.kind is NodeGroupKind.SELF_MANAGED]
    written, isolated = spec.node_termination_handler, spec.network.nat == "none"
    wanted = bool(own) and reachable(spec) and not isolated if written is None else written
    if wanted:
        _check_wanted(spec, report, used=bool(own), isolated=isolated)
    elif own:
        why = "nodeTerminationHandler is off" if written is False else _obstacle(isolated=isolated)
        report(
            "not-drained",
            own[0].path if written is None else ("nodeTerminationHandler",),
            f"nodes of self-managed groups end without being drained: {why}.",
        )
    return wanted


def _obstacle(*, isolated: bool) -> str:
    if isolated:
        return "without a way out of the VPC, the image of the node termination handler can't be pulled"
    return "in a new VPC with a private endpoint, the first run can't install the node termination handler"


def _check_wanted(spec: StackSpec, report: ProblemReport, *, used: bool, isolated: bool) -> None:
    path = ("nodeTerminationHandler",)
    if not used:
        report("termination-handler", path, "there is no self-managed group.")
    elif isolated:
        report(
            "termination-handler",
            path,
            "its image is in public.ecr.aws, and this VPC has no way out.",
            hint="Use nat: single or per-zone, or remove nodeTerminationHandler.",
        )
    elif not reachable(spec):
        report(
            "termination-handler-unreachable",
            path,
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't install "
            "the node termination handler unless Pulumi reaches the VPC.",
        )
