"""The reader of AL2023's user data follows nodeadm."""

from __future__ import annotations

import pytest

from sandbox.cluster.bootstrap.al2023 import read
from sandbox.cluster.bootstrap.model import NodeStartError
from sandbox.cluster.bootstrap.registration import registration

CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: shop, apiServerEndpoint: "https://x", certificateAuthority: Y2E=, cidr: 172.20.0.0/16}
  kubelet:
    config: {maxPods: 29, evictionHard: {memory.available: 100Mi}}
    flags: ["--node-labels=team=checkout,tier=web", "--register-with-taints=arch=arm64:NoSchedule"]
"""
MORE = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {maxPods: 58, evictionHard: {nodefs.available: 10%}}
    flags: ["--node-labels=tier=batch"]
"""


def archive(*documents: str) -> str:
    parts = [f"--b\nContent-Type: application/node.eks.aws\n\n{each}" for each in documents]
    script = "--b\nContent-Type: text/x-shellscript\n\n#!/bin/bash\ntrue\n"
    return "\n".join(
        [
            "MIME-Version: 1.0",
            "Content-Type: multipart/mixed; boundary=b",
            "",
            *parts[:1],
            script,
            *parts[1:],
            "--b--\n",
        ]
    )


@pytest.mark.parametrize("documents", [[archive(CONFIG, MORE)], [CONFIG, MORE]])
def test_documents_are_merged_as_nodeadm_merges_them(documents: list[str]) -> None:
    start = read(documents)
    assert start.config == {
        "clusterDNS": ["172.20.0.10"],
        "maxPods": 58,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    }
    found = registration(start)
    assert found.labels == {"team": "checkout", "tier": "batch"}
    assert list(map(str, found.taints)) == ["arch=arm64:NoSchedule"]


def test_taints_may_be_in_the_configuration_and_labels_in_quotes_as_karpenter_writes_them() -> None:
    text = CONFIG.replace("maxPods: 29", "registerWithTaints: [{key: arch, value: arm64, effect: NoSchedule}]")
    text = text.replace('"--register-with-taints=arch=arm64:NoSchedule"', "'--node-labels=\"a=b,c=d\"'")
    found = registration(read([text]))
    assert found.labels == {"team": "checkout", "tier": "web", "a": "b", "c": "d"}
    assert list(map(str, found.taints)) == ["arch=arm64:NoSchedule"]


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [archive()],
        ["#!/bin/bash\ntrue\n"],
        [MORE],
        [CONFIG.replace("172.20.0.0/16", "everywhere")],
        [CONFIG.replace("tier=web", 'tier=\\"web')],
    ],
)
def test_what_nodeadm_rejects_keeps_the_node_out(documents: list[str]) -> None:
    with pytest.raises(NodeStartError, match="does not join"):
        read(documents)


def test_a_kubelet_with_an_invalid_taint_does_not_start() -> None:
    with pytest.raises(NodeStartError, match="does not start"):
        registration(read([CONFIG.replace(":NoSchedule", ":NO_SCHEDULE")]))
