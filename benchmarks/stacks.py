"""Stack files and pods that benchmarks of capacity and simulate share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_ARM64 = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
_STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: bench
  multiarch-eks:environment: {autoscaler}
  multiarch-eks:owner: bench@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:network:
    vpcId: vpc-0123456789abcdef0
    privateSubnetIds: [subnet-0123456789abcdef0, subnet-0123456789abcdef1, subnet-0123456789abcdef2]
  multiarch-eks:nodeGroups:
"""


def write_stack(folder: Path, autoscaler: str, groups: str) -> Path:
    """Write a stack file; ``groups`` are the lines of its node groups, and what follows them."""
    file = folder / f"Pulumi.bench-{autoscaler}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(_STACK.format(autoscaler=autoscaler) + groups, encoding="utf-8")
    return file


def pod_spec(number: int, *, sizes: int) -> dict[str, Any]:
    """Return the pods of workload ``number``, which request one of so many amounts of CPU.

    Two of three workloads tolerate the arm64 taint, one in five is spread over zones.
    """
    requests = {"cpu": f"{100 + 50 * (number % sizes)}m", "memory": f"{128 * (1 + number % 16)}Mi"}
    spec: dict[str, Any] = {"containers": [{"name": "a", "image": "a", "resources": {"requests": requests}}]}
    if number % 3:
        spec["tolerations"] = [_ARM64]
    if number % 5 == 0:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": f"w{number}"}},
            }
        ]
    return spec
