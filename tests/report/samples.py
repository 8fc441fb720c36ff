"""A page of invented results: two node groups, a few nodes and workloads, one failure that is not survived."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from multiarch.audit.daemonset_model import (
    Cell,
    CellCause,
    CellReason,
    DaemonSet,
    DaemonSetAudit,
    DaemonSetOutcome,
    DaemonSetRow,
    NodeSet,
    Profile,
)
from multiarch.audit.subjects import ArchitecturePreference, Subject
from multiarch.audit.workloads import ImageBlocker, WorkloadAudit, WorkloadRow
from multiarch.autoscaling.model import Autoscaler
from multiarch.capacity.model import CapacityFailure, CapacityReport, FailureResult, GroupCount, Minimum, WorkloadResult
from multiarch.cost.model import CostLine, CostReport, GroupAmount, OtherAmount, Saving
from multiarch.cost.pricing import OMITTED
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE
from multiarch.facts.taints import parse_taint
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.nodes.model import CapacityType
from multiarch.observed.verdicts import Newest
from multiarch.observed.workloads import ImageUse
from multiarch.prices.model import UnknownPrice
from multiarch.report.contents import Placement, ReportContents
from multiarch.scheduling.nodes import NodeShape
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod, read_pods
from multiarch.scheduling.resources import ResourceAmounts
from multiarch.simulate.settled import NodeState
from multiarch.stack.load import load_file
from multiarch.stack.model import Plan
from multiarch.stack.plan import make_plan
from tests.quotations import ROOT

ARM, AMD = Architecture.ARM64, Architecture.AMD64
MADE = datetime(2026, 11, 22, 13, 0, tzinfo=UTC)
TAINT = parse_taint("arch=arm64:NoSchedule")
HOSTILE = "<img src=x onerror=document.title='owned'>\u202e"
"""A name that Kubernetes would reject, and a hostile API server or manifest may have."""
_GIB = 2**30


def plan(name: str = "payments-prod") -> Plan:
    """The plan of one of the project's stacks."""
    return make_plan(load_file(ROOT / "config" / "stacks" / f"Pulumi.{name}.yaml"), today=date(2026, 11, 21))


def deployment(name: str, replicas: int, namespace: str = "shop") -> tuple[Pod, ...]:
    """The pods of a Deployment that requests half a CPU and 1 GiB for each."""
    requests = {"cpu": "500m", "memory": "1Gi"}
    container = {"name": "app", "image": "registry.example/app:1", "resources": {"requests": requests}}
    written: Mapping[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }
    return tuple(read_pods([written]))


def node(name: str, group: str, architecture: Architecture, zone: str | None, pods: tuple[Pod, ...] = ()) -> NodeState:
    """A node with 4 CPUs and 16 GiB."""
    allocatable = ResourceAmounts(cpu=3920, memory=15 * _GIB, pods=58)
    shape = NodeShape(group, architecture, allocatable, ((ARCHITECTURE, str(architecture)),))
    kind = "m7g.xlarge" if architecture is ARM else "m7i.xlarge"
    return NodeState(name, group, shape, zone, kind, CapacityType.ON_DEMAND, pods)


def placement(*, workload: str = "api") -> Placement:
    """Six nodes in three zones; two pods have none."""
    api, web, billing = deployment(workload, 9), deployment("web", 6), deployment("legacy-billing", 6, "pay")
    nodes = (
        node("ip-10-0-1-11", "base", AMD, "eu-west-1a", billing[:2]),
        node("ip-10-0-2-12", "base", AMD, "eu-west-1b", billing[2:4]),
        node("ip-10-0-1-21", "default-arm64", ARM, "eu-west-1a", (*api[:3], *web[:2])),
        node("ip-10-0-2-22", "default-arm64", ARM, "eu-west-1b", (*api[3:6], *web[2:4])),
        node("ip-10-0-3-23", "default-arm64", ARM, "eu-west-1c", (*api[6:], *web[4:])),
        node("ip-10-0-3-99", "", AMD, None),
    )
    return Placement(nodes, billing[4:], live=True, notes=("1 node belongs to no group of the stack file.",))


def _row(
    name: str, pods: int, *, image: str = "", excluded: str = "", doubt: str = "", there: bool = False
) -> WorkloadRow:
    key = WorkloadKey("shop", "Deployment", name)
    use = ImageUse(image or "registry.example/app:1", "app", ContainerRole.CONTAINER, key, "default")
    newest = Newest("registry.example/old:2", "newest of 3 tags", 3)
    blockers = (ImageBlocker(image, "the index has amd64 only", ("container app",), newest),) if image else ()
    return WorkloadRow(
        subject=Subject(key, (use,), (), (), (), (), pods),
        images=blockers,
        affinity=(excluded,) if excluded else (),
        doubts=(doubt,) if doubt else (),
        tolerates=there,
        preference=ArchitecturePreference.NONE,
        notes=(),
        patch=None,
    )


def workloads() -> WorkloadAudit:
    """One workload in every state, two of them with the same image."""
    rows = (
        _row("api", 9, there=True),
        _row("billing", 6, image="registry.example/old:1"),
        _row("invoices", 2, image="registry.example/old:1"),
        _row("pinned", 1, excluded="nodeSelector requires amd64"),
        _row("unknown", 1, doubt="image registry.example/gone:1: the registry has no such image"),
        _row("web", 6),
    )
    return WorkloadAudit(TAINT, rows, omitted=2)


def daemon_sets() -> DaemonSetAudit:
    """Two groups and two DaemonSets: one fails on arm64 nodes."""
    columns = (
        NodeSet("base", "node group", AMD, (Profile((), count=2),)),
        NodeSet("default-arm64", "NodePool", ARM, (Profile((), (TAINT,), count=3),)),
    )
    runs = Cell(DaemonSetOutcome.RUNS)
    reason = CellReason(CellCause.IMAGE, "image registry.example/agent:1 has no arm64 build", of_architecture=True)
    fails = Cell(DaemonSetOutcome.FAILS, finding=True, reasons=(reason,))
    names = (("kube-system", "aws-node", runs), ("ops", "agent", fails))
    rows = tuple(DaemonSetRow(DaemonSet(space, name, PodSpec(), ()), (runs, cell)) for space, name, cell in names)
    return DaemonSetAudit(columns, rows, ("Not checked: whether the nodes have room for the pods.",))


def _result(name: str, replicas: int, minimum: int, *, surviving: int, pending: int = 0) -> WorkloadResult:
    moved = replicas - surviving - pending
    return WorkloadResult(
        "shop",
        name,
        (AMD,) if name == "billing" else (AMD, ARM),
        replicas,
        Minimum(minimum, f"PodDisruptionBudget {name}"),
        surviving,
        moved,
        pending,
        wait_seconds=390 if moved else None,
        limit="amd64 nodes: at most 4 without zone eu-west-1b, 9 of 12 pods fit" if pending else "",
        change="raise nodeGroups.base.maxSize to 6, or spread it over zones" if pending else "",
    )


def capacity() -> CapacityReport:
    """Three failures; the loss of a zone leaves one workload with too few pods."""

    def result(failure: CapacityFailure, *, lost: int, pending: int, surviving: int) -> FailureResult:
        api = _result("api", 9, 6, surviving=9 - lost)
        billing = _result("billing", 12, 10, surviving=surviving, pending=pending)
        return FailureResult(
            failure,
            (api, billing),
            (GroupCount("base", lost), GroupCount("default-arm64", lost)),
            (GroupCount("base", 1),),
        )

    return CapacityReport(
        "payments-prod",
        Autoscaler.KARPENTER,
        FailureResult(CapacityFailure(), (_result("api", 9, 6, surviving=9), _result("billing", 12, 10, surviving=12))),
        (
            result(CapacityFailure(zones=("eu-west-1b",)), lost=1, pending=3, surviving=8),
            result(CapacityFailure(spot=(ARM,)), lost=2, pending=0, surviving=12),
            result(CapacityFailure(largest_nodes=1), lost=1, pending=1, surviving=10),
        ),
        assumptions=("web has no PodDisruptionBudget: half of its pods are taken as the minimum.",),
        warnings=("shop billing: two PodDisruptionBudgets select its pods: `kubectl drain` evicts none of them.",),
    )


def cost() -> CostReport:
    """Two groups and the control plane; a spot price is unknown."""
    spot = UnknownPrice("EC2 had no spot price for m7g.xlarge in eu-west-1")
    on_demand, bought = CapacityType.ON_DEMAND, CapacityType.SPOT
    lines = (
        CostLine("base", AMD, on_demand, ("m7i.xlarge",), 2, Decimal("294.34")),
        CostLine("default-arm64", ARM, on_demand, ("m7g.xlarge",), 3, Decimal("357.41")),
        CostLine("default-arm64-spot", ARM, bought, ("m7g.xlarge",), 1, spot),
    )
    return CostReport(
        "payments-prod",
        "payments",
        "USD",
        datetime(2026, 11, 20, 6, 30, tzinfo=UTC),
        lines,
        at_maximum_size=(
            GroupAmount("base", Decimal("883.02")),
            GroupAmount("default-arm64", Decimal("1191.36")),
            GroupAmount("default-arm64-spot", spot),
        ),
        others=(OtherAmount("control plane", Decimal("73.00")), OtherAmount("NAT gateways", Decimal("105.12"))),
        fallback=Decimal("58.41"),
        savings=(Saving("shop", "Deployment/billing", ("image registry.example/old:1",), 4, Decimal("41.20")),),
        notes=(f"730 hours, {OMITTED}.",),
    )


def contents() -> ReportContents:
    """All of it."""
    return ReportContents(
        plan(), "Cluster of context production", MADE, placement(), workloads(), daemon_sets(), capacity(), cost()
    )
