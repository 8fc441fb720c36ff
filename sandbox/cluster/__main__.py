"""``python -m sandbox.cluster --state-dir DIR``: a cluster of real nodes until SIGTERM or Ctrl-C.

Writes DIR/folder at once, and DIR/cluster.json when the nodes are ready; progress goes to standard output.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from multiarch.errors import MultiarchError
from sandbox.cluster import cluster, control_plane, lifecycle
from sandbox.cluster.programs import Programs
from sandbox.state import write_atomically
from tools import build


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _serve(state: Path) -> None:
    began = time.monotonic()
    with Programs.running() as programs:
        write_atomically(state / lifecycle.FOLDER, str(programs.folder))
        print("starting etcd, the API server, the controllers and the scheduler", flush=True)
        plane = control_plane.start(programs, real_nodes=True)
        print("starting containerd and a kubelet per architecture", flush=True)
        with cluster.running(programs, plane) as nodes:
            for node in nodes.by_architecture.values():
                node.start_kubelet()
            for node in nodes.by_architecture.values():
                node.ready()
                print(f"{node.name} is ready", flush=True)
            status = lifecycle.Status.of(plane, nodes, programs.folder, time.monotonic() - began)
            write_atomically(state / lifecycle.STATUS, status.as_json())
            signal.pause()


def main() -> int:
    """Run until told to end."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.cluster", description="a cluster of real nodes")
    parser.add_argument("--state-dir", type=Path, required=True, help="where its status goes")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        _serve(options.state_dir)
    except KeyboardInterrupt:
        return 0
    except (MultiarchError, build.BuildError, OSError) as error:
        print(f"error: {error}", flush=True)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
