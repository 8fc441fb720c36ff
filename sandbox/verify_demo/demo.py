"""The demo itself: both commands on a healthy cluster, then with four faults in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from multiarch.errors import OutsideError
from multiarch.nodes.model import NodeGroupPlan
from sandbox import state
from sandbox.aws.controls import Remote
from sandbox.cluster import control_plane
from sandbox.cluster.programs import Programs
from sandbox.commands import run_multiarch
from sandbox.inventory import Aws
from sandbox.layout import SandboxUsageError
from sandbox.lifecycle import Sandbox
from sandbox.verify_demo.faults import add_faults, arm64_group, remove_faults
from sandbox.verify_demo.machines import Machines
from sandbox.verify_demo.pods import NAMESPACE, run_pods

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs both commands of ``multiarch verify`` and shows them. ``environ`` leads to the sandbox and the cluster."""

    stack: str
    folder: Path
    hosts: Path
    environ: Mapping[str, str]
    show: Say

    def run(self, wanted: int) -> str:
        """What ``verify nodes`` and ``verify pods`` print. Raises OutsideError if one ends with another exit code."""
        nodes = self._run(wanted, "nodes", self.stack, "--join-minutes", "0")
        return nodes + self._run(wanted, "pods", "--on-node", "--hosts-dir", str(self.hosts))

    def _run(self, wanted: int, *arguments: str) -> str:
        return run_multiarch(("verify", *arguments), self.folder, self.show, environ=self.environ, wanted=wanted)


def show(sandbox: Sandbox, stack: str, say: Say, show: Say) -> None:
    """Bring a stack up in the sandbox, and show the demo with it.

    Raises what :meth:`Sandbox.up` and :func:`run` raise, and SandboxUsageError for a stack without a group of each
    architecture, with a taint on arm64.
    """
    layout = sandbox.layout
    plan = layout.plan(stack)
    group = arm64_group(plan)
    if group is None:
        raise SandboxUsageError(
            f"{stack} has no amd64 group beside an arm64 group with a taint.", hint="Try STACK=checkout-dev."
        )
    sandbox.up(stack)
    sandbox.registry()
    server = state.load(layout).server
    if server is None:
        raise OutsideError("The sandbox is not up.")
    environ = sandbox.environment(stack).applied_to(os.environ)
    commands = Commands(stack, layout.root, layout.registry, environ, show)
    run(Machines(Aws(server.url, layout.region(stack)), plan), group, Remote(server.url), commands, say)


def run(machines: Machines, group: NodeGroupPlan, remote: Remote, commands: Commands, say: Say) -> None:
    """Show the demo with the sandbox's AWS and the ``remote`` control of it; ``group`` gets the faults.

    Leaves nothing running. Raises OutsideError if the control plane did not start, a command had another exit code than
    it should, or a fault was not named.
    """
    aws = machines.aws
    remove_faults(aws)
    try:
        with Programs.running() as programs:
            say("starting etcd, the API server, the controllers and the scheduler")
            plane = control_plane.start(programs)
            commands = replace(commands, environ={**commands.environ, "KUBECONFIG": str(plane.kubeconfig)})
            every = machines.all()
            plane.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            for machine in every:
                machine.join(plane.kube, remote, run_pods(machine.id, machine.architecture))
            say(f"{len(every)} nodes are registered: API objects, a stand-in for kubelets; SSM answers for them")
            commands.run(wanted=0)
            faults = add_faults(machines, group, plane.kube, remote)
            for name, fault in faults.items():
                say(f"now {name}: {fault}")
            told = commands.run(wanted=1)
            if unnamed := [name for name in faults if name not in told]:
                raise OutsideError(f"The commands did not name {', '.join(unnamed)}.")
    finally:
        remove_faults(aws)
