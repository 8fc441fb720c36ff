"""``multiarch verify nodes`` of 500 nodes of two architectures, each of which answers SSM after 300 ms.

AWS is the sandbox's, with the stand-in for SSM Run Command; the API server is the tests' stand-in. Limits: 30 s, 300 MB
of memory, and one call of AWS for four nodes.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.measure import BIN, run, show
from sandbox.aws.remote import Remote
from tests.sandbox.served import Served, address, serving
from tests.verify.clusters import GROUPS, STACK, api_server, create, environment

NODES = 500
DELAY_S = 0.3
WALL_LIMIT_S = 30.0
MEMORY_LIMIT_MB = 300
CALLS_LIMIT = 0.25
"""AWS calls per node."""


def show_calls(calls: Counter[str], nodes: int) -> None:
    """Print the calls of AWS, and their number for each node against its limit."""
    print(f"AWS calls: {', '.join(f'{name} {count}' for name, count in sorted(calls.items()))}")
    show("AWS calls per node", calls.total() / nodes, CALLS_LIMIT, "calls")


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, serving(policies=False) as process:
        folder, aws = Path(text), Served(address(process))
        remote = Remote(aws.endpoint)
        nodes = create(aws, NODES // len(GROUPS), DELAY_S)
        with api_server(nodes, folder / "kubeconfig"):
            remote.forget_calls()
            # Exit code 0: all nodes are as their stack says.
            command = [str(BIN / "multiarch"), "verify", "nodes", STACK, "--output", "json"]
            ours = run(command, env={**os.environ, **environment(aws, folder)})
        show(f"{NODES} nodes", ours.wall, WALL_LIMIT_S, "s")
        show(f"{NODES} nodes, peak memory", ours.peak_mb, MEMORY_LIMIT_MB, "MB")
        show_calls(remote.calls(), NODES)


if __name__ == "__main__":
    main()
