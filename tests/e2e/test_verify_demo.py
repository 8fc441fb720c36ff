"""``make verify-demo`` shows a healthy cluster, then four faults, and both commands name them."""

from __future__ import annotations

import re

import pytest

from sandbox import processes
from tests.e2e.world import World
from tests.quotations import ROOT, blocks, matches

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
PAGE = ROOT / "docs" / "how-to" / "verify.md"


def test_both_commands_find_nothing_in_a_healthy_cluster_and_name_all_four_faults(
    platform: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # as the page has it
    instances, held = platform.instance_ids(STACK), platform.held(STACK)
    try:
        said = platform.sandbox("verify-demo", STACK).stdout
    finally:
        for process in processes.of_folder(platform.layout.registry):
            processes.stop_session(process)
    shown = re.split(r"^\$ .*multiarch verify (?:nodes|pods) .*\n", said, flags=re.MULTILINE)[1:]
    nodes, pods, broken_nodes, broken_pods = shown
    assert "2 nodes of checkout-dev: 2 ok; no findings." in nodes
    assert "3 containers: 0 wrong, 0 cannot tell, 0 consistent, 3 proven." in pods
    for fault in (
        r"error: i-\w+: the AMI ami-\w+ is amd64 and m7g\.large is arm64. \[ami-architecture\]",
        r"error: ip-\S+: the taint arch=arm64:NoSchedule is missing: the kubelet was started without it",
        r"error: i-\w+: .* not registered as a Node: its role may not join.* \[never-joined\]",
        r"2 warnings: i-\w+, i-\w+: SSM: this instance is not registered. \[not-asked\]",
    ):
        assert re.search(fault, broken_nodes), broken_nodes
    assert "no instance profile" not in broken_nodes
    # The AMI is why that instance never joined.
    (wrong,) = re.findall(r"error: (i-\w+): the AMI", broken_nodes)
    assert broken_nodes.index(f"{wrong}: the AMI") < broken_nodes.index(f"{wrong}: running for")
    assert re.search(r"gateway-\w+ .* wrong .*payments/gateway:1\.8\.0", broken_pods), broken_pods
    assert "4 containers: 1 wrong, 0 cannot tell, 0 consistent, 3 proven." in broken_pods
    assert (platform.instance_ids(STACK), platform.held(STACK)) == (instances, held)
    for name, real in (("nodes", broken_nodes), ("pods", broken_pods)):
        (quoted,) = [block for block in blocks(PAGE) if block.marked("demo") == [name]]
        # Instance IDs are random, and rows are sorted by them.
        missing = [
            line for line in quoted.text.splitlines() if not any(matches(line, each) for each in real.splitlines())
        ]
        assert missing == [], real
