"""What an instance gives to pods: the kubelet's reservations by their documented steps."""

from __future__ import annotations

import pytest

from multiarch.facts.instance_types import get_instance_type, list_instance_types
from multiarch.facts.node_resources import (
    GIB,
    MIB,
    compute_reserved_cpu,
    compute_reserved_memory,
    compute_usable_memory,
    get_allocatable,
)


# The steps as amazon-eks-ami's bootstrap.sh and nodeadm add them up.
@pytest.mark.parametrize(("vcpus", "millicores"), [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (64, 230), (96, 310)])
def test_the_kubelet_keeps_cpu_by_steps(vcpus: int, millicores: int) -> None:
    assert compute_reserved_cpu(vcpus) == millicores


def test_the_kubelet_keeps_memory_by_pods() -> None:
    assert compute_reserved_memory(29) == 574 * MIB
    assert compute_reserved_memory(110) == 1465 * MIB


def test_arm64_has_less_usable_memory_than_amd64_of_the_same_size() -> None:
    assert compute_usable_memory(get_instance_type("m7i.large")) == (8192 - 615) * MIB
    assert compute_usable_memory(get_instance_type("m7g.large")) == (8192 - 64 - 610) * MIB


def test_a_node_gives_what_is_left() -> None:
    given = get_allocatable(get_instance_type("m7g.large"), pods=29, disk_gib=50)
    assert given == {
        "cpu": 1930,
        "memory": (8192 - 64 - 610 - 574 - 100) * MIB,
        "ephemeral-storage": 44 * GIB,
        "pods": 29,
    }


def test_devices_are_resources_of_their_plugins_names() -> None:
    assert get_allocatable(get_instance_type("g6.xlarge"), pods=58, disk_gib=50)["nvidia.com/gpu"] == 1
    assert get_allocatable(get_instance_type("inf2.xlarge"), pods=58, disk_gib=50)["aws.amazon.com/neuron"] == 1


def test_memory_can_be_reserved_for_other_than_the_addresses() -> None:
    instance = get_instance_type("m7g.large")
    by_addresses = get_allocatable(instance, pods=110, disk_gib=50)
    by_max_pods = get_allocatable(instance, pods=110, disk_gib=50, reserve_for=110)
    assert by_addresses["memory"] - by_max_pods["memory"] == 11 * (110 - 29) * MIB


def test_every_type_that_is_not_a_nano_has_something_to_give() -> None:
    for instance in list_instance_types().values():
        if instance.eks and instance.memory_mib > 1024:
            given = get_allocatable(instance, pods=4, disk_gib=20)
            assert given["cpu"] > 0, instance.name
            assert given["memory"] > 0, instance.name
