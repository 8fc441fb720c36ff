"""The kubelet's own command line reads what the readers read."""

from __future__ import annotations

import json
import subprocess

import pytest

from multiarch.facts.taints import Taint
from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.registration import Registration, registration
from tools import build

pytestmark = pytest.mark.tools


def by_the_kubelet(flags: tuple[str, ...]) -> Registration | None:
    """What the kubelet registers with; None if it does not start."""
    command = [str(build.ensure("kubelet-taints")), *flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return None
    read = json.loads(result.stdout)
    return Registration(read["labels"] or {}, tuple(sorted(Taint(**each) for each in read["taints"])))


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--node-labels=a=b", "--node-labels", "a=c,d=e"),
        ("--node_labels=a=b,c,,d= e",),
        ("--register-with-taints=a=b:NoSchedule", "--register-with-taints=c:NoExecute"),
        ("--register-with-taints=a=b:NoSchedule", "--register-with-taints="),
        ("--register-with-taints", "a=:NoSchedule,a=b:NoExecute"),
        ("--register-with-taints=a=b:NO_SCHEDULE",),
        ("--register-with-taints=a=b",),
        ("--register-with-taints=a=b:NoSchedule,a=c:NoSchedule",),
        ("--register-with-taints=a b=c:NoSchedule",),
        ("--register-with-taints",),
        ("--node-labels=kubernetes.io/team=a",),
        ("--node-labels=kubernetes.io/arch=arm64,node.kubernetes.io/x=y,eks.amazonaws.com/nodegroup=z",),
        ("--node-labels=a=b c",),
        ("--node-labels=-a=b",),
    ],
)
def test_registration_agrees_with_the_kubelet(flags: tuple[str, ...]) -> None:
    try:
        found = registration(KubeletStart(flags, {}, "shop", "", ""))
    except NodeStartError:
        found = None
    assert found == by_the_kubelet(flags)
