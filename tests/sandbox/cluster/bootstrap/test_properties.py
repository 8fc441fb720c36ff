"""Any labels and taints come back as they were planned, and any damage to user data ends in one kind of error."""

from __future__ import annotations

import contextlib
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint
from multiarch.nodes.model import BootstrapCase
from multiarch.nodes.user_data import render_user_data
from sandbox.cluster.bootstrap.groups import READERS, expected, group_start
from sandbox.cluster.bootstrap.model import NodeStartError
from sandbox.cluster.bootstrap.registration import registration
from tests.nodes.builders import CLUSTER, GroupOptions, node_group, usual_options
from tests.nodes.user_data.test_properties import labels, scripts, taints

OWNED = (BootstrapCase.CUSTOM_AMI, BootstrapCase.SELF_MANAGED)
anything = st.characters(exclude_categories=["Cs"])
TEXTS = {
    (family, case): render_user_data(
        node_group(family, case, options=usual_options(family, case, Architecture.ARM64)), CLUSTER
    )
    for family, case in product(NODE_FAMILIES, OWNED)
}


@pytest.mark.parametrize("family", NODE_FAMILIES)
@given(case=st.sampled_from(BootstrapCase), labels=labels, taints=taints)
def test_any_labels_and_taints_are_registered(
    family: AmiFamily, case: BootstrapCase, labels: dict[str, str], taints: list[Taint]
) -> None:
    group = node_group(family, case, options=GroupOptions(tuple(labels.items()), tuple(taints)))
    start = group_start(group, render_user_data(group, CLUSTER), CLUSTER)
    assert registration(start) == expected(group)
    assert start.ignored == ()


@given(script=scripts, labels=labels, taints=taints)
def test_no_script_before_the_bootstrap_hides_the_call(
    script: str, labels: dict[str, str], taints: list[Taint]
) -> None:
    options = GroupOptions(tuple(labels.items()), tuple(taints), None, f"#!/usr/bin/env python3\n{script}")
    group = node_group(AmiFamily.AL2, options=options)
    assert registration(group_start(group, render_user_data(group, CLUSTER), CLUSTER)) == expected(group)


@given(
    which=st.sampled_from(sorted(TEXTS)),
    at=st.floats(0, 1),
    length=st.integers(0, 40),
    other=st.text(
        st.sampled_from("\"'\\%$`#=:,{}[]<>|&;-\n\t 0a") | st.characters(exclude_categories=["Cs"]), max_size=20
    ),
)
def test_damaged_user_data_is_read_or_rejected(
    which: tuple[AmiFamily, BootstrapCase], at: float, length: int, other: str
) -> None:
    text = TEXTS[which]
    start = int(at * len(text))
    _read(which[0], text[:start] + other + text[start + length :])


@given(family=st.sampled_from(NODE_FAMILIES), text=st.text(anything, max_size=100))
def test_any_text_is_read_or_rejected(family: AmiFamily, text: str) -> None:
    _read(family, text)
    _read(family, f"MIME-Version: 1.0\n{text}")
    _read(family, f"#!/bin/bash\n/etc/eks/bootstrap.sh {text}")


def _read(family: AmiFamily, text: str) -> None:
    with contextlib.suppress(NodeStartError):
        registration(READERS[family]([text]))
