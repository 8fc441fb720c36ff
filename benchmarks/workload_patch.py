"""``multiarch workload patch`` of 1,000 documents: first all of them change, then none.

Limits: 2 s of processor time if all change, 1 s if none does, start-up included; and at most half of the time that
ruamel.yaml (round trip) takes to read the same file in the same run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import BIN, Run, alternate, median, run, show

COUNT = 1_000
CHANGED_LIMIT_S = 2.0
SAME_LIMIT_S = 1.0
PEER_LIMIT = 0.5
RUNS = 5
OPTIONS = ("--prefer", "arm64", "--tolerate", "arm64", "--in-place")
PEER = (
    "import sys; from ruamel.yaml import YAML; assert len(list(YAML().load_all(open(sys.argv[1])))) == int(sys.argv[2])"
)
DEPLOYMENT = """\
---
# of team {team}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: "api-{number}"
  namespace: shop
  labels: {{app: api-{number}, team: {team}}}
spec:
  replicas: 3
  selector:
    matchLabels: {{app: api-{number}}}
  template:
    metadata:
      labels: {{app: api-{number}}}
    spec:
      containers:
      - name: api
        image: registry.example/api:{number}  # pinned
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: TEAM
          value: {team}
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
          limits: {{memory: 256Mi}}
"""


def _patch(file: Path, text: str) -> Run:
    """Write ``text`` to ``file`` and patch it there."""
    file.write_text(text, encoding="utf-8")
    return run([str(BIN / "multiarch"), "workload", "patch", str(file), *OPTIONS])


def main() -> None:
    """Print the times with their limits, and compare with ruamel.yaml."""
    before = "".join(DEPLOYMENT.format(number=number, team=f"t{number % 7}") for number in range(COUNT))
    with tempfile.TemporaryDirectory() as folder:
        file, source = Path(folder) / "stream.yaml", Path(folder) / "source.yaml"
        source.write_text(before, encoding="utf-8")
        peer = [sys.executable, "-c", PEER, str(source), str(COUNT)]
        ours, theirs = alternate(lambda: _patch(file, before), lambda: run(peer), RUNS)
        after = file.read_text(encoding="utf-8")
        if after.count("preferredDuringScheduling") != COUNT or after.count("# pinned") != COUNT:
            sys.exit("a document was not changed, or a comment was lost")
        again = [_patch(file, after) for _ in range(RUNS)]
        if file.read_text(encoding="utf-8") != after:
            sys.exit("the second run changed something")
    ratio = statistics.median(one.cpu / other.cpu for one, other in zip(ours, theirs, strict=True))
    show(
        f"workload patch, {COUNT} documents change",
        median(ours, lambda r: r.cpu),
        CHANGED_LIMIT_S,
        "s of processor time",
    )
    show(
        f"workload patch, {COUNT} documents unchanged",
        median(again, lambda r: r.cpu),
        SAME_LIMIT_S,
        "s of processor time",
    )
    show(
        f"reading them with ruamel.yaml takes {median(theirs, lambda r: r.cpu):.2f} s; ours", ratio, PEER_LIMIT, "of it"
    )


if __name__ == "__main__":
    main()
