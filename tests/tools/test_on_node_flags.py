"""A running kubelet's arguments, as the node's script and its reader take them, agree with the kubelet's own parser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from multiarch.verify.on_node import script
from multiarch.verify.on_node.registration import read_kubelet_registration
from tools import build

_CODE = (Path(script.__file__).parent / "shell" / "common.sh").read_text() + "\nkubelet_flags\n"


@pytest.fixture(scope="module")
def kubelet_taints() -> Path:
    return build.ensure("kubelet-taints")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--node-labels=a=1", "--node-labels=b=2,a=3"),
        ("--node-labels", "a=1,b=", "--max-pods", "58"),
        ("--node_labels", "a=1,,b=2", "--v=2"),
        ("--register-with-taints=arch=arm64:NoSchedule",),
        ("--register-with-taints", "arch=arm64:NoSchedule,gpu:NoExecute"),
        ("--register-with-taints=a:NoSchedule", "--register_with_taints", "b=:PreferNoSchedule"),
        ("--register-with-taints=a:NoSchedule", "--register-with-taints="),
        ("--register-with-taints=a:NoSchedule,b:NoSchedule-",),
        ("--config", "--node-labels=a=1", "--hostname-override", "b"),
        ("--cgroup-driver=systemd", "--node-labels= a = 1 ", "--register-with-taints=example.com/a=b.c_d:NoExecute"),
    ],
)
def test_flags_mean_what_they_mean_to_the_kubelet(kubelet_taints: Path, arguments: tuple[str, ...]) -> None:
    parsed = subprocess.run([kubelet_taints, *arguments], capture_output=True, text=True, check=True)
    kubelet = json.loads(parsed.stdout)
    text = "".join(f"{argument}\n" for argument in ("kubelet", *arguments))
    flags = subprocess.run(["sh", "-c", _CODE], input=text, capture_output=True, text=True, check=True).stdout
    found = read_kubelet_registration(flags.splitlines(), ())

    assert found.labels == kubelet["labels"]
    assert [
        {"key": taint.key, "value": taint.value, "effect": str(taint.effect)} for taint in found.taints or ()
    ] == kubelet["taints"]
