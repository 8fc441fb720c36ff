from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from multiarch.audit.subjects import ARM, ArchitecturePreference, gather_subjects
from multiarch.audit.workloads import WorkloadAudit, WorkloadRow, WorkloadState, audit_workloads
from multiarch.facts.taints import Taint, parse_taint
from multiarch.images.model import Verdict
from multiarch.kubernetes.source import LoadedObject, Source
from multiarch.observed.images import judge_uses
from multiarch.observed.newest_tags import find_newest_tag
from multiarch.registry.reference import parse_reference
from tests.images.asking import asked
from tests.images.shapes import Repository
from tests.observed import test_workloads as written
from tests.observed.test_workloads import spec

Manifest = dict[str, Any]
LIVE = Source("cluster here")
FILE = Source("shop.yaml", 1, 1)
TAINT = parse_taint("arch=arm64:NoSchedule")
TOLERATES = {"tolerations": [{"key": "arch", "operator": "Exists", "effect": "NoSchedule"}]}
ON_AMD64 = {"nodeSelector": {"kubernetes.io/arch": "amd64"}}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def prefers(architecture: str) -> Manifest:
    wanted = {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": [architecture]}]}
    return {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 5, "preference": wanted}]}}}


@pytest.fixture
def both(repository: Repository) -> str:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="1.1")
    return f"{repository.server.host}/{repository.name}:1.1"


@pytest.fixture
def amd64(repository: Repository) -> str:
    repository.image("linux/amd64", tag="1.0")
    return f"{repository.server.host}/{repository.name}:1.0"


def of(kind: str, name: str, **more: Any) -> Manifest:
    group = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "Rollout": "example.com/v1"}.get(kind, "apps/v1")
    return {"apiVersion": group, **written.of(kind, name, **more)}


def deployment(name: str, pod_spec: Manifest, replicas: int = 1, **more: Any) -> Manifest:
    return of("Deployment", name, spec={"replicas": replicas, "template": {"spec": pod_spec}}, **more)


def audited(*objects: Manifest, taint: Taint | None = TAINT, source: Source = FILE, tags: bool = True) -> WorkloadAudit:
    subjects = gather_subjects((LoadedObject(each, source) for each in objects), taint)
    uses = [use for each in subjects for use in each.uses]
    images = asked(lambda registry: judge_uses(registry, uses, (ARM,)))
    lacking = [row.image for row in images.rows if tags and row.judged(ARM).verdict is Verdict.UNSUPPORTED]
    newest = {
        image: asked(partial(find_newest_tag, reference=parse_reference(image), architecture=ARM)) for image in lacking
    }
    return audit_workloads(subjects, images, newest, taint)


def only(audit: WorkloadAudit) -> WorkloadRow:
    (row,) = audit.rows
    return row


def test_a_workload_with_arm64_images_is_ready_and_its_patch_carries_all_tolerations(both: str) -> None:
    there = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    row = only(audited(deployment("api", spec(both, **there), replicas=3)))
    assert (row.state, row.subject.pods, row.preference) == (WorkloadState.READY, 3, ArchitecturePreference.NONE)
    assert row.steps(TAINT) == ("add the toleration of arch=arm64:NoSchedule",)
    assert row.patch is not None
    assert row.patch.body == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": "shop"},
        "spec": {
            "template": {
                "spec": {
                    "tolerations": [
                        {"key": "gpu", "operator": "Exists"},
                        {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
                    ]
                }
            }
        },
    }


@pytest.mark.parametrize(
    ("more", "preference", "steps"),
    [
        ({}, ArchitecturePreference.NONE, 0),
        (prefers("arm64"), ArchitecturePreference.PREFERS_ARM64, 0),
        (prefers("amd64"), ArchitecturePreference.PREFERS_AMD64, 1),
        ({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, ArchitecturePreference.REQUIRES_ARM64, 0),
    ],
)
def test_one_that_tolerates_the_taint_is_there_and_says_what_it_prefers(
    both: str, more: Manifest, preference: ArchitecturePreference, steps: int
) -> None:
    row = only(audited(deployment("api", spec(both, **TOLERATES, **more))))
    assert (row.state, row.preference, len(row.steps(TAINT)), row.patch) == (
        WorkloadState.THERE,
        preference,
        steps,
        None,
    )


def test_all_blockers_are_listed_at_once(both: str, amd64: str) -> None:
    made = spec(both, amd64, **ON_AMD64)
    made["initContainers"] = [{"name": "prepare", "image": amd64}, {"name": "gone", "image": "127.0.0.1:1/gone:1"}]
    row = only(audited(deployment("api", made)))
    assert row.state is WorkloadState.BLOCKED
    assert row.affinity == ("nodeSelector requires kubernetes.io/arch=amd64",)
    (blocker,) = row.images
    assert blocker.containers == ("container c1", "init container prepare")
    assert blocker.newest.image == both
    assert [doubt.partition(": ")[0] for doubt in row.doubts] == ["image 127.0.0.1:1/gone:1"]
    steps = row.steps(TAINT)
    assert steps[0] == f"use {both} instead of {amd64}: it supports arm64 (the newest in its format)"
    assert len(steps) == 3
    assert row.patch is None
    (blocker,) = only(audited(deployment("api", made), tags=False)).images
    assert blocker.step == f"build {amd64} for arm64 (no other tags were looked up)"


def test_a_pod_that_may_come_up_where_its_image_does_not_run_is_warned_of(amd64: str) -> None:
    assert "fail there" in only(audited(deployment("api", spec(amd64, **TOLERATES)))).notes[0]
    assert only(audited(deployment("api", spec(amd64, **TOLERATES, **ON_AMD64)))).notes == ()


def test_a_toleration_that_knative_rejects_without_a_flag_is_warned_of(both: str) -> None:
    made = {**of("Service", "api", spec={"template": {"spec": spec(both)}}), "apiVersion": "serving.knative.dev/v1"}
    assert "kubernetes.podspec-tolerations is enabled" in only(audited(made)).notes[0]


def test_what_cannot_be_read_is_unknown_with_the_reason_and_the_rest_goes_on(both: str) -> None:
    bad = deployment("bad", spec(both, tolerations=[{"key": "a", "operator": "Maybe"}]))
    custom = of("Rollout", "odd", spec={"pods": spec(both)})
    good = deployment("good", spec(both))
    rows = {row.workload.name: row for row in audited(bad, custom, good, deployment("gone", spec(""))).rows}
    assert {name: row.state for name, row in rows.items()} == {
        "bad": WorkloadState.UNKNOWN,
        "odd": WorkloadState.UNKNOWN,
        "good": WorkloadState.READY,
        "gone": WorkloadState.UNKNOWN,
    }
    assert "'Maybe' is not an operator" in rows["bad"].doubts[0]
    assert rows["bad"].doubts[0].startswith("shop.yaml:1, document 1: ")
    assert "not in a known pod template" in rows["odd"].doubts[0]
    assert "has no image" in rows["gone"].doubts[0]


def test_injected_sidecars_and_rules_block_a_workload_whose_template_is_fine(both: str, amd64: str) -> None:
    replicas = of("ReplicaSet", "api-1", owner=("Deployment", "api"), spec={"template": {"spec": spec(both)}})
    injected = of("Pod", "api-1-a", owner=("ReplicaSet", "api-1"), spec=spec(both, amd64, **ON_AMD64))
    other = of("Pod", "api-1-b", owner=("ReplicaSet", "api-1"), spec=spec(both))
    ended = of("Pod", "api-1-c", owner=("ReplicaSet", "api-1"), spec=spec("gone"), status={"phase": "Failed"})
    row = only(audited(deployment("api", spec(both), replicas=9), replicas, injected, other, ended, source=LIVE))
    assert [each.image for each in row.images] == [amd64]
    assert row.affinity == ("its pods: nodeSelector requires kubernetes.io/arch=amd64",)
    assert (row.subject.pods, row.doubts) == (2, ())


def test_a_toleration_that_something_adds_to_pods_counts_and_is_said(both: str) -> None:
    pod = of("Pod", "api-a", owner=("Deployment", "api"), spec=spec(both, **TOLERATES))
    row = only(audited(deployment("api", spec(both)), pod, source=LIVE))
    assert row.state is WorkloadState.THERE
    assert "a webhook adds it" in row.notes[0]


def test_of_an_owner_that_is_not_read_the_pods_speak_and_there_is_no_patch(both: str) -> None:
    replicas = of(
        "ReplicaSet", "web-1", owner=("Rollout", "web"), spec={"replicas": 1, "template": {"spec": spec(both)}}
    )
    pod = of("Pod", "web-1-a", owner=("ReplicaSet", "web-1"), spec=spec(both))
    row = only(audited(replicas, pod, source=LIVE))
    assert (str(row.workload), row.state) == ("Rollout/web", WorkloadState.READY)
    assert row.patch is not None
    assert (row.patch.body, "not found" in row.patch.why) == (None, True)


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_jobs_and_pods_in_a_cluster_are_ready_without_a_patch(both: str, kind: str) -> None:
    made = of(kind, "one", spec=spec(both) if kind == "Pod" else {"template": {"spec": spec(both)}})
    live, written = only(audited(made, source=LIVE)).patch, only(audited(made)).patch
    assert live is not None
    assert (live.body, live.why) == (None, f"a {kind} in a cluster can't be changed: recreate it")
    assert written is not None
    assert written.body is not None


def test_one_in_two_manifests_is_one_row_and_patched_only_where_they_agree(both: str) -> None:
    same = only(audited(deployment("api", spec(both)), deployment("api", spec(both), replicas=2))).patch
    assert same is not None
    assert same.body is not None
    other = {"tolerations": [{"key": "x", "operator": "Exists"}]}
    differ = only(audited(deployment("api", spec(both)), deployment("api", spec(both, **other)))).patch
    assert differ is not None
    assert (differ.body, differ.why) == (None, "its 2 manifests differ")


def test_daemon_sets_of_the_system_are_left_to_their_own_audit(both: str) -> None:
    system = of("DaemonSet", "proxy", namespace="kube-system", spec={"template": {"spec": spec(both)}})
    own = of("DaemonSet", "logs", spec={"template": {"spec": spec(both)}})
    controller = deployment("dns", spec(both), namespace="kube-system")
    audit = audited(system, own, controller)
    assert ([row.workload.name for row in audit.rows], audit.omitted) == (["dns", "logs"], 1)


def test_without_a_taint_there_is_nothing_to_add(both: str) -> None:
    assert only(audited(deployment("api", spec(both)), taint=None)).state is WorkloadState.THERE


def test_a_no_execute_taint_may_be_borne_for_a_while_only(both: str) -> None:
    taint = parse_taint("arch=arm64:NoExecute")
    tolerated = {"key": "arch", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    row = only(audited(deployment("api", spec(both, tolerations=[tolerated])), taint=taint))
    assert (row.state, row.notes) == (WorkloadState.THERE, ("tolerates arch=arm64:NoExecute for 30 seconds only",))


def test_counts_and_pods_are_per_state(both: str, amd64: str) -> None:
    audit = audited(deployment("a", spec(both), 3), deployment("b", spec(amd64), 5), deployment("c", spec(both), 0))
    assert {state: audit.count(state) for state in WorkloadState} == {
        WorkloadState.READY: 2,
        WorkloadState.BLOCKED: 1,
        WorkloadState.THERE: 0,
        WorkloadState.UNKNOWN: 0,
    }
    assert (audit.pods(WorkloadState.READY, WorkloadState.THERE), audit.pods(*WorkloadState)) == (3, 8)
    assert (audit.has("blocked"), audit.has("unknown")) == (True, False)


def test_a_suspended_cron_job_asks_for_no_pods(both: str) -> None:
    job = {"jobTemplate": {"spec": {"template": {"spec": spec(both)}}}, "suspend": True}
    assert only(audited(of("CronJob", "report", spec=job))).subject.pods == 0


def test_a_pod_whose_spec_is_not_an_object_is_none_and_stops_nothing(both: str) -> None:
    row = only(audited(of("Pod", "odd", spec=["list"]), deployment("api", spec(both))))
    assert row.workload.name == "api"


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_what_no_arm64_node_can_have_blocks(both: str, kind: str) -> None:
    more = {"nodeSelector": {"node.kubernetes.io/instance-type": "m5.large"}}
    made = deployment("api", spec(both, **more)) if kind == "Deployment" else of("Pod", "api", spec=spec(both, **more))
    row = only(audited(made))
    reason = "nodeSelector requires node.kubernetes.io/instance-type=m5.large (amd64 only)"
    assert (row.state, row.affinity, row.preference) == (WorkloadState.BLOCKED, (reason,), ArchitecturePreference.NONE)


def test_pods_that_differ_in_their_operating_system_alone_are_told_apart(both: str) -> None:
    linux = of("Pod", "a", spec=spec(both))
    windows = of("Pod", "b", spec=spec(both, os={"name": "windows"}))
    assert [row.state for row in audited(linux, windows).rows] == [WorkloadState.READY, WorkloadState.BLOCKED]


def test_an_image_volume_without_arm64_blocks_where_it_has_an_index(both: str, repository: Repository) -> None:
    repository.index([repository.entry("linux/amd64")], tag="models")
    repository.image("linux/amd64", tag="single")
    root = f"{repository.server.host}/{repository.name}"
    volumes = {tag: [{"name": "data", "image": {"reference": f"{root}:{tag}"}}] for tag in ("models", "single")}
    blocked = only(audited(deployment("api", spec(both, volumes=volumes["models"]))))
    assert [each.containers for each in blocked.images] == [("image volume data",)]
    assert only(audited(deployment("api", spec(both, volumes=volumes["single"])))).state is WorkloadState.READY


def test_a_template_that_names_its_node_is_unknown(both: str) -> None:
    row = only(audited(deployment("api", spec(both, nodeName="ip-10-0-0-1"))))
    assert row.state is WorkloadState.UNKNOWN
    assert row.doubts == ("nodeName requires the node ip-10-0-0-1, whose architecture is not known",)


def test_an_unnamed_container_and_init_containers_alone_are_audited(both: str, amd64: str) -> None:
    serving = {**of("Service", "fn", spec={"template": {"spec": {"containers": [{"image": amd64}, {"args": []}]}}})}
    serving["apiVersion"] = "serving.knative.dev/v1"
    search = of("Elasticsearch", "logs", spec={"podTemplate": {"spec": {"initContainers": [{"image": both}]}}})
    rows = {row.workload.name: row for row in audited(serving, search).rows}
    assert (rows["fn"].state, [each.image for each in rows["fn"].images]) == (WorkloadState.BLOCKED, [amd64])
    assert "has no image" in rows["fn"].doubts[0]
    assert rows["logs"].state is WorkloadState.READY
