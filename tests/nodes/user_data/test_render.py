"""User data, byte by byte, and what is rejected."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.limits import MAX_USER_DATA_BYTES
from multiarch.nodes.model import BootstrapCase
from multiarch.nodes.user_data import render_user_data
from multiarch.schema.nodes import KUBELET_FLAG
from tests.nodes.builders import CLUSTER, GroupOptions, node_group, usual_options

GOLDEN = Path(__file__).parent / "golden"
ALL = list(product(NODE_FAMILIES, BootstrapCase, Architecture))


def golden(family: AmiFamily, case: BootstrapCase, architecture: Architecture) -> Path:
    suffix = {AmiFamily.BOTTLEROCKET: "toml", AmiFamily.AL2: "mime" if case is BootstrapCase.EKS else "sh"}
    return GOLDEN / f"{family.lower()}-{case}-{architecture}.{suffix.get(family, 'mime')}"


@pytest.mark.parametrize(("family", "case", "architecture"), ALL)
def test_user_data_is_the_golden_file(
    family: AmiFamily, case: BootstrapCase, architecture: Architecture, *, update_golden: bool
) -> None:
    text = render_user_data(node_group(family, case, architecture, usual_options(family, case, architecture)), CLUSTER)
    file = golden(family, case, architecture)
    if update_golden:
        file.write_text(text)
    assert text == file.read_text()


def test_every_golden_file_belongs_to_a_case() -> None:
    assert sorted(GOLDEN.iterdir()) == sorted(golden(*row) for row in ALL)


@pytest.mark.parametrize("family", NODE_FAMILIES)
def test_a_group_that_eks_bootstraps_and_that_wants_nothing_has_no_user_data(family: AmiFamily) -> None:
    options = GroupOptions(labels=(("team", "x"),), taints=("arch=arm64:NoSchedule",))
    assert render_user_data(node_group(family, BootstrapCase.EKS, options=options), CLUSTER) == ""


@pytest.mark.parametrize("family", NODE_FAMILIES)
def test_the_order_of_labels_and_taints_does_not_matter(family: AmiFamily) -> None:
    options = usual_options(family, BootstrapCase.SELF_MANAGED, Architecture.ARM64)
    group = node_group(family, BootstrapCase.SELF_MANAGED, Architecture.ARM64, options)
    group = replace(group, taints=(*group.taints, *node_group(options=GroupOptions(taints=("a=b:NoExecute",))).taints))
    backwards = replace(group, labels=group.labels[::-1], taints=group.taints[::-1])
    assert render_user_data(backwards, CLUSTER) == render_user_data(group, CLUSTER)


@pytest.mark.parametrize("case", BootstrapCase)
def test_user_data_up_to_ec2s_limit_is_written_and_one_byte_more_is_rejected(case: BootstrapCase) -> None:
    def sized(length: int) -> str:
        return render_user_data(
            node_group(case=case, options=GroupOptions(pre_bootstrap="#!/bin/sh\n" + "#" * length + "\n")), CLUSTER
        )

    fits = MAX_USER_DATA_BYTES - len(sized(0).encode())
    assert len(sized(fits).encode()) == MAX_USER_DATA_BYTES
    with pytest.raises(MultiarchError, match=rf"'batch' has 16385 bytes of user data \(preBootstrap: {fits + 12}\)"):
        sized(fits + 1)


@pytest.mark.parametrize("cidr", ["fd00::1/108", "10.100.0.0/30", ""])
@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.BOTTLEROCKET])
def test_a_range_of_services_without_a_dns_address_is_rejected(family: AmiFamily, cidr: str) -> None:
    with pytest.raises(MultiarchError, match="is no CIDR block of Services with a DNS address"):
        render_user_data(node_group(family), replace(CLUSTER, service_cidr=cidr))


@pytest.mark.parametrize("cidr", ["10.100.0.0/24", "10.96.0.0/12"])
def test_the_clusters_dns_has_the_tenth_address_of_the_services_range(cidr: str) -> None:
    text = render_user_data(node_group(AmiFamily.AL2), replace(CLUSTER, service_cidr=cidr))
    assert f"--dns-cluster-ip {cidr.partition('/')[0].removesuffix('0')}10 " in text


def test_with_ipv6_nodes_learn_the_services_cidr_block_and_its_dns_address() -> None:
    services = replace(CLUSTER, service_cidr="fd30:1c53:5f8a::/108")
    al2, al2023, bottlerocket = (
        render_user_data(node_group(family, case=BootstrapCase.SELF_MANAGED), services)
        for family in (AmiFamily.AL2, AmiFamily.AL2023, AmiFamily.BOTTLEROCKET)
    )
    assert "--dns-cluster-ip fd30:1c53:5f8a::a" in al2
    assert "--ip-family ipv6" in al2
    assert "--service-ipv6-cidr fd30:1c53:5f8a::/108" in al2
    assert 'cidr: "fd30:1c53:5f8a::/108"' in al2023
    assert 'cluster-dns-ip = "fd30:1c53:5f8a::a"' in bottlerocket


def test_ordinary_kubelet_flags_are_taken() -> None:
    for flag in ("--fail-swap-on", "--eviction-hard=memory.available<5%,nodefs.available<10%"):
        assert re.fullmatch(KUBELET_FLAG, flag)
        assert flag in render_user_data(node_group(options=GroupOptions(kubelet_extra_args=(flag,))), CLUSTER)


@pytest.mark.parametrize(
    "flag",
    ["v=4", "-v=4", "--node_labels=a=b", "--v=4 --x", "--root-dir='/x'", "--root-dir=\\x", "--root-dir=/vär"],
)
def test_a_flag_that_would_not_reach_the_kubelet_as_written_is_rejected(flag: str) -> None:
    assert not re.fullmatch(KUBELET_FLAG, flag)
