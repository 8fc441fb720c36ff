"""The reader of Bottlerocket's settings follows its templates."""

from __future__ import annotations

import pytest

from sandbox.cluster.bootstrap.bottlerocket import read
from sandbox.cluster.bootstrap.model import NodeStartError

SETTINGS = """\
[settings.kubernetes]
api-server = "https://x"
cluster-certificate = "Y2E="
cluster-name = "shop"
cluster-dns-ip = "172.20.0.10"
max-pods = 58

[settings.kubernetes.eviction-hard]
"memory.available" = "5%"

[settings.kubernetes.node-labels]
team = "checkout"
"example.com/tier" = "batch"

[settings.kubernetes.node-taints]
arch = ["arm64:NoSchedule", "arm64:NoExecute"]
x = ":PreferNoSchedule"

[settings.host-containers.admin]
enabled = false
"""


def test_settings_become_flags_and_configuration_as_the_templates_write_them() -> None:
    start = read([SETTINGS])
    assert start.flags == (
        "--node-labels=example.com/tier=batch,team=checkout",
        "--register-with-taints=arch=arm64:NoSchedule,arch=arm64:NoExecute,x=:PreferNoSchedule",
    )
    assert start.config == {
        "clusterDNS": ["172.20.0.10"],
        "maxPods": 58,
        "evictionHard": {"memory.available": "5%"},
    }


def test_later_settings_override_and_tables_are_merged() -> None:
    start = read([SETTINGS, "[settings.kubernetes]\nmax-pods = 8\n[settings.kubernetes.node-labels]\na = 'b'\n"])
    assert start.config["maxPods"] == 8
    assert start.flags[0] == "--node-labels=a=b,example.com/tier=batch,team=checkout"


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("max-pods", "maxpods", "the unknown .'maxpods'"),
        ('cluster-name = "shop"\n', "", "has no .'cluster-name'"),
        ("[settings.kubernetes]", "[settings.kubernetes", "not TOML"),
    ],
)
def test_what_bottlerocket_rejects_keeps_the_node_out(was: str, becomes: str, reason: str) -> None:
    assert was in SETTINGS
    with pytest.raises(NodeStartError, match=reason):
        read([SETTINGS.replace(was, becomes, 1)])
