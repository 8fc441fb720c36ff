"""``multiarch verify nodes`` of 500 nodes of two architectures, each of which answers SSM after 300 ms.

AWS is the sandbox's, with the stand-in for SSM Run Command; the API server is the tests' stand-in. Limits: 30 s, and
300 MB of memory. Compared with asking the nodes one after the other, a SendCommand and a GetCommandInvocation for each,
through boto3: a stand-in for a shell loop around ``aws ssm``, without the start of the AWS CLI. It is measured on 20
nodes of the same run.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.measure import BIN, run, show
from multiarch.verify.on_node.script import node_script
from sandbox.aws.controls import Remote
from tests.sandbox.served import Served, address, serving
from tests.verify.clusters import GROUPS, STACK, api_server, create, environment

NODES = 500
DELAY_S = 0.3
WALL_LIMIT_S = 30.0
MEMORY_LIMIT_MB = 300
CALLS_LIMIT = 0.25
"""AWS calls per node."""
PEERS = 20


def _one_after_the_other(ssm: Any, instances: list[str]) -> float:  # noqa: ANN401 (botocore makes its clients at run time)
    """Seconds for a loop over some nodes, which looks again every 200 ms."""
    began = time.perf_counter()
    for instance in instances:
        sent = ssm.send_command(
            InstanceIds=[instance], DocumentName="AWS-RunShellScript", Parameters={"commands": [node_script()]}
        )
        command = sent["Command"]["CommandId"]
        while ssm.get_command_invocation(CommandId=command, InstanceId=instance)["Status"] != "Success":
            time.sleep(0.2)
    return time.perf_counter() - began


def _print_calls(calls: Counter[str]) -> None:
    print(f"AWS calls: {', '.join(f'{name} {count}' for name, count in sorted(calls.items()))}")
    show("AWS calls per node", calls.total() / NODES, CALLS_LIMIT, "calls")


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
        _print_calls(remote.calls())
        peer = _one_after_the_other(aws.client("ssm"), [node["metadata"]["uid"] for node in nodes[:PEERS]]) / PEERS
        print(
            f"one node after the other: {peer:.2f} s per node on {PEERS} nodes, so {peer * NODES:.0f} s for {NODES}, "
            f"{peer * NODES / ours.wall:.1f} times as long"
        )


if __name__ == "__main__":
    main()
