from __future__ import annotations

from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.scheduling.fit import explain_never, list_allowed_zones, list_unmodelled, sum_daemon_overhead
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause
from multiarch.scheduling.resources import ResourceAmounts
from tests.scheduling.manifests import (
    ARM64_TOLERATION,
    GI,
    ZONES,
    container,
    expression,
    pod,
    pods,
    required,
    shape,
    spec,
    workload,
)

ZONE = "topology.kubernetes.io/zone"
TAINTED = ("arch=arm64:NoSchedule",)


def said(wanted: Pod, **more: Any) -> tuple[Cause, str] | None:
    reason = explain_never(wanted.spec, shape(**more))
    return None if reason is None else (reason.cause, str(reason))


def test_a_taint_without_a_toleration_keeps_the_pod_off() -> None:
    assert said(pod(), taints=TAINTED) == (Cause.TAINT, "does not tolerate arch=arm64:NoSchedule")
    assert said(pod(tolerations=[ARM64_TOLERATION]), taints=TAINTED) is None
    assert said(pod(), taints=["arch=arm64:PreferNoSchedule"]) is None


def test_a_toleration_that_no_eks_cluster_honours_says_so() -> None:
    wanted = pod(tolerations=[{"key": "level", "operator": "Gt", "value": "5"}])
    reason = explain_never(wanted.spec, shape(taints=["level=7:NoSchedule"]))
    assert reason is not None
    assert reason.text.startswith("does not tolerate level=7:NoSchedule (toleration level>5: Gt needs the alpha")
    assert any("level>5" in clause for clause in list_unmodelled(wanted))


def test_a_pod_for_windows_fits_no_node_though_kube_scheduler_would_bind_it() -> None:
    windows = pod(os={"name": "windows"})
    assert said(windows) == (Cause.OPERATING_SYSTEM, "os.name requires windows, and the nodes run Linux")
    assert said(pod(os={"name": "linux"})) is None
    (agent,) = pods(workload("DaemonSet", pod=spec(os={"name": "windows"})))
    assert sum_daemon_overhead([agent], shape()) == ResourceAmounts()


def test_the_architecture_is_a_label_of_every_node() -> None:
    amd64 = pod(nodeSelector={"kubernetes.io/arch": "amd64"})
    assert said(amd64) == (Cause.NODE_SELECTOR, "nodeSelector requires kubernetes.io/arch=amd64")
    assert said(amd64, architecture=Architecture.AMD64) is None
    rules = required([expression("disk", "Exists")], [expression("kubernetes.io/arch", "In", "amd64")])
    assert said(pod(affinity=rules)) == (
        Cause.NODE_AFFINITY,
        "a label disk required by affinity term 1, and architecture amd64 required by affinity term 2",
    )
    assert said(pod(affinity=rules), labels={"disk": "ssd"}) is None


def test_a_shape_whose_labels_contradict_its_architecture_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"arm-spot is arm64, but its label kubernetes\.io/arch is amd64"):
        shape(labels={"kubernetes.io/arch": "amd64"})


def test_a_new_node_has_a_host_name_that_nobody_can_have_asked_for() -> None:
    host = "kubernetes.io/hostname"
    assert said(pod(affinity=required([expression(host, "Exists")]))) is None
    assert said(pod(affinity=required([expression(host, "NotIn", "ip-10-0-0-1")]))) is None
    assert said(pod(nodeSelector={host: "ip-10-0-0-1"})) == (
        Cause.NODE_SELECTOR,
        "nodeSelector requires kubernetes.io/hostname=ip-10-0-0-1",
    )


def test_one_of_the_zones_is_enough() -> None:
    second = pod(nodeSelector={ZONE: ZONES[1]})
    assert said(second) is None
    assert list_allowed_zones(second.spec, shape()) == (ZONES[1],)
    assert list_allowed_zones(pod().spec, shape()) == ZONES
    assert list_allowed_zones(pod().spec, shape(zones=())) == (None,)
    assert list_allowed_zones(second.spec, shape(zones=())) == ()
    assert said(pod(nodeSelector={ZONE: "us-east-1a"})) == (
        Cause.NODE_SELECTOR,
        "nodeSelector requires topology.kubernetes.io/zone=us-east-1a",
    )


def test_zones_that_are_excluded_by_different_things_name_them_all() -> None:
    rules = required([expression("disk", "Exists")])
    wanted = pod(nodeSelector={ZONE: ZONES[0]}, affinity=rules)
    assert said(wanted, zones=ZONES[:2]) == (
        Cause.NODE_SELECTOR,
        f"nodeSelector requires {ZONE}={ZONES[0]}; a label disk required by affinity term 1",
    )


def big(**requests: str) -> Pod:
    return pod(containers=[container({name.replace("_", "-"): amount for name, amount in requests.items()})])


def test_a_pod_larger_than_an_empty_node_says_which_resource_and_by_how_much() -> None:
    reason = explain_never(big(cpu="8", memory="16Gi").spec, shape())
    assert reason is not None
    assert reason.cause is Cause.RESOURCES
    assert reason.text == (
        "too large for an empty node of arm-spot: cpu: 8 requested, 3.92 available, 4.08 short; "
        "memory: 16Gi requested, 14Gi available, 2Gi short"
    )


def test_the_number_of_pods_is_a_limit_of_its_own() -> None:
    none = ResourceAmounts(cpu=3920, memory=GI)
    assert said(pod(), allocatable=none) == (Cause.POD_COUNT, "a node of arm-spot has no room for pods (max pods 0)")


def test_taints_are_said_before_affinity_and_affinity_before_resources() -> None:
    wanted: dict[str, Any] = {"containers": [container({"cpu": "64"})], "nodeSelector": {"disk": "ssd"}}
    causes = [
        said(pod(**wanted), taints=TAINTED),
        said(pod(**wanted, tolerations=[ARM64_TOLERATION]), taints=TAINTED),
        said(pod(**wanted), labels={"disk": "ssd"}),
    ]
    assert [cause and cause[0] for cause in causes] == [Cause.TAINT, Cause.NODE_SELECTOR, Cause.RESOURCES]


def test_a_daemon_set_takes_of_the_nodes_that_its_pods_may_be_on() -> None:
    agent = workload("DaemonSet", "agent", pod=spec(containers=[container({"cpu": "100m", "memory": "1Gi"})]))
    amd64 = workload(
        "DaemonSet", "amd", pod=spec(containers=[container({"cpu": "1"})], nodeSelector={"kubernetes.io/arch": "amd64"})
    )
    everywhere = workload(
        "DaemonSet", "cni", pod=spec(containers=[container({"cpu": "50m"})], tolerations=[{"operator": "Exists"}])
    )
    huge = workload("DaemonSet", "huge", pod=spec(containers=[container({"cpu": "64"})]))
    daemons = pods(agent, amd64, everywhere)
    assert sum_daemon_overhead(daemons, shape()) == ResourceAmounts(cpu=150, memory=GI, pods=2)
    assert sum_daemon_overhead(daemons, shape(taints=TAINTED)) == ResourceAmounts(cpu=50, pods=1)
    assert sum_daemon_overhead(daemons, shape(architecture=Architecture.AMD64)) == ResourceAmounts(
        cpu=1150, memory=GI, pods=3
    )
    assert sum_daemon_overhead(pods(huge), shape()) == ResourceAmounts(cpu=64000, pods=1)
    assert sum_daemon_overhead([pod()], shape()) == ResourceAmounts()


UNMODELLED: list[tuple[dict[str, Any], str]] = [
    ({"containers": [container(ports=[{"containerPort": 80, "hostPort": 80}])]}, "host ports"),
    ({"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}, "volumes (persistentVolumeClaim)"),
    ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}, "resource claims"),
    ({"runtimeClassName": "gvisor"}, "runtime class gvisor"),
    ({"resources": {"requests": {"cpu": "1"}}}, "pod-level resources"),
    ({"schedulingGates": [{"name": "wait"}]}, "scheduling gates"),
    ({"schedulerName": "volcano"}, "scheduler volcano"),
    ({"schedulingGroup": {"podGroupName": "x"}}, "scheduling group"),
    ({"priorityClassName": "high"}, "priority class high"),
    ({"tolerations": [{"key": "a", "operator": "Lt", "value": "1"}]}, "toleration a<1"),
    (
        {
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": ZONE, "namespaceSelector": {"matchLabels": {"team": "a"}}}
                    ]
                }
            }
        },
        "namespaceSelector",
    ),
    (
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "api"}},
                    "matchLabelKeys": ["pod-template-hash"],
                }
            ]
        },
        "label keys pod-template-hash",
    ),
]


@pytest.mark.parametrize(("more", "begins"), UNMODELLED)
def test_what_is_not_judged_is_said(more: dict[str, Any], begins: str) -> None:
    clauses = list_unmodelled(pod(**more))
    assert len(clauses) == 1
    assert clauses[0].startswith(begins)


def test_a_usual_pod_has_nothing_that_is_not_judged() -> None:
    rules: dict[str, Any] = {"affinity": required([expression("disk", "Exists")]), "tolerations": [ARM64_TOLERATION]}
    volumes = [{"name": "a", "configMap": {}}, {"name": "b", "emptyDir": {}}, {"name": "c", "projected": {}}]
    assert (
        list_unmodelled(pod(**rules, volumes=volumes, nodeSelector={"a": "b"}, schedulerName="default-scheduler")) == ()
    )
    assert list_unmodelled(pod(runtimeClassName="gvisor", overhead={"cpu": "1"})) == ()
    assert list_unmodelled(pod(priorityClassName="low", preemptionPolicy="Never")) == ()


def test_preferences_about_other_pods_are_judged() -> None:
    soft = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    apart = [{"weight": 1, "podAffinityTerm": {"topologyKey": ZONE}}]
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": apart}}
    assert list_unmodelled(pod(topologySpreadConstraints=[soft], affinity=affinity)) == ()
