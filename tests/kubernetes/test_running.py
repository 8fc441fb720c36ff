"""What is asked of an API server for all that runs in a cluster."""

from __future__ import annotations

from pathlib import Path

from multiarch.kubernetes.running import read_running
from tests.kubernetes.api_server import Answer, Request, serving
from tests.kubernetes.kubeconfigs import opened


def test_nodes_pods_and_budgets_are_listed_in_the_whole_cluster(tmp_path: Path) -> None:
    def answer(request: Request) -> Answer:
        name = request.path.rpartition("/")[2]
        return 200, {"metadata": {}, "items": [{"metadata": {"name": name, "uid": name}, "spec": {}}]}, {}

    with serving(answer) as server, opened(tmp_path, server.url) as cluster:
        found = read_running(cluster, budgets=True)
        without = read_running(cluster)
    asked = [(request.path, request.query.get("fieldSelector")) for request in server.requests]
    assert asked[:4] == [
        ("/api/v1/pods", "status.phase!=Succeeded,status.phase!=Failed"),
        ("/api/v1/nodes", None),
        ("/apis/apps/v1/daemonsets", None),
        ("/apis/policy/v1/poddisruptionbudgets", None),
    ]
    assert asked[4:] == asked[:3]
    assert (found.name, found.budgets[0].value["kind"], without.budgets) == ("here", "PodDisruptionBudget", ())
