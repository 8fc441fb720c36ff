"""A dry run of ``multiarch rebalance`` on 250, 500 and 1,000 nodes with 10 pods each; a new process each.

Half of the nodes are amd64. In the case ``full`` no arm64 node has room, in ``indifferent`` pods don't prefer arm64,
and in ``room`` all could move; then the plan is for 20 pods, as by default. Limits for 1,000 nodes: 15 s of processor
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

from benchmarks.measure import BIN, Run, median, run, show, show_growth
from benchmarks.stacks import write_stack

NODES = (250, 500, 1_000)
PODS_PER_NODE = 10
CASES = ("full", "indifferent", "room")
LIMIT_S = 15.0
MEMORY_LIMIT_MB = 400
GROWTH_LIMIT = 5.0
RUNS = 3
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
def cluster(folder: Path, nodes: int, pods_per_node: int, case: str) -> Iterator[dict[str, str]]:
    """The environment of a command, where it finds a cluster of that size."""
    program = Path(__file__).with_name("rebalance_cluster.py")
    command = [sys.executable, str(program), str(nodes), str(pods_per_node), case]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline() if server.stdout else ""
            kubeconfig = folder / "kubeconfig"
            kubeconfig.write_text(KUBECONFIG.format(port=int(port)), encoding="utf-8")
            own = {"KUBECONFIG": str(kubeconfig), "XDG_CACHE_HOME": str(folder), "DOCKER_CONFIG": str(folder)}
            yield {**os.environ, **own}
        finally:
            server.terminate()


def plan(folder: Path, nodes: int, case: str, *, pods_per_node: int = PODS_PER_NODE, max_pods: int = 20) -> Run:
    """One dry run."""
    stack = write_stack(folder, "cluster-autoscaler", GROUPS.replace("MOST", str(nodes // 2)))
    with cluster(folder, nodes, pods_per_node, case) as environ:
        command = [str(BIN / "multiarch"), "rebalance", str(stack), f"--max-pods={max_pods}", "--output=json"]
        return run(command, env=environ)


def main() -> None:
    """Print each time and the peak memory against the limits, and the growth."""
    with tempfile.TemporaryDirectory() as text:
        for case in CASES:
            runs = {nodes: [plan(Path(text), nodes, case) for _ in range(RUNS)] for nodes in NODES}
            times = {nodes: median(each, lambda r: r.cpu) for nodes, each in runs.items()}
            for nodes, seconds in times.items():
                print(f"plan for {nodes} nodes, {nodes * PODS_PER_NODE} pods, {case}: {seconds:.2f} s", flush=True)
            many = NODES[-1]
            show(f"plan for {many} nodes, {case}", times[many], LIMIT_S, "s of processor time")
            show(f"plan for {many} nodes, peak memory", max(r.peak_mb for r in runs[many]), MEMORY_LIMIT_MB, "MB")
            show_growth("nodes", times, GROWTH_LIMIT)


if __name__ == "__main__":
    main()
