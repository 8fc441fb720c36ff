"""How a kubelet's flags and files are joined."""

from __future__ import annotations

import pytest

from multiarch.verify.on_node.registration import ConfigFile, read_kubelet_registration


def _taints(*flags: str, files: tuple[ConfigFile, ...] = ()) -> list[str] | None:
    taints = read_kubelet_registration(flags, files).taints
    return None if taints is None else [str(taint) for taint in taints]


def test_a_flag_replaces_the_taints_of_files_and_of_earlier_flags() -> None:
    file = ConfigFile("/a", '[{"key":"a","effect":"NoExecute"}]')

    assert _taints(files=(file,)) == ["a:NoExecute"]
    assert _taints("--register-with-taints=b:NoSchedule", files=(file,)) == ["b:NoSchedule"]
    assert _taints("--register-with-taints=b:NoSchedule", "--register_with_taints=", files=(file,)) == []


def test_a_drop_in_replaces_the_taints_of_the_file() -> None:
    file = ConfigFile("/a", '[{"key":"a","effect":"NoExecute"}]')

    assert _taints(files=(file, ConfigFile("/b", "[]"))) == []
    assert _taints(files=(file, ConfigFile("/b", ""))) == ["a:NoExecute"]
    assert _taints(files=(file, ConfigFile("/b", "registerWithTaints:\\n"))) == []
    block = "registerWithTaints:\\n- key: arch\\n  value: arm64\\n  effect: NoSchedule\\n"
    assert _taints(files=(file, ConfigFile("/b", block))) == ["arch=arm64:NoSchedule"]


@pytest.mark.parametrize("text", ["[1]", '[{"key":"a"}]', "[", "registerWithTaints: [", "registerWithTaints: 3"])
def test_a_list_that_can_not_be_read_leaves_the_taints_unknown(text: str) -> None:
    registration = read_kubelet_registration((), (ConfigFile("/etc/k.json", text),))

    assert registration.taints is None
    assert registration.faults


def test_labels_of_several_flags_add_up() -> None:
    flags = ("--node-labels=a=1,b=2", "--node_labels=b=3,, c = 4 ,d")

    assert read_kubelet_registration(flags, ()).labels == {"a": "1", "b": "3", "c": "4", "d": ""}


def test_a_kubelet_that_does_not_register_is_a_fault() -> None:
    (fault,) = read_kubelet_registration((), (ConfigFile("/a", registers="false"),)).faults

    assert fault == "the kubelet is configured not to register its node (registerNode: false)"
    assert not read_kubelet_registration(("--register-node=true",), (ConfigFile("/a", registers="false"),)).faults
