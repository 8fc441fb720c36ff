"""``multiarch simulate`` of 25,000, 50,000 and 100,000 pods on 100 node groups, and on 20 NodePools; a process each.

Limits for 100,000 pods: 20 s of processor time on one core, 500 MB; linear growth: four times as many pods take at
most 4 x 1.25 times as long.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.measure import BIN, Run, run, show_sizes
from benchmarks.stacks import pod_spec, write_stack

COUNTS = (25_000, 50_000, 100_000)
LIMIT_S = 20.0
MEMORY_LIMIT_MB = 500
FAMILIES = ("c6g", "c6i", "c7g", "c7i", "m6g", "m6i", "m7g", "m7i", "r7g", "r7i")
WORKLOADS = 100


def _group(name: str, types: str, capacity: str, size: str) -> str:
    return f"    {name}: {{instanceTypes: [{types}], capacityType: {capacity}, {size}}}\n"


def _stack(folder: Path, autoscaler: str) -> Path:
    """A stack of 100 node groups, or of one group for Karpenter and 20 NodePools (five specs, four NodePools each)."""
    content = ""
    if autoscaler == "karpenter":
        content = _group("base", "m7i.large", "on-demand", "minSize: 2")
        pools = "".join(
            f"        w{number}: {{minGeneration: {number + 4}, sizes: [large, xlarge, 2xlarge]}}\n"
            for number in range(5)
        )
        content += "  multiarch-eks:autoscaling:\n    use: karpenter\n    karpenter:\n      nodePools:\n" + pools
    else:
        for number, size in enumerate(("large", "xlarge", "2xlarge", "4xlarge", "8xlarge")):
            for family in FAMILIES:
                for capacity in ("spot", "on-demand"):
                    name = f"g{number}-{family}-{capacity}"
                    content += _group(name, f"{family}.{size}", capacity, "minSize: 1, maxSize: 1000")
        content += "  multiarch-eks:autoscaling: {use: cluster-autoscaler}\n"
    return write_stack(folder, autoscaler, content)


def _pods(folder: Path, count: int) -> Path:
    """Write pods as ``kubectl get pods -o json`` does: one object per pod, of a hundred workloads."""
    file = folder / f"pods-{count}.json"
    with file.open("w", encoding="utf-8") as out:
        # One after the other: a process that is started counts the memory of the one that starts it as its own.
        out.write('{"kind": "List", "items": [')
        out.writelines(f"{', ' if number else ''}{json.dumps(_pod(number))}" for number in range(count))
        out.write("]}")
    return file


def _pod(number: int) -> dict[str, object]:
    name = f"w{number % WORKLOADS}"
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{number}",
            "namespace": "bench",
            "labels": {"app": name},
            "ownerReferences": [{"kind": "ReplicaSet", "name": name, "controller": True}],
        },
        "spec": pod_spec(number % WORKLOADS, sizes=20),
        "status": {"phase": "Pending"},
    }


def _simulate(stack: Path, pods: Path) -> Run:
    return run([str(BIN / "multiarch"), "simulate", str(stack), "--manifests", str(pods), "--output", "json"])


def main() -> None:
    """Print each time and the peak memory against the limits, and the growth."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        files = {count: _pods(folder, count) for count in COUNTS}
        for autoscaler in ("cluster-autoscaler", "karpenter"):
            stack = _stack(folder, autoscaler)
            runs = {count: _simulate(stack, file) for count, file in files.items()}
            show_sizes(f"simulate, {autoscaler},", "pods", runs, cpu=LIMIT_S, memory=MEMORY_LIMIT_MB)


if __name__ == "__main__":
    main()
