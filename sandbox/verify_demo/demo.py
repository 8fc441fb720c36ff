"""The demo itself: both commands on a healthy cluster, then with four faults in it."""

from __future__ import annotations

import os
from collections.abc import Callable

from multiarch.errors import OutsideError
from sandbox.aws.remote import Remote
from sandbox.cluster import control_plane
from sandbox.cluster.programs import Programs
from sandbox.commands import run_multiarch
from sandbox.inventory import Aws
from sandbox.layout import SandboxUsageError
from sandbox.lifecycle import Sandbox
from sandbox.verify_demo.faults import add_faults, arm64_group
from sandbox.verify_demo.machines import list_machines
from sandbox.verify_demo.pods import NAMESPACE, run_pods

Say = Callable[[str], None]


def show(sandbox: Sandbox, stack: str, say: Say, show: Say) -> None:
    """Bring a stack up in the sandbox, and show the demo with it; leave no cluster and no additional machine.

    Raises what :meth:`Sandbox.up` raises, SandboxUsageError for a stack without a group of each architecture, with a
    taint on arm64, and OutsideError if the control plane did not start, a command had another exit code than it should,
    or a fault was not named.
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
    environ = sandbox.environment(stack).applied_to(os.environ)

    def verify(wanted: int) -> str:
        """Run both commands, which have to end with this exit code; return what they print."""
        nodes, pods = (
            ("nodes", stack, "--join-minutes", "0"),
            ("pods", "--on-node", "--hosts-dir", str(layout.registry.relative_to(layout.root))),
        )
        return "".join(
            run_multiarch(("verify", *each), layout.root, show, environ=environ, wanted=wanted)
            for each in (nodes, pods)
        )

    remote = Remote(environ["AWS_ENDPOINT_URL"])
    aws = Aws(environ["AWS_ENDPOINT_URL"], layout.region(stack))
    with Programs.running() as programs:
        say("starting etcd, the API server, the controllers and the scheduler")
        plane = control_plane.start(programs)
        environ["KUBECONFIG"] = str(plane.kubeconfig)
        every = list_machines(aws, plan)
        plane.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for machine in every:
            machine.join(plane.kube, remote, run_pods(machine.id, machine.architecture))
        say(f"{len(every)} nodes are registered: API objects, a stand-in for kubelets; SSM answers for them")
        verify(wanted=0)
        with add_faults(aws, plan, group, plane.kube, remote) as faults:
            for name, fault in faults.items():
                say(f"now {name}: {fault}")
            told = verify(wanted=1)
        if unnamed := [name for name in faults if name not in told]:
            raise OutsideError(f"The commands did not name {', '.join(unnamed)}.")
