"""A real API server, read as a user would: what there is, what is not allowed, and what does not work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ForbiddenError
from multiarch.kubernetes.resources import DEPLOYMENTS, PODS, REPLICA_SETS, SECRETS, ApiResource
from multiarch.kubernetes.source import ClusterAccess
from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Kube, Object
from sandbox.cluster.programs import wait_for
from tests.cluster.objects import pod, replica_set
from tests.cluster.reading import account_token, namespace
from tests.cluster.temporary import applied

SPACES = ("reading-a", "reading-b")
LIST_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


@pytest.fixture(scope="module")
def plane(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The session's control plane with two namespaces, gone afterwards."""
    with applied(control_plane.kube, [namespace(name, team=name[-1]) for name in SPACES]):
        for number in range(5):
            app = "web" if number < 3 else "batch"
            control_plane.kube.create(waiting(f"pod-{number}", SPACES[number % 2], app=app))
        gates = [{"name": "example.com/quota"}]
        control_plane.kube.create(waiting("gated", SPACES[0], schedulingGates=gates))
        yield control_plane


def waiting(name: str, space: str, *, app: str = "other", **spec: Any) -> Object:
    """A pod that no scheduler looks at, with what its manifest says."""
    made = pod(name)
    made["metadata"] |= {"namespace": space, "labels": {"app": app}}
    made["spec"] |= {"schedulerName": "nobody", **spec}
    return {"apiVersion": "v1", "kind": "Pod", **made}


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[KubernetesCluster]:
    with KubernetesCluster(ClusterAccess(plane.kubeconfig)) as opened:
        yield opened


def names(cluster: KubernetesCluster, *kinds: ApiResource, **which: Any) -> list[str]:
    return [found.value["metadata"]["name"] for found in cluster.objects(kinds, **which)]


def test_pages_of_any_size_make_the_same_list(cluster: KubernetesCluster) -> None:
    whole = names(cluster, PODS, namespaces=SPACES)
    assert whole == ["gated", "pod-0", "pod-2", "pod-4", "pod-1", "pod-3"]
    for limit in (1, 2, 3, 4):
        assert names(cluster, PODS, namespaces=SPACES, limit=limit) == whole
    everywhere = names(cluster, PODS, limit=2)
    assert set(whole) <= set(everywhere)


def test_selectors_are_the_api_servers(cluster: KubernetesCluster) -> None:
    assert names(cluster, PODS, namespaces=SPACES, selector="app=web") == ["pod-0", "pod-2", "pod-1"]
    assert names(cluster, PODS, namespaces=SPACES, selector="app notin (web,batch)") == ["gated"]
    assert names(cluster, PODS, namespaces=SPACES, fields="metadata.name=pod-3") == ["pod-3"]
    with pytest.raises(MultiarchError, match=r"rejects list pods: .*Check the selector"):
        names(cluster, PODS, selector="a in (")


def test_objects_say_what_they_are_and_where_they_come_from(cluster: KubernetesCluster, plane: ControlPlane) -> None:
    owner = replica_set("owner", 1, pod("owned"))
    owner["metadata"]["namespace"] = SPACES[0]
    owner["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "hunter2"}]
    plane.kube.apply(owner)

    def owned() -> list[Any] | None:
        return list(cluster.objects([PODS], namespaces=SPACES[:1], selector="app=owner")) or None

    try:
        (made,) = wait_for(owned, "the ReplicaSet's pod", timeout=20)
        found = [*cluster.objects([REPLICA_SETS], namespaces=SPACES[:1]), made]
        assert [(each.value["apiVersion"], each.value["kind"]) for each in found] == [
            ("apps/v1", "ReplicaSet"),
            ("v1", "Pod"),
        ]
        assert made.value["metadata"]["ownerReferences"][0]["uid"] == found[0].value["metadata"]["uid"]
        assert str(made.source) == "cluster sandbox"
        assert "hunter2" not in json.dumps([each.value for each in found])
        assert all("managedFields" not in each.value["metadata"] for each in found)
        assert made.value["spec"]["containers"][0]["resources"]["requests"]
    finally:
        plane.kube.delete(owner)


def test_a_namespace_that_is_not_there_is_told_apart_from_an_empty_one(cluster: KubernetesCluster) -> None:
    assert names(cluster, PODS, namespaces=["no-such"]) == []
    assert cluster.missing_namespaces([SPACES[0], "no-such", "default"]) == ("no-such",)


def test_what_rbac_does_not_allow_comes_with_the_rule_that_does(
    plane: ControlPlane, tmp_path: Path, kube: Kube
) -> None:
    token = account_token(kube, "reader", SPACES[0], [LIST_PODS])
    file = write_kubeconfig(tmp_path / "config", plane.kube.access, {"token": token})
    user = "system:serviceaccount:reading-a:reader"
    with KubernetesCluster(ClusterAccess(file)) as cluster:
        assert "pod-0" in names(cluster, PODS, namespaces=SPACES[:1])
        with pytest.raises(ForbiddenError) as raised:
            names(cluster, PODS)
        assert str(raised.value) == (
            f"{user} may not list pods in the whole cluster. Grant it with this rule in a ClusterRole: "
            '{apiGroups: [""], resources: ["pods"], verbs: ["list"]}.'
        )
        with pytest.raises(ForbiddenError, match=r"may not list deployments in namespace reading-a.*in a Role there"):
            names(cluster, DEPLOYMENTS, namespaces=SPACES[:1])
        with pytest.raises(ForbiddenError, match=r'secrets pull in namespace reading-a.*resourceNames: \["pull"\]'):
            cluster.get(SECRETS, SPACES[0], "pull")
        assert cluster.missing_namespaces([SPACES[0]]) == ()
    kube.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "reader", "namespace": SPACES[0]},
            "rules": [LIST_PODS, {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}],
        }
    )
    with KubernetesCluster(ClusterAccess(file)) as cluster:
        wait_for(lambda: _allowed(cluster), "the rule that was named to do", timeout=10)


def _allowed(cluster: KubernetesCluster) -> bool:
    try:
        return names(cluster, DEPLOYMENTS, namespaces=SPACES[:1]) == []
    except ForbiddenError:
        return False


@pytest.fixture
def kube(plane: ControlPlane) -> Kube:
    return plane.kube
