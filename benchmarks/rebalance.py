"""A dry run of ``multiarch rebalance`` on 250, 500 and 1,000 nodes with 10 pods each; a new process each.

Half of the nodes are amd64. In the case ``full`` no arm64 node has room, and in ``room`` all pods could move; then the
plan is for 20 pods, as by default. Limits for 1,000 nodes: 15 s of processor
time and 400 MB; linear growth: four times as many nodes take at most 4 x 1.25 times as long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import BIN, RUNS, Run, run, show_sizes
from benchmarks.stacks import write_stack

NODES = (250, 500, 1_000)
PODS_PER_NODE = 10
CASES = ("full", "room")
LIMIT_S = 15.0
MEMORY_LIMIT_MB = 400
GROUPS = """\
    amd: {instanceTypes: [m7i.4xlarge], minSize: 1, maxSize: 2000, onePerZone: false}
    arm: {instanceTypes: [m7g.4xlarge], minSize: 1, maxSize: MOST, onePerZone: false}
  multiarch-eks:autoscaling: {use: cluster-autoscaler}
"""
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: bench
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
clusters: [{{name: bench, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: bench, user: {{}}}}]
"""


@contextmanager
def cluster(folder: Path, nodes: int, case: str) -> Iterator[dict[str, str]]:
    """Give the environment of a command, where it finds a cluster of that size."""
    program = Path(__file__).with_name("rebalance_cluster.py")
    command = [sys.executable, str(program), str(nodes), str(PODS_PER_NODE), case]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline() if server.stdout else ""
            kubeconfig = folder / "kubeconfig"
            kubeconfig.write_text(KUBECONFIG.format(port=int(port)), encoding="utf-8")
            own = {"KUBECONFIG": str(kubeconfig), "XDG_CACHE_HOME": str(folder), "DOCKER_CONFIG": str(folder)}
            yield {**os.environ, **own}
        finally:
            server.terminate()


def plan(folder: Path, nodes: int, case: str) -> Run:
    """Return one dry run."""
    stack = write_stack(folder, "cluster-autoscaler", GROUPS.replace("MOST", str(nodes // 2)))
    with cluster(folder, nodes, case) as environ:
        return run([str(BIN / "multiarch"), "rebalance", str(stack), "--output=json"], env=environ)


def main() -> None:
    """Print each time and the peak memory against the limits, and the growth."""
    with tempfile.TemporaryDirectory() as text:
        for case in CASES:
            runs = {nodes: [plan(Path(text), nodes, case) for _ in range(RUNS)] for nodes in NODES}
            show_sizes(f"plan, {case},", "nodes", runs, cpu=LIMIT_S, memory=MEMORY_LIMIT_MB)


if __name__ == "__main__":
    main()
