"""A script that would start the kubelet is found, with its line."""

from __future__ import annotations

import time

import pytest

from multiarch.facts.limits import MAX_USER_DATA_BYTES
from multiarch.nodes.user_data.kubelet_start import starts_kubelet


@pytest.mark.parametrize(
    "line",
    [
        "/etc/eks/bootstrap.sh checkout-dev",
        "sudo -u root /etc/eks/bootstrap.sh checkout-dev",
        "systemctl restart containerd kubelet.service",
        "systemctl enable --now kubelet",
        "systemctl --now enable kubelet",
        "systemctl start --no-block nodeadm-run",
        "service kubelet start",
        "nodeadm init --config-source file:///x",
        "true; false || systemctl start kubelet",
        "bash -c 'systemctl start kubelet'",
        "run(['systemctl', 'start', 'kubelet'])",
        "sed -i s/a/b/ /etc/eks/bootstrap.sh && /etc/eks/bootstrap.sh checkout-dev",
    ],
)
def test_a_script_that_starts_the_kubelet_is_found(line: str) -> None:
    assert starts_kubelet(f"#!/bin/bash\n# systemctl start kubelet\n  {line}\n") == f"line 3: {line}"


@pytest.mark.parametrize(
    "script",
    [
        "",
        "true # && /etc/eks/bootstrap.sh x",
        "version=$(kubelet --version)",
        "systemctl stop kubelet; systemctl restart containerd",
        "systemctl enable kubelet",
        "systemctl start kubelet-exporter",
        "nodeadm config check",
        "sed -n 's|a|b|' /etc/eks/bootstrap.sh || true",
    ],
)
def test_a_script_that_starts_no_kubelet_passes(script: str) -> None:
    assert starts_kubelet(script) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", ["systemctl start ", "sed ", "# "])
def test_a_script_of_the_longest_length_is_read_in_a_moment(part: str) -> None:
    began = time.process_time()
    starts_kubelet(part * (MAX_USER_DATA_BYTES // len(part)))
    assert time.process_time() - began < 3
