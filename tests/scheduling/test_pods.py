from __future__ import annotations

import copy
from typing import Any

import pytest

from multiarch.manifests.owners import WorkloadKey
from multiarch.manifests.values import ManifestError, ObjectReference, Value
from multiarch.scheduling import pod_spec
from multiarch.scheduling.pods import Workload, read_workloads
from tests.scheduling.manifests import container, pod_manifest, pods, spec, workload


def names(*documents: object) -> list[str]:
    return [str(pod) for pod in pods(*documents)]


def test_a_template_that_names_its_node_is_not_modelled() -> None:
    (made,) = pods(workload("Deployment", pod={**spec(), "nodeName": "ip-10-0-0-1"}))
    assert made.spec.unmodelled == ("spec.nodeName ip-10-0-0-1: the pods go to this node without kube-scheduler",)


@pytest.mark.parametrize("document", [workload("Deployment", replicas=2), pod_manifest("one"), workload("DaemonSet")])
def test_an_object_that_is_given_twice_is_rejected(document: dict[str, Any]) -> None:
    with pytest.raises(ManifestError, match=r"document 2, .* shop/.*: is given twice") as raised:
        names(document, copy.deepcopy(document))
    assert raised.value.hint == "`kubectl apply` would keep the last one. Give each object once."


def test_objects_that_share_a_name_only_are_not_the_same() -> None:
    of_volcano = {**workload("Job"), "apiVersion": "batch.volcano.sh/v1alpha1"}
    assert names(workload("Job"), of_volcano) == ["shop/api-0", "shop/api-0"]
    elsewhere = workload("Deployment")
    elsewhere["metadata"] = {**elsewhere["metadata"], "namespace": "other"}
    assert names(workload("Deployment"), elsewhere, workload("StatefulSet")) == [
        "shop/api-0",
        "other/api-0",
        "shop/api-0",
    ]
    successive = [pod_manifest("db-0"), pod_manifest("db-0")]
    for uid, each in zip("ab", successive, strict=True):
        each["metadata"]["uid"] = uid
    assert names(*successive) == ["shop/db-0", "shop/db-0"]
    generated = {"kind": "Pod", "metadata": {"generateName": "a-", "namespace": "shop"}, "spec": spec()}
    assert len(names({"kind": "List", "items": [generated, generated]})) == 2


COUNTS = [
    (workload("Deployment", replicas=3), ["shop/api-0", "shop/api-1", "shop/api-2"]),
    (workload("Deployment"), ["shop/api-0"]),
    (workload("Deployment", replicas=0), []),
    (workload("ReplicationController", replicas=1), ["shop/api-0"]),
    (workload("StatefulSet", replicas=2, ordinals={"start": 5}), ["shop/api-5", "shop/api-6"]),
    (workload("Job"), ["shop/api-0"]),
    (workload("Job", parallelism=3), ["shop/api-0", "shop/api-1", "shop/api-2"]),
    (workload("Job", parallelism=3, completions=2), ["shop/api-0", "shop/api-1"]),
    (workload("Job", parallelism=3, suspend=True), []),
    (workload("DaemonSet"), ["shop/api"]),
    (workload("Rollout", replicas=2), ["shop/api-0", "shop/api-1"]),
]


@pytest.mark.parametrize(("document", "expected"), COUNTS)
def test_a_workload_becomes_as_many_pods_as_it_makes_at_a_time(document: dict[str, Any], expected: list[str]) -> None:
    assert names(document) == expected


def test_a_cron_job_becomes_the_pods_of_one_run() -> None:
    job = workload("Job", parallelism=2)["spec"]
    cron: dict[str, Any] = {
        "kind": "CronJob",
        "metadata": {"name": "report"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": job}},
    }
    assert names(cron) == ["default/report-0", "default/report-1"]
    cron["spec"]["suspend"] = True
    assert names(cron) == []
    assert [type(found) for found in read_workloads([cron])] == [Workload]


def test_pods_of_a_workload_have_its_template_and_share_one_spec() -> None:
    made = pods(workload("Deployment", replicas=3, pod=spec(nodeSelector={"disk": "ssd"})))
    assert {pod.labels for pod in made} == {(("app", "api"),)}
    assert {pod.owner for pod in made} == {WorkloadKey("shop", "Deployment", "api")}
    assert len({id(pod.spec) for pod in made}) == 1
    assert made[0].spec.affinity.selector == (("disk", "ssd"),)


def live(name: str, **more: Any) -> dict[str, Any]:
    """A pod as a cluster shows it, with the parts that differ between siblings."""
    made = pod_manifest(name, labels={"app": "api"}, **more)
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "api-7d9", "controller": True}]
    made["spec"]["volumes"] = [{"name": f"kube-api-access-{name}", "projected": {}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": f"kube-api-access-{name}", "mountPath": "/x"}]
    made["spec"]["hostname"] = name
    return made


def test_live_siblings_share_one_spec_and_others_do_not() -> None:
    first, second, other = pods(live("a"), live("b"), live("c", nodeSelector={"disk": "ssd"}))
    assert first.spec is second.spec
    assert other.spec is not first.spec


class Watched(dict[str, Any]):
    """A mapping that notes which keys are requested."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.asked: set[str] = set()

    def get(self, key: str, default: object = None) -> object:
        self.asked.add(key)
        return super().get(key, default)


def test_what_is_omitted_when_specs_are_compared_is_never_read() -> None:
    main = Watched(container({"cpu": "1"}, ports=[{"hostPort": 80}]))
    watched = Watched(spec(containers=[main], tolerations=[{"operator": "Exists"}], priorityClassName="high"))
    pod_spec.read_pod_spec(Value(watched, ObjectReference(1)))
    assert {"containers", "tolerations", "affinity"} <= watched.asked
    assert watched.asked.isdisjoint(pod_spec._NOT_READ)  # noqa: SLF001 # the rule under test
    assert {"resources", "ports"} <= main.asked
    assert main.asked.isdisjoint(pod_spec._NOT_READ_OF_CONTAINERS)  # noqa: SLF001 # the rule under test


def test_a_live_pod_says_where_it_is_and_who_owns_it() -> None:
    document = live("a", nodeName="ip-10-0-0-1")
    document["status"] = {"phase": "Running"}
    (made,) = pods(document)
    assert (made.node_name, made.phase, made.waiting) == ("ip-10-0-0-1", "Running", False)
    assert made.owner == WorkloadKey("shop", "ReplicaSet", "api-7d9")


@pytest.mark.parametrize(
    ("status", "metadata", "waiting"),
    [
        ({"phase": "Pending"}, {}, True),
        ({"phase": "Succeeded"}, {}, False),
        ({"phase": "Pending"}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, False),
    ],
)
def test_a_pod_waits_when_the_scheduler_has_to_find_a_node(
    status: dict[str, str], metadata: dict[str, str], *, waiting: bool
) -> None:
    document = pod_manifest("a")
    document["status"] = status
    document["metadata"].update(metadata)
    assert pods(document)[0].waiting is waiting


def test_lists_are_unpacked_and_a_typed_lists_items_need_no_kind() -> None:
    item = pod_manifest("b")
    del item["kind"]
    documents = [
        {"kind": "List", "items": [pod_manifest("a"), workload("Job", "j")]},
        {"kind": "PodList", "items": [item]},
    ]
    assert names(*documents) == ["shop/a", "shop/j-0", "shop/b"]


def test_empty_documents_and_other_kinds_yield_nothing() -> None:
    pool = {"kind": "NodePool", "metadata": {"name": "arm"}, "spec": {"template": {"spec": {"taints": []}}}}
    assert (
        names(None, {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}, pool, {"kind": "Kustomization"}) == []
    )


def test_a_dump_of_a_cluster_counts_nothing_twice() -> None:
    replica_set = workload("ReplicaSet", "api-7d9", replicas=2)
    replica_set["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "api", "controller": True}]
    old = workload("ReplicaSet", "api-old", replicas=0)
    old["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "api", "controller": True}]
    dump = [workload("Deployment", "api", replicas=2), replica_set, old, live("api-7d9-x"), live("api-7d9-y")]
    assert names(*dump) == ["shop/api-7d9-x", "shop/api-7d9-y"]
    assert names(*dump[:3]) == ["shop/api-7d9-0", "shop/api-7d9-1"]
    assert names(*dump[:1]) == ["shop/api-0", "shop/api-1"]


def test_an_owner_of_another_namespace_is_another_owner() -> None:
    stranger = live("x", namespace="elsewhere")
    stranger["metadata"]["ownerReferences"][0] |= {"kind": "Deployment", "name": "api"}
    assert names(workload("Deployment", "api"), stranger) == ["shop/api-0", "elsewhere/x"]


def test_a_daemon_set_stays_a_template_though_its_pods_are_there() -> None:
    daemon = live("agent-x")
    daemon["metadata"]["ownerReferences"][0] |= {"kind": "DaemonSet", "name": "agent"}
    template, running = pods(workload("DaemonSet", "agent"), daemon)
    assert (template.per_node, running.per_node) == (True, False)
    assert template.daemon
    assert running.daemon


def test_a_daemon_sets_pods_tolerate_what_its_controller_adds() -> None:
    def tolerated(**more: Any) -> set[str]:
        (made,) = pods(workload("DaemonSet", pod=spec(**more)))
        return {str(toleration) for toleration in made.spec.tolerations}

    usual = {
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/unreachable:NoExecute",
        "node.kubernetes.io/disk-pressure:NoSchedule",
        "node.kubernetes.io/memory-pressure:NoSchedule",
        "node.kubernetes.io/pid-pressure:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    }
    assert tolerated() == usual
    assert tolerated(hostNetwork=True) == usual | {"node.kubernetes.io/network-unavailable:NoSchedule"}
    assert not pods(workload("Deployment"))[0].spec.tolerations


@pytest.mark.parametrize(
    ("more", "priority"),
    [
        ({}, 0),
        ({"priority": 100, "priorityClassName": "high"}, 100),
        ({"priorityClassName": "high"}, None),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
    ],
)
def test_the_priority_is_a_number_where_it_is_known(more: dict[str, Any], priority: int | None) -> None:
    assert pods(pod_manifest(**more))[0].spec.priority == priority


def broken(path: str, value: object) -> dict[str, Any]:
    """A Deployment with one value replaced."""
    document = copy.deepcopy(workload("Deployment", replicas=1))
    *way, last = path.split(".")
    here = document
    for key in way:
        here = here[key]
    here[last] = value
    return document


SPREAD = "spec.template.spec.topologySpreadConstraints"
# what is broken in a Deployment, and the error after its place
BROKEN_DEPLOYMENTS = [
    (broken("spec.replicas", -1), "spec.replicas: must be 0 or more, not -1."),
    (
        broken("spec.template.metadata", {"labels": {"v": 1}}),
        "spec.template.metadata.labels.v: must be a string, not 1. Put it in quotes.",
    ),
    (
        broken("spec.template.spec.nodeSelector", {"gpu": True}),
        (
            "spec.template.spec.nodeSelector.gpu: must be a string, not True. "
            "YAML reads true, false, yes, no, on, off, y and n as booleans: put it in quotes."
        ),
    ),
    (
        broken(SPREAD, [{"topologyKey": "z", "maxSkew": 1}]),
        f"{SPREAD}[0].whenUnsatisfiable: is missing. Write DoNotSchedule or ScheduleAnyway.",
    ),
    (
        broken(SPREAD, [{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        f"{SPREAD}[0].maxSkew: is missing.",
    ),
    (
        broken(SPREAD, [{"topologyKey": "z", "maxSkew": 1, "minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}]),
        f"{SPREAD}[0].minDomains: needs whenUnsatisfiable: DoNotSchedule.",
    ),
]
BROKEN = [
    *((document, f"document 1, Deployment shop/api: {words}") for document, words in BROKEN_DEPLOYMENTS),
    ({"kind": "Pod", "metadata": {}, "spec": spec()}, "document 1, Pod: metadata.name: is missing or empty."),
    (
        {"kind": "Job", "metadata": {"name": "j"}, "spec": {}},
        "document 1, Job default/j: spec.template.spec: is missing.",
    ),
    (
        {"kind": "List", "items": [pod_manifest("a"), {"kind": "Pod", "metadata": {"name": "b"}, "spec": {}}]},
        "document 1, Pod default/b: items[1].spec.containers: is missing or empty.",
    ),
]


@pytest.mark.parametrize(("document", "words"), BROKEN)
def test_a_document_that_kubernetes_would_reject_is_rejected_with_its_place(document: object, words: str) -> None:
    with pytest.raises(ManifestError) as caught:
        pods(document)
    assert str(caught.value) == words
