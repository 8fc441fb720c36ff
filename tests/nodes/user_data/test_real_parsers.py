"""What a node reads in user data is what the plan says: checked with the parsers that nodes use."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.architectures import Architecture
from multiarch.nodes.labels_taints import explain_restricted_label
from multiarch.nodes.model import BootstrapCase, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from tests.nodes.builders import CLUSTER, GroupOptions, node_group, usual_options
from tests.nodes.user_data import reading

pytestmark = pytest.mark.tools

OWNED = (BootstrapCase.CUSTOM_AMI, BootstrapCase.SELF_MANAGED)
MANY_TAINTS = (
    "arch=arm64:NoSchedule",
    "arch=arm64:NoExecute",
    "kubernetes.io/arch=arm64:NoSchedule",
    "x:PreferNoSchedule",
)


def usual(family: AmiFamily, case: BootstrapCase, architecture: Architecture) -> NodeGroupPlan:
    return node_group(family, case, architecture, usual_options(family, case, architecture))


def labels_of(group: NodeGroupPlan) -> dict[str, str]:
    """The plan's labels; where EKS adds nothing to a managed group's user data, its capacity type too."""
    own = {"eks.amazonaws.com/capacityType": "ON_DEMAND"} if group.case is BootstrapCase.CUSTOM_AMI else {}
    return own | dict(group.labels)


def taints_of(group: NodeGroupPlan) -> list[dict[str, str]]:
    return [{"key": t.key, "value": t.value, "effect": str(t.effect)} for t in group.taints]


def test_al2_tells_max_pods_also_when_they_are_not_written(tmp_path: Path) -> None:
    called = reading.run_al2(render_user_data(node_group(AmiFamily.AL2), CLUSTER), tmp_path)
    assert called["--kubelet-extra-args"] == "--max-pods=29"


def test_the_script_before_the_bootstrap_runs_first_and_its_failure_keeps_the_node_out(tmp_path: Path) -> None:
    good = render_user_data(
        node_group(AmiFamily.AL2, options=GroupOptions(pre_bootstrap="test ! -e record.json\ntouch ran\n")), CLUSTER
    )
    reading.run_al2(good, tmp_path)
    assert (tmp_path / "ran").exists()
    (tmp_path / "record.json").unlink()
    bad = render_user_data(node_group(AmiFamily.AL2, options=GroupOptions(pre_bootstrap="false\ntrue\n")), CLUSTER)
    with pytest.raises(subprocess.CalledProcessError):
        reading.run_al2(bad, tmp_path)
    assert not (tmp_path / "record.json").exists()


@pytest.mark.parametrize(
    "script",
    [
        "exit 0\n",
        "cd / && set +o errexit\nIFS=x PATH=/nowhere\n",
        "#!/usr/bin/env python3\nprint('ok')\n",
        "#! /bin/sh -u\ntrue",
        "#!\ntrue\n",
        "cat <<'PRE_BOOTSTRAP'\nPRE_BOOTSTRAP\n",
        "echo 'MIME-Version: 1.0'\n",
        "echo 'Grüße, 世界 🚀'\r\n",
    ],
)
def test_no_script_keeps_the_bootstrap_from_its_call(script: str, tmp_path: Path) -> None:
    text = render_user_data(node_group(AmiFamily.AL2, options=GroupOptions(pre_bootstrap=script)), CLUSTER)
    assert reading.run_al2(text, tmp_path)[""] == CLUSTER.name
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"record.json", "recorder", "user-data"}


@pytest.mark.parametrize(("case", "architecture"), list(product(BootstrapCase, Architecture)))
def test_nodeadms_own_types_read_the_node_config(case: BootstrapCase, architecture: Architecture) -> None:
    group = usual(AmiFamily.AL2023, case, architecture)
    document = reading.part(render_user_data(group, CLUSTER), reading.NODE_CONFIG)
    spec = reading.node_config(document, partial=case is BootstrapCase.EKS)["spec"]
    registered = reading.kubelet(spec["kubelet"]["flags"])
    if case is BootstrapCase.EKS:
        assert registered == reading.Node({}, [])
        assert spec["kubelet"] == {"flags": ["--max-pods=58", "--image-gc-high-threshold=70"]}
    else:
        assert registered == reading.Node(labels_of(group), taints_of(group))
        assert spec["kubelet"]["config"] == {"maxPods": 58}
        assert spec["cluster"] == {
            "name": CLUSTER.name,
            "apiServerEndpoint": CLUSTER.endpoint,
            "certificateAuthority": CLUSTER.certificate_authority,
            "cidr": CLUSTER.service_cidr,
        }


@pytest.mark.parametrize("case", OWNED)
def test_al2023_leaves_max_pods_to_nodeadm_when_they_are_not_written(case: BootstrapCase) -> None:
    group = node_group(AmiFamily.AL2023, case, options=GroupOptions(labels=(("team", "x"),)))
    spec = reading.node_config(reading.part(render_user_data(group, CLUSTER), reading.NODE_CONFIG))["spec"]
    labels = ",".join(f"{key}={value}" for key, value in labels_of(group).items())
    assert spec["kubelet"] == {"flags": [f"--node-labels={labels}"]}


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.AL2023])
def test_eks_can_merge_a_script_alone(family: AmiFamily) -> None:
    group = node_group(family, BootstrapCase.EKS, options=GroupOptions(pre_bootstrap="#!/bin/sh\necho hello\n"))
    assert reading.mime_parts(render_user_data(group, CLUSTER)) == [(reading.SCRIPT, "#!/bin/sh\necho hello\n")]


@pytest.mark.parametrize("architecture", Architecture)
def test_eks_can_merge_what_bottlerocket_gets(architecture: Architecture) -> None:
    text = render_user_data(usual(AmiFamily.BOTTLEROCKET, BootstrapCase.EKS, architecture), CLUSTER)
    assert reading.settings(text) == {"kubernetes": {"max-pods": 58}}
    # EKS user guide, "Bottlerocket user data": no escaped quotes, no quoted keys in headers.
    assert "\\" not in text
    assert not re.search(r"^\[.*\"", text, re.MULTILINE)


@pytest.mark.parametrize("family", [AmiFamily.AL2, AmiFamily.AL2023])
def test_the_kubelet_takes_a_taint_with_kubernetes_own_key(family: AmiFamily, tmp_path: Path) -> None:
    group = node_group(family, options=GroupOptions(taints=MANY_TAINTS))
    text = render_user_data(group, CLUSTER)
    if family is AmiFamily.AL2:
        flags = reading.as_systemd(reading.run_al2(text, tmp_path)["--kubelet-extra-args"])
    else:
        flags = reading.node_config(reading.part(text, reading.NODE_CONFIG))["spec"]["kubelet"]["flags"]
    assert reading.kubelet(flags).taints == taints_of(group)


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.io/role",
        "node-role.kubernetes.io/worker",
        "node-restriction.kubernetes.io/x",
        "example.com.kubernetes.io/x",
        "k8s.io/x",
        "x.k8s.io/x",
    ],
)
def test_a_label_that_keeps_the_kubelet_from_starting_is_restricted(key: str) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        reading.kubelet([f"--node-labels={key}=x"])
    assert explain_restricted_label(key) is not None


@pytest.mark.parametrize(
    "key",
    ["team", "example.com/tier", "node.kubernetes.io/lifecycle", "x.kubelet.kubernetes.io/y", "notkubernetes.io/x"],
)
def test_a_label_that_the_kubelet_takes_is_free(key: str) -> None:
    assert reading.kubelet([f"--node-labels={key}=x"]).labels == {key: "x"}
    assert explain_restricted_label(key) is None


@pytest.mark.parametrize("key", ["kubernetes.io/arch", "beta.kubernetes.io/arch", "topology.kubernetes.io/zone"])
def test_a_label_that_would_override_what_the_node_reports_is_restricted_though_the_kubelet_takes_it(key: str) -> None:
    assert reading.kubelet([f"--node-labels={key}=amd64"]).labels == {key: "amd64"}
    reason = explain_restricted_label(key)
    assert reason is not None
    assert "override" in reason


def test_labels_of_eks_are_its_own() -> None:
    assert explain_restricted_label("eks.amazonaws.com/nodegroup") is not None
