"""Groups of live nodes and of plans, and the DaemonSets of add-ons."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from multiarch.audit.daemonset_groups import list_live_groups, list_planned_groups
from multiarch.audit.daemonset_model import DaemonSetAudit, DaemonSetOutcome, NodeSet
from multiarch.audit.daemonset_sources import (
    add_on_daemon_sets,
    list_image_uses,
    list_planned_daemon_sets,
    read_daemon_sets,
)
from multiarch.audit.daemonsets import audit_daemon_sets, audit_objects, list_label_keys
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.nodes.model import NodeGroupKind
from multiarch.observed.verdicts import ImageRow, ImageVerdicts
from multiarch.observed.workloads import ImageUse
from multiarch.stack.load import load_file
from multiarch.stack.model import AddonPlan, Plan
from multiarch.stack.plan import make_plan
from tests.audit.daemons import AMD, ARM, daemon, texts
from tests.scheduling.manifests import expression, required
from tests.stack.words import plan as planned

STACKS = Path(__file__).parents[2] / "config" / "stacks"
TODAY = date(2026, 11, 21)
ARCH, OS, ZONE, DISK = "kubernetes.io/arch", "kubernetes.io/os", "topology.kubernetes.io/zone", "disk"


def node(
    name: str, labels: Mapping[str, str], *, taints: Sequence[Mapping[str, str]] = (), architecture: str = "arm64"
) -> LoadedObject:
    value = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": [dict(each) for each in taints]},
        "status": {"nodeInfo": {"architecture": labels.get(ARCH, architecture)}},
    }
    return LoadedObject(value, Source("cluster tests"))


@functools.cache
def plan_of(name: str) -> Plan:
    return make_plan(load_file(STACKS / f"Pulumi.{name}.yaml"), today=TODAY)


def named(groups: Sequence[NodeSet]) -> list[tuple[str, str, Architecture, int]]:
    return [(each.kind, each.name, each.architecture, each.count) for each in groups]


# -- live nodes --------------------------------------------------------------------------------------------------------


def test_live_nodes_are_grouped_by_what_made_them_or_else_by_architecture_and_taints() -> None:
    arm, amd = {ARCH: "arm64"}, {ARCH: "amd64"}
    tainted = [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]
    found = list_live_groups(
        [
            node("a", {**arm, "eks.amazonaws.com/nodegroup": "graviton"}, taints=tainted),
            node("b", {**arm, "eks.amazonaws.com/nodegroup": "graviton"}, taints=tainted),
            node("c", {**arm, "karpenter.sh/nodepool": "both"}),
            node("d", {**amd, "karpenter.sh/nodepool": "both"}),
            node("e", amd),
            node("f", arm, taints=tainted),
            node("g", {}),
        ],
        frozenset(),
    )
    assert named(found.groups) == [
        ("node group", "graviton", ARM, 2),
        ("NodePool", "both (amd64)", AMD, 1),
        ("NodePool", "both (arm64)", ARM, 1),
        ("nodes", "other amd64", AMD, 1),
        ("nodes", "other arm64", ARM, 1),
        ("nodes", "other arm64 arch=arm64:NoSchedule", ARM, 1),
    ]
    assert found.notes == ()


def test_live_nodes_that_are_alike_for_all_daemon_sets_are_one_profile() -> None:
    nodes = [node(str(number), {ARCH: "arm64", DISK: "ssd" if number % 2 else "hdd"}) for number in range(10)]
    (alike,) = list_live_groups(nodes, [ARCH]).groups
    assert [(each.count, dict(each.labels)) for each in alike.profiles] == [(10, {ARCH: "arm64"})]
    (by_disk,) = list_live_groups(nodes, [DISK]).groups
    assert [(each.count, dict(each.labels)) for each in by_disk.profiles] == [(5, {DISK: "hdd"}), (5, {DISK: "ssd"})]


def test_taints_that_come_and_go_make_no_group() -> None:
    passing = (
        "node.kubernetes.io/unreachable",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "karpenter.sh/disrupted",
        "ToBeDeletedByClusterAutoscaler",
    )
    nodes = [node("a", {ARCH: "arm64"}), *(node(key, {ARCH: "arm64"}, taints=[_taint(key)]) for key in passing)]
    assert named(list_live_groups(nodes, []).groups) == [("nodes", "other arm64", ARM, 5)]


def _taint(key: str) -> dict[str, str]:
    return {"key": key, "effect": "NoSchedule"}


def test_a_node_is_asked_for_by_name() -> None:
    field = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": field}]}
    made = daemon(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
    groups = list_live_groups([node("a", {ARCH: "arm64"}), node("b", {ARCH: "arm64"})], list_label_keys([made])).groups
    (cell,) = audit_daemon_sets([made], groups).rows[0].cells
    assert (cell.outcome, texts(cell)) == (
        DaemonSetOutcome.RUNS,
        ["on 1 of 2 nodes: affinity term 1 requires metadata.name=b"],
    )


# -- plans -------------------------------------------------------------------------------------------------------------


def test_a_plan_has_its_node_groups_and_pools_with_their_taints() -> None:
    found = list_planned_groups(plan_of("payments-prod"), [])
    assert [(kind, name, architecture) for kind, name, architecture, _ in named(found.groups)] == [
        ("node group", "arm64-services", ARM),
        ("node group", "base", AMD),
        ("NodePool", "jobs-arm64-spot", ARM),
        ("NodePool", "general-arm64-spot", ARM),
        ("NodePool", "general-arm64-on-demand", ARM),
        ("NodePool", "general-amd64-spot", AMD),
        ("NodePool", "general-amd64-on-demand", AMD),
    ]
    taints = {each.name: [str(taint) for taint in each.taints] for each in found.groups}
    assert taints["jobs-arm64-spot"] == ["arch=arm64:NoSchedule", "payments.example.com/workload=batch:NoSchedule"]
    assert taints["general-arm64-spot"] == ["arch=arm64:NoSchedule"]
    assert taints["base"] == []


def test_add_ons_run_on_no_node_of_eks_auto_mode() -> None:
    plan = planned({"autoscaling": {"use": "auto-mode"}})
    made = list_planned_daemon_sets(plan)
    columns = list_planned_groups(plan, list_label_keys(made)).groups
    rows = audit_daemon_sets(made, columns).rows
    assert {row.daemon_set.name for row in rows} >= {"aws-node", "kube-proxy", "ebs-csi-node"}
    for row in rows:
        cells = zip(columns, row.cells, strict=True)
        assert {column.kind for column, cell in cells if cell.outcome is DaemonSetOutcome.RUNS} == {"node group"}


def judged(spec: Mapping[str, Any], stack: str = "payments-prod") -> dict[str, tuple[DaemonSetOutcome, list[str]]]:
    """What happens to a DaemonSet that tolerates all on the groups of a stack."""
    made = daemon(**{"tolerations": [{"operator": "Exists"}], **spec})
    groups = list_planned_groups(plan_of(stack), list_label_keys([made])).groups
    audit = audit_daemon_sets([made], groups)
    cells = zip(audit.columns, audit.rows[0].cells, strict=True)
    return {column.name: (cell.outcome, texts(cell)) for column, cell in cells}


@pytest.mark.parametrize(
    ("key", "value", "running"),
    [
        ("payments.example.com/workload", "batch", {"jobs-arm64-spot"}),
        ("karpenter.sh/capacity-type", "spot", {"general-arm64-spot", "general-amd64-spot", "jobs-arm64-spot"}),
        ("eks.amazonaws.com/capacityType", "ON_DEMAND", {"arm64-services", "base"}),
        (ZONE, "eu-west-1b", set()),
    ],
)
def test_labels_that_a_plan_has_are_known(key: str, value: str, running: set[str]) -> None:
    found = judged({"nodeSelector": {key: value}})
    assert {name for name, (outcome, _) in found.items() if outcome is DaemonSetOutcome.RUNS} == running
    assert {outcome for outcome, _ in found.values()} <= {DaemonSetOutcome.RUNS, DaemonSetOutcome.EXCLUDED}


def test_some_instance_types_of_a_group_have_a_label() -> None:
    kind = judged({"nodeSelector": {"node.kubernetes.io/instance-type": "m6g.xlarge"}})
    assert kind["arm64-services"] == (
        DaemonSetOutcome.RUNS,
        ["on 1 of 2 instance types: nodeSelector requires node.kubernetes.io/instance-type=m6g.xlarge"],
    )
    assert kind["base"][0] is DaemonSetOutcome.EXCLUDED


@pytest.mark.parametrize(("stack", "key"), [("payments-prod", "nvidia.com/gpu.present"), ("checkout-dev", ZONE)])
def test_what_others_set_and_zones_without_names_are_unknown_until_nodes_exist(stack: str, key: str) -> None:
    found = judged({"nodeSelector": {key: "true"}}, stack)
    reason = f"nodeSelector requires {key}=true, which is unknown until its nodes exist"
    assert (DaemonSetOutcome.UNKNOWN, [reason]) in found.values()


@pytest.mark.parametrize(
    ("operator", "outcome"), [("Exists", DaemonSetOutcome.RUNS), ("DoesNotExist", DaemonSetOutcome.EXCLUDED)]
)
def test_a_planned_managed_node_has_a_node_group_whatever_its_name_becomes(
    operator: str, outcome: DaemonSetOutcome
) -> None:
    rule = required([expression("eks.amazonaws.com/nodegroup", operator)])
    assert {found for found, _ in judged({"affinity": rule}, "checkout-dev").values()} == {outcome}


# -- add-ons -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["payments-prod", "legacy-al2"])
def test_the_add_ons_of_every_stack_run_on_all_of_its_nodes(stack: str) -> None:
    plan = plan_of(stack)
    made = add_on_daemon_sets(plan.addons)
    audit = audit_daemon_sets(made, list_planned_groups(plan, list_label_keys(made)).groups)
    assert len(audit.rows) >= 3
    assert {cell.outcome for row in audit.rows for cell in row.cells} == {DaemonSetOutcome.RUNS}


def test_the_ebs_driver_excludes_the_instance_types_that_its_chart_excludes() -> None:
    made = [each for each in add_on_daemon_sets(plan_of("payments-prod").addons) if each.name == "ebs-csi-node"]
    nodes = [
        node("a", {ARCH: "arm64", "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": kind})
        for kind in ("a1.large", "m6g.large")
    ]
    (cell,) = audit_daemon_sets(made, list_live_groups(nodes, list_label_keys(made)).groups).rows[0].cells
    assert cell.outcome is DaemonSetOutcome.RUNS
    (reason,) = texts(cell)
    assert reason.startswith("on 1 of 2 nodes: affinity term 1 requires node.kubernetes.io/instance-type not in [a1.")


def addon(name: str, configuration: Mapping[str, object], version: str | None = None) -> AddonPlan:
    return AddonPlan(name, version, json.dumps(configuration), before_nodes=False, service_account=None)


def outcomes(addons: Sequence[AddonPlan]) -> DaemonSetAudit:
    made = add_on_daemon_sets(addons)
    return audit_daemon_sets(made, list_planned_groups(plan_of("payments-prod"), list_label_keys(made)).groups)


def test_a_configuration_that_may_move_an_add_on_makes_it_unknown() -> None:
    harmless = outcomes([addon("vpc-cni", {"env": {"A": "b"}}), addon("aws-ebs-csi-driver", {"controller": {}})])
    assert harmless.count(DaemonSetOutcome.UNKNOWN) == 0
    moved = outcomes([addon("aws-ebs-csi-driver", {"controller": {}, "node": {"tolerateAllTaints": False}})])
    assert {cell.outcome for cell in moved.rows[0].cells} == {DaemonSetOutcome.UNKNOWN}
    assert texts(moved.rows[0].cells[0])[0] == "its configuration sets node, which may change where it runs"


def test_add_ons_of_a_stack_s_choice_run_everywhere_by_what_is_published_of_their_release() -> None:
    names = ["amazon-cloudwatch-observability", "aws-efs-csi-driver", "metrics-server", "prometheus-node-exporter"]
    found = outcomes([addon(name, {}) for name in names])
    assert [row.daemon_set.name for row in found.rows] == [
        "cloudwatch-agent",
        "efs-csi-node",
        "fluent-bit",
        "prometheus-node-exporter",
    ]
    assert {cell.outcome for row in found.rows for cell in row.cells} == {DaemonSetOutcome.RUNS}
    s3 = "aws-mountpoint-s3-csi-driver"
    new, old = (outcomes([addon(s3, {}, version)]) for version in ("v2.1.0-eksbuild.1", "v1.15.0-eksbuild.1"))
    assert {cell.outcome for cell in new.rows[0].cells} == {DaemonSetOutcome.RUNS}
    assert texts(old.rows[0].cells[0]) == ["it is v1.15.0-eksbuild.1, and what is known is of v2.0.0 and later"]


def test_an_add_on_that_is_not_known_is_unknown_everywhere() -> None:
    found = outcomes([addon("adot", {})])
    assert [str(row.daemon_set) for row in found.rows] == ["kube-system/(adot)"]
    assert {cell.outcome for cell in found.rows[0].cells} == {DaemonSetOutcome.UNKNOWN}


def test_an_add_on_that_was_read_in_the_cluster_is_judged_as_it_was_read() -> None:
    metadata = {"name": "kube-proxy", "namespace": "kube-system"}
    found = LoadedObject({**written().value, "metadata": metadata}, Source("agent.yaml", 1, 1))
    rows = audit_objects([found], images("agent:1"), plan=plan_of("payments-prod")).rows
    assert [row.daemon_set.add_on for row in rows if row.daemon_set.name == "kube-proxy"] == [""]


def test_the_termination_handler_runs_on_self_managed_groups_alone() -> None:
    plan = replace(plan_of("legacy-al2"), termination_handler=True)
    made = list_planned_daemon_sets(plan)
    (handler,) = (each for each in made if each.name == "aws-node-termination-handler")
    assert set(made) == {handler, *add_on_daemon_sets(plan.addons)}
    assert list_planned_daemon_sets(replace(plan, termination_handler=False)) == add_on_daemon_sets(plan.addons)
    groups = list_planned_groups(plan, list_label_keys([handler])).groups
    kinds = {group.name: group.kind for group in plan.node_groups}
    cells = audit_daemon_sets([handler], groups).rows[0].cells
    assert {kinds[group.name]: cell.outcome for group, cell in zip(groups, cells, strict=True)} == {
        NodeGroupKind.SELF_MANAGED: DaemonSetOutcome.RUNS,
        **({NodeGroupKind.MANAGED: DaemonSetOutcome.EXCLUDED} if NodeGroupKind.MANAGED in kinds.values() else {}),
    }


# -- DaemonSets that are read ------------------------------------------------------------------------------------------


def written(**spec: Any) -> LoadedObject:
    value = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "agent",
            "namespace": "monitoring",
            "ownerReferences": [{"kind": "Agent", "name": "all", "controller": True}],
        },
        "spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "agent:1"}], **spec}}},
    }
    return LoadedObject(value, Source("agent.yaml", 1, 1))


def images(*names: str) -> ImageVerdicts:
    judgements = tuple(Judgement(each, Verdict.SUPPORTED, "has both", None) for each in Architecture)
    used = [ImageUse(name, "", ContainerRole.CONTAINER, WorkloadKey("", "", ""), "") for name in names]
    return ImageVerdicts(tuple(Architecture), tuple(ImageRow(each.image, judgements, (each,)) for each in used))


def test_a_daemon_set_is_read_with_all_its_containers_whoever_owns_it() -> None:
    sidecar = {"name": "proxy", "image": "proxy:2", "restartPolicy": "Always"}
    found = written(initContainers=[{"name": "init", "image": "init:1"}, sidecar])
    other = LoadedObject({"kind": "Service", "metadata": {"name": "a"}}, Source("agent.yaml", 2, 9))
    assert {use.image for use in list_image_uses([found, other])} == {"agent:1", "init:1", "proxy:2"}
    (made,) = read_daemon_sets([found, other], images("agent:1", "init:1", "proxy:2"))
    assert str(made) == "monitoring/agent"
    assert {(each.name, each.role, each.image) for each in made.containers} == {
        ("agent", "container", "agent:1"),
        ("init", "init container", "init:1"),
        ("proxy", "sidecar", "proxy:2"),
    }


def test_a_daemon_set_that_kubernetes_would_reject_names_its_place() -> None:
    bad = written(tolerations=[{"operator": "Sometimes"}])
    with pytest.raises(MultiarchError, match=r"^agent.yaml:1, document 1, DaemonSet monitoring/agent: spec.template"):
        read_daemon_sets([bad], images("agent:1"))


def test_node_name_and_operating_system_are_rules_too() -> None:
    nodes = [node("a", {ARCH: "arm64", OS: "linux"}), node("b", {ARCH: "amd64", OS: "linux"}, architecture="amd64")]
    found = [
        written(nodeName="b"),
        written(nodeName="linux"),
        written(os={"name": "windows"}),
        written(os={"name": "linux"}),
    ]
    for read, outcomes, reason in zip(
        found,
        [("excluded", "runs"), ("excluded", "excluded"), ("excluded", "excluded"), ("runs", "runs")],
        ["nodeName requires the node b", "nodeName requires the node linux", "os.name requires windows", None],
        strict=True,
    ):
        (made,) = read_daemon_sets([read], images("agent:1"))
        groups = list_live_groups(nodes, list_label_keys([made])).groups
        cells = {
            group.architecture: cell
            for group, cell in zip(groups, audit_daemon_sets([made], groups).rows[0].cells, strict=True)
        }
        assert (cells[ARM].outcome, cells[AMD].outcome) == outcomes
        assert texts(cells[ARM]) == ([reason] if reason else [])
        assert not any(cell.finding for cell in cells.values())


def test_a_plan_s_nodes_have_no_names_yet() -> None:
    (made,) = read_daemon_sets([written(nodeName="b", tolerations=[{"operator": "Exists"}])], images("agent:1"))
    groups = list_planned_groups(plan_of("payments-prod"), list_label_keys([made])).groups
    cells = audit_daemon_sets([made], groups).rows[0].cells
    assert {cell.outcome for cell in cells} == {DaemonSetOutcome.UNKNOWN}
    assert texts(cells[0]) == ["nodeName requires the node b, which is unknown until its nodes exist"]
