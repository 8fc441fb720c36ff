"""What others have in a cluster, and rights that are missing, as a real API server says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.doctor.in_cluster import AccessError, list_obstacles
from multiarch.kubernetes.cluster import open_cluster
from multiarch.kubernetes.source import ClusterAccess
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from tests.cluster.reading import token_of, write_kubeconfig
from tests.cluster.temporary import applied
from tests.doctor.test_in_cluster import ALREADY, POOLS, PRIORITIES, SCALED
from tests.stack.test_existing_cluster import ON_KARPENTER
from tests.stack.words import plan

NAME = "foreign-objects"
CONFIG_MAP: Object = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"},
}
RELEASE: Object = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "sh.helm.release.v1.karpenter.v1",
        "namespace": "kube-system",
        "labels": {"owner": "helm", "name": "karpenter", "version": "1", "status": "deployed"},
    },
}


def test_objects_and_releases_of_others_are_found(control_plane: ControlPlane) -> None:
    with open_cluster(ClusterAccess(control_plane.kubeconfig)) as cluster:
        assert [list_obstacles(cluster, plan(each)) for each in (SCALED, POOLS, ON_KARPENTER)] == [[], [], []]
        with applied(control_plane.kube, [CONFIG_MAP, RELEASE]):
            (found,) = list_obstacles(cluster, plan(SCALED))
            assert found.startswith(f"{PRIORITIES} {ALREADY}")
            (found,) = list_obstacles(cluster, plan(ON_KARPENTER))
            assert found.startswith(f"Release kube-system/karpenter {ALREADY}")


def test_an_account_without_rights_is_told_what_it_may_not_do(control_plane: ControlPlane, tmp_path: Path) -> None:
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": "default"}}
    with applied(control_plane.kube, [account]):
        user = {"token": token_of(control_plane.kube, NAME, "default")}
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", control_plane, user)
        with (
            open_cluster(ClusterAccess(kubeconfig)) as cluster,
            pytest.raises(AccessError, match="may not create configmaps in the API of shop"),
        ):
            list_obstacles(cluster, plan(SCALED))
