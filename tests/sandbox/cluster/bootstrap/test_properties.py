"""Any labels and taints come back as they were planned, and any damage to user data ends in one kind of error."""

from __future__ import annotations

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from sandbox.cluster.bootstrap.groups import READERS
from sandbox.cluster.bootstrap.model import NodeStartError
from sandbox.cluster.bootstrap.registration import registration

anything = st.characters(exclude_categories=["Cs"])


@given(family=st.sampled_from(NODE_FAMILIES), text=st.text(anything, max_size=100))
def test_any_text_is_read_or_rejected(family: AmiFamily, text: str) -> None:
    _read(family, text)
    _read(family, f"MIME-Version: 1.0\n{text}")
    _read(family, f"#!/bin/bash\n/etc/eks/bootstrap.sh {text}")


def _read(family: AmiFamily, text: str) -> None:
    with contextlib.suppress(NodeStartError):
        registration(READERS[family]([text]))
