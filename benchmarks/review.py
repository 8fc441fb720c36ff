"""``multiarch review`` of a preview with 2,000 steps: a new process each, with every output format.

The steps are as large as those of the project's own stacks with ``refresh: always``: 13 KB of JSON each, most of them
refreshes, one in ten an update, one in a hundred a replacement. Limits: 1 s of processor time, 100 MB.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.measure import BIN, RUNS, median, run, show

STEPS = 2_000
LIMIT_S = 1.0
MEMORY_LIMIT_MB = 100
TYPES = (
    "aws:iam/role:Role",
    "aws:eks/nodeGroup:NodeGroup",
    "aws:sqs/queue:Queue",
    "kubernetes:apps/v1:Deployment",
    "aws:ec2/securityGroup:SecurityGroup",
)
POLICY = {"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:ReceiveMessage"], "Resource": "*"}


def _inputs(number: int, version: str) -> dict[str, object]:
    return {
        "name": f"resource-{number}",
        "version": version,
        "policy": json.dumps({"Version": "2012-10-17", "Statement": [POLICY] * 4}),
        "scalingConfig": {"desiredSize": 2, "maxSize": 10, "minSize": 1},
        "subnetIds": [f"subnet-{number:017x}{zone}" for zone in range(3)],
        "tags": {f"tag-{each}": f"value-{number}-{each}" for each in range(12)},
        "tagsAll": {f"tag-{each}": f"value-{number}-{each}" for each in range(12)},
    }


def _state(urn: str, inputs: Mapping[str, object]) -> dict[str, object]:
    outputs = {**inputs, "__inputs": inputs, "arn": f"arn:aws:iam::111122223333:role/{urn[-12:]}", "status": "ACTIVE"}
    return {"urn": urn, "custom": True, "id": urn[-12:], "type": urn, "inputs": inputs, "outputs": outputs}


def _steps() -> Iterator[dict[str, object]]:
    for number in range(STEPS):
        token = TYPES[number % len(TYPES)]
        urn = f"urn:pulumi:bench-dev::multiarch-eks::multiarch-eks:components:Platform${token}::resource-{number}"
        op = "replace" if number % 100 == 0 else "update" if number % 10 == 0 else "refresh"
        old, new = _inputs(number, "1.35"), _inputs(number, "1.35" if op == "refresh" else "1.36")
        kind = "update-replace" if op == "replace" else "update"
        yield {
            "op": op,
            "urn": urn,
            "oldState": _state(urn, old),
            "newState": _state(urn, new),
            "detailedDiff": None if op == "refresh" else {"version": {"kind": kind, "inputDiff": True}},
        }


def _write(file: Path) -> None:
    """Write step by step: what this process takes at most would count as the peak of those that it starts."""
    with file.open("w", encoding="utf-8") as opened:
        opened.write('{"diagnostics": [], "steps": [')
        for number, step in enumerate(_steps()):
            opened.write(f"{',' if number else ''}\n{json.dumps(step, indent=4)}")
        opened.write("]}\n")


def main() -> None:
    """Print time and peak memory of each format against the limits."""
    with tempfile.TemporaryDirectory() as text:
        file = Path(text, "preview.json")
        _write(file)
        size = file.stat().st_size
        print(f"{STEPS} steps, {size / 1e6:.0f} MB of JSON", flush=True)
        for form in ("table", "markdown", "json"):
            command = [str(BIN / "multiarch"), "review", str(file), "--output", form]
            runs = [run(command) for _ in range(RUNS)]
            print(f"review as {form}: {median(runs, lambda r: r.wall):.2f} s wall", flush=True)
            show(f"review as {form}", median(runs, lambda r: r.cpu), LIMIT_S, "s of processor time")
            show(f"review as {form}, peak memory", max(r.peak_mb for r in runs), MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    main()
