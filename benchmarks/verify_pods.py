"""``multiarch verify pods`` of 10,000 containers on 500 nodes of two architectures.

Limits with a warm registry cache: 20 s, and 300 MB of memory, also with ``--on-node``, where each node answers SSM (the
sandbox's stand-in) after 300 ms; at most one call of AWS for four nodes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.measure import BIN, Run, run, show
from benchmarks.pods import NODES, PODS, push, write_objects
from benchmarks.verify_nodes import DELAY_S, show_calls
from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from tests.registry import server
from tests.sandbox.served import Served, address, serving
from tests.verify.clusters import environment
from tests.verify.on_node.reports import AMD64, ARM64, CONFIG, report

WALL_LIMIT_S = 20.0
MEMORY_LIMIT_MB = 300


def _register(remote: Remote) -> None:
    """Let every node report the processes of its containers."""
    for number in range(NODES):
        elf = ARM64 if number % 2 else AMD64
        rows = [
            ("container", f"{each:064x}", "x", CONFIG, f"sha256:{each:064x}", str(each + 1), "/app/main", elf, "", "")
            for each in range(number, PODS, NODES)
        ]
        remote.register(f"i-{number:017x}", Target(output=report(*rows), delay=DELAY_S))


def _verify(environ: dict[str, str], file: Path, more: str = "") -> Run:
    # Some images are for the other architecture: the exit code is 1, as it should be.
    command = f"{BIN / 'multiarch'} verify pods {file} --output json {more}; test $? = 1"
    return run(["sh", "-c", command], env=environ)


def _show(what: str, done: Run) -> None:
    show(f"{what}, warm", done.wall, WALL_LIMIT_S, "s")
    show(f"{what}, peak memory", done.peak_mb, MEMORY_LIMIT_MB, "MB")


def main() -> None:
    """Print each figure with its limit."""
    with tempfile.TemporaryDirectory() as text, server.running() as registry:
        folder = Path(text)
        file = folder / "pods.json"
        write_objects(registry.host, push(registry), file)
        environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "DOCKER_CONFIG": str(folder)}
        cold = _verify(environ, file)
        print(f"{PODS} containers, cold: {cold.wall:.2f} s", flush=True)
        _show(f"{PODS} containers on {NODES} nodes", _verify(environ, file))
        with serving(policies=False) as process:
            aws = Served(address(process))
            remote = Remote(aws.endpoint)
            _register(remote)
            remote.forget_calls()
            asked = _verify(environ | environment(aws, folder), file, "--on-node --region eu-west-1")
            calls = remote.calls()
        _show(f"{PODS} containers on {NODES} nodes, --on-node", asked)
        show_calls(calls, NODES)


if __name__ == "__main__":
    main()
