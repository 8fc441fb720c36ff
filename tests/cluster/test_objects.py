"""Every object that the project generates is taken by a real API server with Karpenter's real CRDs, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from components.iam.pod_identity import CREDENTIALS
from components.rendering import declare
from multiarch.autoscaling.karpenter import build_node_class, build_node_pool
from multiarch.capacity import headroom
from multiarch.capacity.headroom import Headroom
from multiarch.errors import StackError
from multiarch.facts.architectures import Architecture
from multiarch.facts.node_resources import GIB
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.stack.load import list_stack_files, load_file
from multiarch.stack.plan import make_plan
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Kube, Object, condition
from sandbox.cluster.programs import wait_for
from sandbox.layout import CLONE
from tests.cluster import karpenter
from tests.cluster.collected import RELEASE, collected
from tests.cluster.objects import stand_in_definition
from tests.cluster.rig import NODE_POOLS, Rig
from tests.cluster.temporary import applied
from tests.stack.words import TODAY, merged, plan

BASE: Mapping[str, Any] = {"nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}}}
POOLS: Mapping[str, Any] = {
    "general": {
        "cpuLimit": 64,
        "memoryLimit": "1Ti",
        "budget": "10%",
        "quietHours": {"schedule": "0 7 * * mon-fri", "duration": "8h30m"},
        "labels": {"example.com/pool": "general"},
        "taints": ["dedicated=shop:NoSchedule", "example.com/slow:NoExecute"],
        "zones": ["eu-west-1a", "eu-west-1b"],
        "terminationGracePeriod": "24h",
    },
    "both": {"multiArchitecture": True, "minGeneration": 7, "sizes": ["large", "xlarge"], "budget": "3"},
    "types": {
        "instanceTypes": ["m7g.large", "m7i.large"],
        "consolidation": "WhenEmpty",
        "consolidateAfter": "Never",
        "expireAfter": "Never",
        "arm64Taint": False,
    },
    "families": {"families": ["c7g", "c7gd"], "architectures": ["arm64"], "capacityTypes": ["spot"], "weight": 100},
}
KARPENTER: Mapping[str, Any] = {
    "autoscaling": {
        "use": "karpenter",
        "karpenter": {
            "amiAlias": "al2023@v20260715",
            "capacityReservations": ["cr-0123456789abcdef0"],
            "nodePools": {
                **POOLS,
                "held": {"capacityTypes": ["reserved", "spot"], "instanceTypes": ["m7g.large", "m7i.large"]},
            },
        },
    }
}
CLUSTER_AUTOSCALER: Mapping[str, Any] = {
    "autoscaling": {"use": "cluster-autoscaler", "clusterAutoscaler": {"priorities": {"web": 5}}}
}
BOTTLEROCKET: Mapping[str, Any] = {
    "amiFamily": "Bottlerocket",
    "addons": {"vpcCni": {"prefixDelegation": True}},
    "autoscaling": {"karpenter": {"amiAlias": "bottlerocket@v1.62.1"}},
}
PUBLIC: Mapping[str, Any] = {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.7/32"]}}


def _auto_mode_pools() -> dict[str, Any]:
    """Return the pools as far as EKS Auto Mode has them: its nodes do not live for ever."""
    return {name: {key: value for key, value in pool.items() if key != "expireAfter"} for name, pool in POOLS.items()}


WORDS: Mapping[str, Mapping[str, Any]] = {
    "storage-class": {"storageClass": True},
    "termination-handler": {
        **PUBLIC,
        "nodeGroups": {"own": {"instanceTypes": ["m7g.large"], "kind": "self-managed"}},
    },
    "device-plugin": {**PUBLIC, "gpuDevicePlugin": True, "nodeGroups": {"gpu": {"instanceTypes": ["g5g.xlarge"]}}},
    "cluster-autoscaler": CLUSTER_AUTOSCALER,
    "karpenter": KARPENTER,
    "auto-mode": {
        **PUBLIC,
        "nodeGroups": None,
        "autoscaling": {"use": "auto-mode", "autoMode": {"nodePools": _auto_mode_pools()}},
    },
    "karpenter-on-bottlerocket": merged(KARPENTER, BOTTLEROCKET),
    "to-karpenter": merged(KARPENTER, {"autoscaling": {"migrateFrom": "cluster-autoscaler"}}),
    "to-cluster-autoscaler": merged(CLUSTER_AUTOSCALER, {"autoscaling": {"migrateFrom": "karpenter"}}),
}


FILES = {file.stem.removeprefix("Pulumi."): file for file in list_stack_files(CLONE)}


@cache
def resources(name: str) -> tuple[DeclaredResource, ...]:
    """What is declared for one of :data:`FILES` or :data:`WORDS`."""
    if name in FILES:
        return declare(make_plan(load_file(FILES[name]), today=TODAY)).resources
    return declare(plan(merged(BASE, WORDS[name]))).resources


@pytest.fixture(scope="module")
def kube(control_plane: ControlPlane) -> Kube:
    # AWS does not publish the CRD of EKS Auto Mode.
    node_classes = stand_in_definition("eks.amazonaws.com/v1", "NodeClass", plural="nodeclasses", scope="Cluster")
    karpenter.install_crds(control_plane.kube, node_classes)
    return control_plane.kube


@pytest.mark.parametrize("name", [*sorted(FILES), *WORDS])
def test_every_object_of_a_stack_is_taken_by_the_api_server(name: str, kube: Kube) -> None:
    objects = [_with_credentials(each) for each in collected(resources(name))]
    with applied(kube, objects) as stored:
        assert [each["kind"] for each in stored] == [each["kind"] for each in objects]
        for each in stored:
            if each["kind"] == "Deployment":
                _wait_for_pods(kube, each)


def _with_credentials(item: Object) -> Object:
    """Add what EKS Pod Identity adds to an autoscaler's pods: without it, the stack's own policy rejects them."""
    if item["kind"] == "Deployment":
        for container in item["spec"]["template"]["spec"]["containers"]:
            container["env"] = [*container.get("env", ()), {"name": CREDENTIALS, "value": "http://169.254.170.23"}]
    return item


def _wait_for_pods(kube: Kube, deployment: Object) -> None:
    """The controllers make the pods: nothing at admission (priority class, service account) is against them."""
    meta, wanted = deployment["metadata"], deployment["spec"]["replicas"]

    def made() -> bool:
        found = kube.get("apps/v1", "Deployment", meta["name"], meta["namespace"]) or {}
        return bool(found.get("status", {}).get("replicas") == wanted)

    wait_for(made, f"the pods of {meta['name']}", timeout=30)


def test_the_stacks_here_come_to_every_kind_that_components_declare() -> None:
    found = {resource.type for name in [*FILES, *WORDS] for resource in resources(name)}
    assert {each for each in found if each.startswith("kubernetes:")} == {
        RELEASE,
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
        "kubernetes:eks.amazonaws.com/v1:NodeClass",
        "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
        "kubernetes:karpenter.sh/v1:NodePool",
        "kubernetes:storage.k8s.io/v1:StorageClass",
    }


def test_the_examples_are_taken_by_the_api_server(kube: Kube) -> None:
    found = [
        each
        for file in sorted((CLONE / "examples").rglob("*.yaml"))
        if not file.name.startswith("Pulumi.")  # a stack file
        for each in YAML(typ="safe", pure=True).load_all(file.read_text(encoding="utf-8"))
    ]
    assert found
    spaces = sorted({each["metadata"].get("namespace", "default") for each in found} - {"default"})
    with applied(kube, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces]):
        for each in found:
            kube.apply(each, dry_run=True)


def test_placeholder_pods_are_admitted_to_their_restricted_namespace(kube: Kube) -> None:
    rooms = [Headroom(each, 2, 1, 500, GIB, "zone eu-west-1a") for each in Architecture]
    with applied(
        kube, list(headroom.build_headroom_manifests(plan(merged(BASE, CLUSTER_AUTOSCALER)), rooms))
    ) as stored:
        deployments = [each for each in stored if each["kind"] == "Deployment"]
        assert len(deployments) == len(rooms)
        for each in deployments:
            _wait_for_pods(kube, each)


DURATIONS = st.sampled_from(["Never", "30s", "5m", "1h30m", "720h"])
POOL_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "architectures": st.lists(st.sampled_from(["amd64", "arm64"]), min_size=1, unique=True),
        "capacityTypes": st.lists(st.sampled_from(["on-demand", "spot"]), min_size=1, unique=True),
        "multiArchitecture": st.booleans(),
        "categories": st.lists(st.sampled_from(["c", "m", "r", "t", "i"]), min_size=1, unique=True),
        "minGeneration": st.integers(1, 8),
        "sizes": st.lists(st.sampled_from(["medium", "large", "xlarge", "2xlarge", "metal"]), min_size=1, unique=True),
        "labels": st.dictionaries(st.from_regex(r"[a-z]{1,8}(\.example\.com/[a-z]{1,8})?", fullmatch=True),
                                  st.from_regex(r"([a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?)?", fullmatch=True), max_size=3),
        "taints": st.lists(st.sampled_from(["a=b:NoSchedule", "c:NoExecute", "d.example.com/e=f:PreferNoSchedule"]),
                           unique=True),
        "arm64Taint": st.booleans(),
        "cpuLimit": st.integers(1, 10_000),
        "memoryLimit": st.sampled_from(["512Gi", "1Ti", "1500Mi"]),
        "budget": st.one_of(st.integers(0, 500).map(str), st.integers(0, 120).map(lambda share: f"{share}%")),
        "quietHours": st.fixed_dictionaries({
            "schedule": st.sampled_from(["0 8 * * mon-fri", "*/15 0-6 1 1 *", "0 8 * * 1-5"]),
            "duration": st.sampled_from(["10h", "8h30m", "45m"]),
        }),
        "consolidation": st.sampled_from(["WhenEmpty", "WhenEmptyOrUnderutilized"]),
        "consolidateAfter": DURATIONS,
        "expireAfter": st.sampled_from(["Never", "1h", "1h30m", "90m", "720h"]),
        "terminationGracePeriod": DURATIONS,
    },
)  # fmt: skip


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    pools=st.dictionaries(
        st.from_regex(r"[a-z]{1,6}(-[a-z]{1,6})?", fullmatch=True), POOL_SETTINGS, min_size=1, max_size=3
    ),
    family=st.sampled_from([{}, {k: v for k, v in BOTTLEROCKET.items() if k != "autoscaling"}]),
)
def test_whatever_pools_a_stack_may_ask_for_the_api_server_takes_them(
    kube: Kube, pools: dict[str, Any], family: dict[str, Any]
) -> None:
    alias = "bottlerocket@v1.62.1" if family else "al2023@v20260715"
    words = {"autoscaling": {"use": "karpenter", "karpenter": {"amiAlias": alias, "nodePools": pools}}}
    try:
        made = plan(merged(merged(BASE, family), words))
    except StackError:
        assume(False)  # noqa: FBT003
    wanted = made.autoscaling.karpenter
    assert wanted is not None
    kube.apply(build_node_class(wanted.node_class, cluster="shop-dev", role="nodes", tags=made.tags), dry_run=True)
    for pool in wanted.pools:
        kube.apply(build_node_pool(pool), dry_run=True)


@pytest.mark.parametrize("name", ["payments-prod", "karpenter", "karpenter-on-bottlerocket"])
def test_the_controller_takes_a_stacks_pools_for_valid(name: str, rig: Rig) -> None:
    """Beyond the CRDs' rules, Karpenter has some of its own."""
    ours = [each for each in collected(resources(name)) if each["kind"] in ("EC2NodeClass", "NodePool")]
    for each in ours:
        rig.kube.apply(each)
    wait_for(lambda: all(map(_valid, rig.kube.list(*NODE_POOLS))), "Karpenter's verdicts", timeout=30)
    assert len(rig.kube.list(*NODE_POOLS)) == len(ours) - 1 > 1


def _valid(pool: Object) -> bool:
    said = condition(pool, "ValidationSucceeded")
    assert said.get("status") != "False", said["message"]
    return said.get("status") == "True"
