"""``python -m sandbox.cluster [STACK-FILE PULUMI.YAML] --state-dir DIR``: real nodes until SIGTERM or Ctrl-C.

Writes DIR/folder at once, and DIR/cluster.json when the nodes are ready; progress goes to standard output.
``--without-nodes`` in place of the files: a control plane alone, and a stand-in for kubelets that marks pods as ready.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType

from urllib3.exceptions import HTTPError

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.files import write_atomically
from multiarch.nodes.model import ClusterFacts
from multiarch.nodes.user_data import render_user_data
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from multiarch.today import get_today
from sandbox.cluster import cluster, control_plane, lifecycle
from sandbox.cluster.bootstrap.groups import group_start
from sandbox.cluster.bootstrap.model import KubeletStart
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.kube import KubeError
from sandbox.cluster.pods import mark_ready
from sandbox.cluster.programs import Programs
from tools import build


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _serve(state: Path, stack: Sequence[Path], *, real_nodes: bool) -> None:
    began = time.monotonic()
    with contextlib.ExitStack() as running:
        programs = running.enter_context(Programs.running())
        write_atomically(state / lifecycle.FOLDER, str(programs.folder))
        print("starting etcd, the API server, the controllers and the scheduler", flush=True)
        plane = control_plane.start(programs, real_nodes=real_nodes)
        told = lifecycle.Status(str(plane.kubeconfig), str(programs.folder), plane.version)
        if real_nodes:
            print("starting containerd and a kubelet per architecture", flush=True)
            nodes = running.enter_context(cluster.running(programs, plane))
            _start_kubelets(nodes, stack)
            names = {node.name: str(node.architecture) for node in nodes.by_architecture.values()}
            file = str(stack[0]) if stack else ""
            told = replace(told, hosts=str(nodes.hosts), nodes=names, missing=nodes.missing, stack=file)
        told = replace(told, seconds=round(time.monotonic() - began, 1))
        write_atomically(state / lifecycle.STATUS, json.dumps(asdict(told)))
        while True:
            time.sleep(0.5)
            if not real_nodes:
                # A pod that is gone meanwhile, an API server that is busy.
                with contextlib.suppress(KubeError, HTTPError):
                    mark_ready(plane.kube)


def _start_kubelets(nodes: Nodes, stack: Sequence[Path]) -> None:
    """Start the kubelets and wait until the nodes are ready; with the user data of a stack, if there is one."""
    groups = _first_groups(nodes.plane, *stack) if stack else {}
    for architecture, node in nodes.by_architecture.items():
        if architecture in groups:
            group, start = groups[architecture]
            print(f"{node.name} starts with the user data of node group {group}", flush=True)
            node.start_kubelet(start.flags, start.config)
        else:
            node.start_kubelet()
    for node in nodes.by_architecture.values():
        node.ready()
        print(f"{node.name} is ready", flush=True)


def _first_groups(
    plane: ControlPlane, file: Path, project_file: Path
) -> Mapping[Architecture, tuple[str, KubeletStart]]:
    """Return name and start of the first node group of each architecture in a stack; Karpenter's nodes are in no group.

    Raises:
        StackError: the rules of ``stack check`` reject the stack.
        NodeStartError: a node would not join with its user data.
    """
    access = plane.kube.access
    facts = ClusterFacts("sandbox", access.url, access.authority, plane.service_cidr)
    plan = make_plan(load_file(file, project_file=project_file), today=get_today())
    found: dict[Architecture, tuple[str, KubeletStart]] = {}
    for group in plan.node_groups:
        if group.architecture not in found:
            found[group.architecture] = group.name, group_start(group, render_user_data(group, facts), facts)
    return found


def main() -> int:
    """Run until told to end."""
    *stack, _, state = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        _serve(Path(state), list(map(Path, stack)), real_nodes=stack != [lifecycle.WITHOUT_NODES])
    except KeyboardInterrupt:
        return 0
    except (MultiarchError, build.BuildError, OSError) as error:
        print(f"error: {error}", flush=True)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
