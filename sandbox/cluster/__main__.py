"""``python -m sandbox.cluster [--stack FILE …] --state-dir DIR``: a cluster of real nodes until SIGTERM or Ctrl-C.

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
from sandbox.cluster import cluster, control_plane, lifecycle, stack
from sandbox.cluster.programs import Programs
from sandbox.state import write_atomically
from tools import build


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _serve(state: Path, file: Path | None, project: Path | None) -> None:
    began = time.monotonic()
    with Programs.running() as programs:
        write_atomically(state / lifecycle.FOLDER, str(programs.folder))
        print("starting etcd, the API server, the controllers and the scheduler", flush=True)
        plane = control_plane.start(programs, real_nodes=True)
        print("starting containerd and a kubelet per architecture", flush=True)
        with cluster.running(programs, plane) as nodes:
            groups = stack.first_groups(file, project, plane) if file and project else {}
            for architecture, node in nodes.by_architecture.items():
                found = groups.get(architecture)
                if found is None:
                    node.start_kubelet()
                else:
                    print(f"{node.name} starts with the user data of node group {found.group}", flush=True)
                    node.start_kubelet(found.start.flags, found.start.config)
            for node in nodes.by_architecture.values():
                node.ready()
                print(f"{node.name} is ready", flush=True)
            status = lifecycle.Status.of(plane, nodes, programs.folder, time.monotonic() - began, stack=file)
            write_atomically(state / lifecycle.STATUS, status.as_json())
            signal.pause()


def main() -> int:
    """Run until told to end."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.cluster", description="a cluster of real nodes")
    parser.add_argument("--stack", type=Path, help="a stack's file: nodes start as nodes of its groups")
    parser.add_argument("--project", type=Path, help="its Pulumi.yaml")
    parser.add_argument("--state-dir", type=Path, required=True, help="where its status goes")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        _serve(options.state_dir, options.stack, options.project)
    except KeyboardInterrupt:
        return 0
    except (MultiarchError, build.BuildError, OSError) as error:
        print(f"error: {error}", flush=True)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
