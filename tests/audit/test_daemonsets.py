from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.audit.daemonset_model import CellCause, DaemonSetOutcome, Profile
from multiarch.audit.daemonsets import audit_daemon_sets, merge_by_architecture
from multiarch.facts.taints import parse_taint
from multiarch.images.model import Verdict
from multiarch.scheduling.tolerations import make_architecture_cell
from tests.audit.daemons import (
    AMD,
    AMD_ONLY,
    ARM,
    ARM_TAINT,
    TOLERATION,
    cell,
    container,
    daemon,
    group,
    profile,
    texts,
)
from tests.scheduling.manifests import expression, required

ARCH = "kubernetes.io/arch"
AMD_TERM = required([expression(ARCH, "In", "amd64")])
EVERYTHING = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("spec", "nodes", "outcome", "reasons"),
    [
        pytest.param({}, profile(), DaemonSetOutcome.RUNS, [], id="nothing is in the way"),
        pytest.param(
            {},
            profile(ARM, ARM_TAINT),
            DaemonSetOutcome.KEPT_OFF,
            [f"does not tolerate {ARM_TAINT}"],
            id="a taint",
        ),
        pytest.param(
            {"tolerations": [EVERYTHING]}, profile(ARM, ARM_TAINT), DaemonSetOutcome.RUNS, [], id="all tolerated"
        ),
        pytest.param(
            {},
            profile(ARM, "node.kubernetes.io/unschedulable:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"),
            DaemonSetOutcome.RUNS,
            [],
            id="what every DaemonSet tolerates",
        ),
        pytest.param(
            {"tolerations": [{**EVERYTHING, "effect": "NoExecute", "tolerationSeconds": 300}]},
            profile(ARM, "arch=arm64:NoExecute"),
            DaemonSetOutcome.KEPT_OFF,
            ["tolerates arch=arm64:NoExecute for 300 seconds only, then is evicted"],
            id="tolerated for a while",
        ),
        pytest.param(
            {"tolerations": [{"key": "arch", "operator": "Lt", "value": "7"}]},
            profile(ARM, ARM_TAINT),
            DaemonSetOutcome.KEPT_OFF,
            [
                (
                    f"does not tolerate {ARM_TAINT} (toleration arch<7: Lt needs the alpha feature "
                    "TaintTolerationComparisonOperators, which is off in EKS)"
                )
            ],
            id="tolerated by an operator that does not count",
        ),
        pytest.param(
            {"tolerations": [TOLERATION], "affinity": AMD_TERM},
            profile(ARM, ARM_TAINT),
            DaemonSetOutcome.KEPT_OFF,
            [f"has the toleration for {ARM_TAINT}, but affinity term 1 requires {ARCH}=amd64"],
            id="tolerated, and not by its affinity",
        ),
        pytest.param(
            {"affinity": required([expression(ARCH, "In", "amd64"), expression("disk", "In", "ssd")])},
            profile(),
            DaemonSetOutcome.EXCLUDED,
            [f"affinity term 1 requires {ARCH}=amd64 and disk=ssd"],
            id="a term that requests more than an architecture",
        ),
        pytest.param(
            {"nodeSelector": {"gpu": "true"}},
            profile(),
            DaemonSetOutcome.EXCLUDED,
            ["nodeSelector requires gpu=true"],
            id="another label",
        ),
        pytest.param(
            {},
            profile(ARM, "dedicated=db:NoSchedule"),
            DaemonSetOutcome.EXCLUDED,
            ["does not tolerate dedicated=db:NoSchedule"],
            id="another taint",
        ),
        pytest.param(
            {"affinity": required([])},
            profile(),
            DaemonSetOutcome.EXCLUDED,
            ["affinity term 1 is empty, which matches no node"],
            id="an empty term",
        ),
        pytest.param(
            {"affinity": required([expression("disk", "Gt", "many")])},
            profile(ARM, labels={"disk": "7"}),
            DaemonSetOutcome.EXCLUDED,
            ["affinity term 1 requires disk compared with 'many', which is not a number"],
            id="no number",
        ),
        pytest.param(
            {"nodeSelector": {"topology.kubernetes.io/zone": "a"}},
            profile(unknown=["topology.kubernetes.io/zone"]),
            DaemonSetOutcome.UNKNOWN,
            ["nodeSelector requires topology.kubernetes.io/zone=a, which is unknown until its nodes exist"],
            id="a label that nobody knows yet",
        ),
        pytest.param(
            {"affinity": required([expression("a.k8s.io/b", "Exists")], [expression("disk", "Exists")])},
            profile(unknown=["a.k8s.io/b"]),
            DaemonSetOutcome.UNKNOWN,
            [
                "affinity term 1 requires a label a.k8s.io/b, which is unknown until its nodes exist",
                "affinity term 2 requires a label disk",
            ],
            id="a term that nobody knows of yet",
        ),
    ],
)
def test_every_rule_that_is_not_met_is_a_reason(
    spec: Mapping[str, Any], nodes: Profile, outcome: DaemonSetOutcome, reasons: list[str]
) -> None:
    found = cell(daemon(**spec), nodes)
    assert (found.outcome, texts(found)) == (outcome, reasons)
    assert found.finding == (outcome is DaemonSetOutcome.KEPT_OFF)


@pytest.mark.parametrize(
    ("verdict", "nodes", "outcome", "finding"),
    [
        (Verdict.UNSUPPORTED, profile(), DaemonSetOutcome.FAILS, True),
        (Verdict.UNKNOWN, profile(), DaemonSetOutcome.UNKNOWN, False),
        (Verdict.UNSUPPORTED, profile(ARM, ARM_TAINT), DaemonSetOutcome.KEPT_OFF, True),
        (Verdict.UNSUPPORTED, profile(ARM, "dedicated=db:NoSchedule"), DaemonSetOutcome.EXCLUDED, False),
        (Verdict.UNKNOWN, profile(ARM, ARM_TAINT), DaemonSetOutcome.KEPT_OFF, True),
    ],
)
def test_an_image_that_does_not_run_is_worst_where_its_pods_are_put(
    verdict: Verdict, nodes: Profile, outcome: DaemonSetOutcome, *, finding: bool
) -> None:
    init = container("migrate", (Verdict.SUPPORTED, verdict), "init container")
    found = cell(daemon(containers=[init, container()]), nodes)
    assert (found.outcome, found.finding) == (outcome, finding)
    assert texts(found)[-1] == (
        f"{verdict} image registry.example.com/migrate:1 (init container migrate): says {verdict}"
    )
    assert [each.cause for each in found.reasons][-1] is CellCause.IMAGE


def test_one_that_the_other_architecture_could_not_run_either_is_not_a_finding_where_it_is_kept_off() -> None:
    arm_only = container("agent", (Verdict.UNSUPPORTED, Verdict.SUPPORTED))
    found = cell(daemon(containers=[arm_only]), profile(ARM, ARM_TAINT))
    assert (found.outcome, found.finding) == (DaemonSetOutcome.KEPT_OFF, False)


def test_what_nothing_is_certain_about_is_unknown_whatever_else_is_said() -> None:
    found = cell(daemon(doubt="its configuration sets tolerations"), profile(ARM, ARM_TAINT))
    assert (found.outcome, found.finding) == (DaemonSetOutcome.UNKNOWN, False)
    assert texts(found) == ["its configuration sets tolerations", f"does not tolerate {ARM_TAINT}"]


@pytest.mark.parametrize(
    ("taint", "known", "answer"),
    [
        (ARM_TAINT, [], True),
        ("example.com/graviton:NoSchedule", [], True),
        ("dedicated=db:NoSchedule", [], False),
        ("cheap=yes:NoSchedule", ["cheap=yes:NoSchedule"], True),
    ],
)
def test_a_taint_means_an_architecture_by_its_words_or_because_somebody_says_so(
    taint: str, known: list[str], *, answer: bool
) -> None:
    assert make_architecture_cell(parse_taint(taint), [parse_taint(each) for each in known]) is answer


def test_a_taint_that_is_said_to_mean_one_makes_the_difference_a_finding() -> None:
    nodes = profile(ARM, "cheap=yes:NoSchedule")
    assert cell(daemon(), nodes).outcome is DaemonSetOutcome.EXCLUDED
    found = cell(daemon(), nodes, known=["cheap=yes:NoSchedule"])
    assert (found.outcome, found.finding) == (DaemonSetOutcome.KEPT_OFF, True)


def test_reasons_of_some_nodes_say_of_how_many_and_the_worst_is_in_the_cell() -> None:
    tainted = profile(ARM, ARM_TAINT, count=2)
    audit = audit_daemon_sets([daemon()], [group("mixed", ARM, tainted, profile(count=3))])
    (found,) = audit.rows[0].cells
    assert (found.outcome, found.finding) == (DaemonSetOutcome.KEPT_OFF, True)
    assert texts(found) == [f"on 2 of 5 nodes: does not tolerate {ARM_TAINT}"]
    assert audit.columns[0].nodes == 5


def test_what_runs_on_the_nodes_that_it_wants_runs() -> None:
    ssd = profile(labels={"disk": "ssd"})
    audit = audit_daemon_sets([daemon(nodeSelector={"disk": "ssd"})], [group("mixed", ARM, ssd, profile())])
    (found,) = audit.rows[0].cells
    assert (found.outcome, texts(found)) == (DaemonSetOutcome.RUNS, ["on 1 of 2 nodes: nodeSelector requires disk=ssd"])


def test_one_that_differs_by_the_architecture_in_its_name_stands_in() -> None:
    pair = [daemon(f"flannel-ds-{each}", nodeSelector={ARCH: str(each)}) for each in (AMD, ARM)]
    groups = [group("amd", AMD), group("arm", ARM)]
    audit = audit_daemon_sets(pair, groups)
    assert [[each.outcome for each in row.cells] for row in audit.rows] == [
        [DaemonSetOutcome.RUNS, DaemonSetOutcome.EXCLUDED],
        [DaemonSetOutcome.EXCLUDED, DaemonSetOutcome.RUNS],
    ]
    assert audit.findings == 0
    assert texts(audit.rows[0].cells[1])[0] == "flannel-ds-arm64 runs there instead"
    alone = audit_daemon_sets(pair[:1], groups)
    assert alone.findings == 1
    elsewhere = daemon("flannel-ds-arm64", namespace="other", nodeSelector={ARCH: "arm64"})
    assert audit_daemon_sets([pair[0], elsewhere], groups).findings == 2


def test_a_stand_in_whose_image_fails_is_none() -> None:
    pair = [
        daemon("agent", nodeSelector={ARCH: "amd64"}),
        daemon("agent-arm64", nodeSelector={ARCH: "arm64"}, containers=[container("agent", AMD_ONLY)]),
    ]
    audit = audit_daemon_sets(pair, [group("arm", ARM)])
    assert [row.cells[0].outcome for row in audit.rows] == [DaemonSetOutcome.KEPT_OFF, DaemonSetOutcome.FAILS]
    assert audit.findings == 2


def test_by_architecture_the_worst_group_speaks_and_reasons_name_theirs() -> None:
    groups = [group("base", AMD), group("arm", ARM, profile(ARM, ARM_TAINT)), group("arm-free", ARM)]
    audit = merge_by_architecture(audit_daemon_sets([daemon()], groups, notes=["a note"]))
    assert [(each.name, each.groups) for each in audit.columns] == [
        ("amd64", ("base",)),
        ("arm64", ("arm", "arm-free")),
    ]
    amd, arm = audit.rows[0].cells
    assert amd.outcome is DaemonSetOutcome.RUNS
    assert (arm.outcome, arm.finding, texts(arm)) == (
        DaemonSetOutcome.KEPT_OFF,
        True,
        [f"arm: does not tolerate {ARM_TAINT}"],
    )
    assert audit.notes == ("a note",)
