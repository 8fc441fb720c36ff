"""Architectures and taints of NodePools and of user data are read once, for reviews and for policies."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, LAUNCH_TEMPLATE, NODE_POOL, find_pool_architectures
from multiarch.observed.resources.user_data import UnreadableUserDataError, read_user_data_taints
from multiarch.policies import build_policies
from multiarch.policies.model import check_policy
from multiarch.review.nodes import placement
from tests.review.by_hand import CLUSTER, change, made

GENERATION = "karpenter.k8s.aws/instance-generation"
ARM64, BOTH = {Architecture.ARM64}, set(Architecture)
GOLDEN = sorted((Path(__file__).parents[2] / "nodes" / "user_data" / "golden").iterdir())
(POLICY,) = (each for each in build_policies(lambda _: ()) if each.rule == "policy-arm64-taint")


def pool(*requirements: tuple[str, str, list[str]]) -> dict[str, Any]:
    rows = [{"key": key, "operator": operator, "values": values} for key, operator, values in requirements]
    return {"spec": {"template": {"spec": {"requirements": rows}}}}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (pool(("kubernetes.io/arch", "In", ["arm64"])), ARM64),
        (pool(("kubernetes.io/arch", "NotIn", ["amd64"])), ARM64),
        (pool(("node.kubernetes.io/instance-type", "In", ["m7g.large"])), ARM64),
        (pool(("karpenter.k8s.aws/instance-family", "In", ["m7g", "c7g"])), ARM64),
        (pool(("karpenter.k8s.aws/instance-cpu-manufacturer", "In", ["aws"])), ARM64),
        (pool(("karpenter.k8s.aws/instance-cpu-manufacturer", "NotIn", ["amd", "intel"])), ARM64),
        (pool(("karpenter.k8s.aws/instance-category", "In", ["t"]), (GENERATION, "In", ["4"])), ARM64),
        (pool(("kubernetes.io/arch", "Exists", [])), BOTH),
        (pool(("karpenter.k8s.aws/instance-category", "In", ["m"])), BOTH),
        (pool(("karpenter.k8s.aws/instance-generation", "Gt", ["5"])), BOTH),
        (pool(("node.kubernetes.io/instance-type", "In", ["m7g.large", "m7i.large"])), BOTH),
        (pool(), BOTH),
    ],
)
def test_a_node_pool_has_the_same_architectures_for_a_review_and_a_policy(
    properties: dict[str, Any], expected: set[Architecture]
) -> None:
    assert find_pool_architectures(properties) == expected
    cluster = made(CLUSTER, "shop", {"name": "shop"}, {"name": "shop"})
    found = [
        each.rule.name
        for each in placement.find_placement_changes(change(cluster, made(NODE_POOL, "pool", None, properties)))
    ]
    violations = list(check_policy(POLICY, [DeclaredResource("urn:pool", "", NODE_POOL, "pool", properties)]))
    assert bool(violations) is ("open-arm64" in found) is (expected == ARM64)


NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {{registerWithTaints: {rows}}}
    flags: {flags}
"""
HARD = "[{key: arch, value: arm64, effect: NoSchedule}]"
TAINT_FLAG = "--register-with-taints=arch=arm64:NoSchedule"
SCRIPT = "#!/bin/bash\n/etc/eks/bootstrap.sh c --kubelet-extra-args '{}'"


@pytest.mark.parametrize(
    ("user_data", "expected"),
    [
        (NODE_CONFIG.format(rows=HARD, flags=[]), ["arch=arm64:NoSchedule"]),
        (NODE_CONFIG.format(rows="[]", flags=[]), []),
        (NODE_CONFIG.format(rows=HARD, flags="['--register-with-taints=a:NoExecute']"), ["a:NoExecute"]),
        (SCRIPT.format("--register-with-taints=a=b:NoSchedule,c:NoExecute"), ["a=b:NoSchedule", "c:NoExecute"]),
        (f"# --register-with-taints=a=b:NoSchedule\n{SCRIPT}", []),
        (SCRIPT + '\necho \'{"registerWithTaints": [{"key": "a", "effect": "NoExecute"}]}\'', ["registered:NoExecute"]),
        ('[settings.kubernetes.node-taints]\narch = "arm64:NoSchedule"', ["arch=arm64:NoSchedule"]),
        ('[settings.kubernetes.node-taints]\n"a.b/c" = [":NoSchedule"]', ["a.b/c:NoSchedule"]),
        ("[settings.kubernetes]\ncluster-name = 'c'", []),
        ("[settings]\n[settings.kubernetes.node-taints]\narch = ['arm64:NoSchedule']", ["arch=arm64:NoSchedule"]),
        (NODE_CONFIG.format(rows="[]", flags="[--register-with-taints, 'a:NoExecute']"), ["a:NoExecute"]),
        (SCRIPT.format("--node-labels=a=b") + "  # --register-with-taints=a:NoSchedule", []),
        (f'#!/bin/sh\nT="{TAINT_FLAG}"\nbootstrap.sh c --kubelet-extra-args "--v=2 $T"', ["arch=arm64:NoSchedule"]),
        ("#!/bin/sh\nexport T=a:NoExecute\nkubelet --register-with-taints=${T}", ["a:NoExecute"]),
        (SCRIPT + "\ncat <<EOF\nregisterWithTaints:\n- key: a\n  effect: NoExecute\nEOF", ["registered:NoExecute"]),
        (SCRIPT + "\ncat <<EOF\nregisterWithTaints: []\nmaxPods: 5\nEOF\necho NoSchedule", []),
        ("", []),
    ],
)
def test_the_taints_of_user_data_are_read(user_data: str, expected: list[str]) -> None:
    for text in (user_data, base64.b64encode(user_data.encode()).decode()):
        assert [str(each) for each in read_user_data_taints(text)] == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_the_taints_of_the_projects_own_user_data_are_read(path: Path) -> None:
    tainted = "arm64" in path.name and "-eks-" not in path.name  # EKS itself adds the taints of its groups
    assert [str(each) for each in read_user_data_taints(path.read_text())] == ["arch=arm64:NoSchedule"] * tainted


@pytest.mark.parametrize(
    "user_data",
    [
        *(SCRIPT.format("--register-with-taints=$TAINTS"), "kind: NodeConfig\nspec: [", "[settings.kubernetes"),
        base64.b64encode(gzip.compress(TAINT_FLAG.encode(), mtime=0)).decode(),
    ],
)
def test_user_data_that_cannot_be_read_is_an_error(user_data: str) -> None:
    with pytest.raises(UnreadableUserDataError):
        read_user_data_taints(user_data)


@pytest.mark.parametrize(
    ("user_data", "said"),
    [
        ("#!/bin/bash\n# --register-with-taints=arch=arm64:NoSchedule", "registers no taint"),
        (SCRIPT.format("--register-with-taints=arch=arm64:PreferNoSchedule"), "registers no taint"),
        (NODE_CONFIG.format(rows="[]", flags=[]), "registers no taint"),
        (SCRIPT.format("--register-with-taints=$TAINTS"), "can't be checked"),
    ],
)
def test_what_keeps_no_pod_away_does_not_count_as_a_taint(user_data: str, said: str) -> None:
    template = DeclaredResource("urn:template", "", LAUNCH_TEMPLATE, "template", {"userData": user_data})
    overrides = {"mixedInstancesPolicy": {"launchTemplate": {"overrides": [{"instanceType": "m7g.large"}]}}}
    group = DeclaredResource(
        "urn:group", "", AUTO_SCALING_GROUP, "group", overrides, dependencies=frozenset({"urn:template"})
    )
    (violation,) = check_policy(POLICY, [group, template])
    assert said in violation.text
