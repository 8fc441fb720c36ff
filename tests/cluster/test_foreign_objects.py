"""What others have in a cluster, and rights that are missing, as a real API server says it."""

from __future__ import annotations

from multiarch.doctor.in_cluster import list_obstacles
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.source import ClusterAccess
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import Object
from tests.cluster.temporary import applied
from tests.doctor.test_in_cluster import ALREADY, POOLS, PRIORITIES, SCALED
from tests.stack.test_existing_cluster import ON_KARPENTER
from tests.stack.words import plan

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
    with KubernetesCluster(ClusterAccess(control_plane.kubeconfig)) as cluster:
        assert [list_obstacles(cluster, plan(each)) for each in (SCALED, POOLS, ON_KARPENTER)] == [[], [], []]
        with applied(control_plane.kube, [CONFIG_MAP, RELEASE]):
            (found,) = list_obstacles(cluster, plan(SCALED))
            assert found.startswith(f"{PRIORITIES} {ALREADY}")
            (found,) = list_obstacles(cluster, plan(ON_KARPENTER))
            assert found.startswith(f"Release kube-system/karpenter {ALREADY}")
