"""Sources held against each other: what agrees is quiet, and each disagreement is found by its rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.cli.verify.node_report import _architecture_cells
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.nodes.model import NodeGroupPlan
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.nodes.join import compare_sources, list_not_joined
from multiarch.verify.nodes.model import BootFault, NodeVerdict
from multiarch.verify.nodes.planned import list_planned_groups
from multiarch.verify.nodes.rules import RULES
from multiarch.verify.nodes.taints import list_taint_fixes, with_fixes
from tests.stack.words import AUTO_MODE, plan
from tests.verify.nodes.faults import FAULTS, ONLY_WITH_TAINTS
from tests.verify.nodes.worlds import (
    NOW,
    group,
    healthy,
    row,
    sources,
    verified,
    with_instance,
    with_labels,
    with_node,
    with_report,
)

ARCHITECTURES = st.sampled_from(list(Architecture))


def rules(world: object) -> set[str]:
    return {each.rule.name for each in row(world).findings}  # type: ignore[arg-type]


def test_each_rule_has_a_fault() -> None:
    assert {*FAULTS, "autoscaler-flags", "pool-weight"} == set(RULES)  # the last two: test_autoscaler.py


@pytest.mark.parametrize("architecture", Architecture)
def test_a_healthy_node_is_ok(architecture: Architecture) -> None:
    found = row(healthy(architecture))
    assert (found.verdict, found.findings, found.not_checked) == (NodeVerdict.OK, (), ())
    assert set(found.architectures) == {"plan", "EC2", "AMI", "node", "CPU"}
    assert set(found.architectures.values()) == {str(architecture)}


@pytest.mark.parametrize("rule", FAULTS)
@pytest.mark.parametrize("architecture", Architecture)
def test_each_fault_is_found_by_its_rule(rule: str, architecture: Architecture) -> None:
    if rule in ONLY_WITH_TAINTS:
        architecture = Architecture.ARM64
    world = FAULTS[rule](healthy(architecture))
    found = {each.rule.name: each for each in row(world).findings}
    assert rule in found
    assert found[rule].text.endswith(".")
    assert found[rule].hint
    assert found[rule].rule.severity is RULES[rule].severity


def test_on_a_cluster_that_was_there_before_the_stack_nodes_of_other_groups_are_no_finding() -> None:
    read = sources(FAULTS["unknown-group"](healthy(Architecture.AMD64)))
    assert [each.rule.name for each in compare_sources(read).rows[0].findings] == ["unknown-group"]
    assert not compare_sources(replace(read, others=True)).rows[0].findings


@given(
    st.lists(ARCHITECTURES, min_size=1, max_size=8),
    st.dictionaries(st.integers(0, 7), st.sampled_from(sorted(FAULTS)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_faults_are_found_on_the_nodes_that_have_them_and_on_no_others(
    architectures: list[Architecture], faults: dict[int, str], order: Random
) -> None:
    worlds, expected = [], {}
    for number, architecture in enumerate(architectures):
        world = healthy(architecture, number, f"group-{architecture}")
        rule = faults.get(number)
        if rule in ONLY_WITH_TAINTS and architecture is Architecture.AMD64:
            rule = None
        name = world.node.name if world.node else ""
        if rule is not None:
            world = FAULTS[rule](world)
            name = world.node.name if world.node else world.instance.id if world.instance else ""
        worlds.append(world)
        expected[name] = rule
    groups = {world.group.name: world.group for world in worlds}
    shuffled = order.sample(worlds, len(worlds))
    result = compare_sources(sources(*shuffled, planned=list(groups.values())))
    assert {found.name for found in result.rows} == set(expected)
    for found in result.rows:
        rule = expected[found.name]
        if rule is None:
            assert (found.verdict, found.findings) == (NodeVerdict.OK, ())
        else:
            assert rule in {each.rule.name for each in found.findings}
            assert found.verdict is not NodeVerdict.OK
    assert result == compare_sources(sources(*worlds, planned=list(groups.values())))


def test_a_missing_taint_says_whether_the_kubelet_registered_with_it() -> None:
    world = with_node(healthy(), taints=())
    assert "removed later" in row(world).findings[0].text
    world = with_report(world, taints=())
    assert "started without it" in row(world).findings[0].text
    world = with_report(world, taints=None)
    assert row(world).findings[0].text == "the taint arch=arm64:NoSchedule is missing."


def test_a_taint_with_another_effect_differs_and_is_not_added() -> None:
    world = with_node(healthy(), taints=(parse_taint("arch=arm64:PreferNoSchedule"),))
    assert "taint-differs" in rules(world)
    other_value = with_node(healthy(), taints=(parse_taint("arch=graviton:NoSchedule"),))
    assert row(other_value).missing_taints == ()


def test_an_amd64_node_with_the_arm64_taint_is_found_and_other_taints_are_not() -> None:
    world = healthy(Architecture.AMD64)
    assert "taint-unexpected" in rules(with_node(world, taints=(parse_taint("arch=arm64:NoSchedule"),)))
    assert rules(with_node(world, taints=(parse_taint("node.kubernetes.io/unreachable:NoExecute"),))) == set()


def test_labels_that_ec2_decides_are_told_from_those_of_the_group() -> None:
    assert rules(with_labels(healthy(), **{"topology.kubernetes.io/zone": "eu-west-1b"})) == {"node-label"}
    assert rules(with_labels(healthy(), team="payments")) == {"label"}


def test_an_instance_that_started_just_now_is_joining() -> None:
    world = with_instance(replace(healthy(), node=None), launched=NOW - timedelta(minutes=3))
    assert row(world).verdict is NodeVerdict.JOINING
    assert list_not_joined(sources(world)) == ()


def test_an_instance_that_never_joined_says_why() -> None:
    world = replace(healthy(), node=None)
    assert world.instance
    fault = BootFault("its bootstrap failed, says its boot log", "Correct the user data.", ("Exited with error",))
    (found,) = compare_sources(replace(sources(world), boot={world.instance.id: fault})).rows
    assert found.verdict is NodeVerdict.NEVER_JOINED
    (finding,) = found.findings
    assert finding.text == "running for 24 hours, not registered as a Node: its bootstrap failed, says its boot log."
    assert (finding.hint, finding.details) == ("Correct the user data.", ("Exited with error",))
    bare = sources(with_instance(world, profile=""))
    ((finding,),) = (each.findings for each in compare_sources(replace(bare, boot={world.instance.id: fault})).rows)
    assert finding.details[-1].startswith("It has no instance profile, and so no role: replace it")


def test_without_nodes_no_instance_counts_as_never_joined() -> None:
    world = replace(healthy(), node=None)
    read = replace(sources(world), nodes=None)
    assert list_not_joined(read) == ()
    (found,) = compare_sources(read).rows
    assert (found.verdict, found.findings) == (NodeVerdict.PARTLY_CHECKED, ())


def test_a_source_that_was_not_read_makes_nodes_partly_checked() -> None:
    for missing in ("instances", "nodes", "on_node"):
        read = replace(sources(healthy()), **{missing: None})  # type: ignore[arg-type]
        assert compare_sources(read).rows[0].verdict is NodeVerdict.PARTLY_CHECKED, missing


def test_without_a_plan_the_other_sources_are_compared() -> None:
    world = with_node(healthy(), taints=(), architecture="amd64")
    (found,) = compare_sources(replace(sources(world), planned=None, arm64_taint=None)).rows
    assert {each.rule.name for each in found.findings} == {"node-architecture", "kubelet-taints", "cpu-architecture"}
    assert found.group == "batch"


def test_a_node_without_an_instance_has_a_row() -> None:
    assert row(replace(healthy(), instance=None)).findings[-1].rule.name == "no-instance"


def test_a_stopped_instance_is_not_a_finding() -> None:
    found = row(with_instance(replace(healthy(), node=None, report=None), state="stopped"))
    assert (found.findings, found.not_checked) == ((), ("The instance is stopped.",))


def test_a_release_beside_the_image_of_a_node_is_compared_with_the_image_s_name() -> None:
    world = healthy()
    assert world.instance
    pinned = replace(world.group, ami_id=world.instance.image.id)
    assert row(replace(world, group=pinned)).findings == ()
    (found,) = row(replace(world, group=replace(pinned, release="v20260901"))).findings
    assert found.rule.name == "ami-release"
    assert f"the stack calls {pinned.ami_id} v20260901" in found.text


def test_the_answer_of_ssm_is_a_row_with_its_reason() -> None:
    world = healthy()
    assert world.instance
    for status in set(AnswerStatus) - {AnswerStatus.DONE}:
        answer = InstanceAnswer(world.instance.id, status, "", f"reason {status}", "Do this.", "3.3.0")
        found = row(replace(world, report=answer))
        assert found.verdict is NodeVerdict.PARTLY_CHECKED
        (finding,) = found.findings
        assert finding.text == f"SSM: reason {status} (agent 3.3.0)."
        assert finding.hint == "Do this."


def test_missing_taints_are_appended_under_a_test_of_the_version() -> None:
    bare = with_node(healthy(), taints=())
    tainted = with_node(healthy(number=1), taints=(parse_taint("dedicated=db:NoSchedule"),))
    read = sources(bare, tainted)
    (first, second), foreign = list_taint_fixes(compare_sources(read))
    assert foreign == ()
    value = {"key": "arch", "effect": "NoSchedule", "value": "arm64"}
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert first.operations == [test, {"op": "add", "path": "/spec/taints", "value": [value]}]
    assert second.operations == [test, {"op": "add", "path": "/spec/taints/-", "value": value}]
    after = compare_sources(with_fixes(read, (first, second)))
    assert not any(each.missing_taints for each in after.rows)
    assert [each.verdict for each in after.rows] == [NodeVerdict.OK, NodeVerdict.OK]


@pytest.mark.parametrize(
    "tags",
    [
        {"multiarch-eks/node-group": "batch"},
        {"multiarch-eks/node-group": "batch", "kubernetes.io/cluster/other": "owned"},
        {"multiarch-eks/node-group": "batch", "kubernetes.io/cluster/shop": "shared", "eks:cluster-name": "other"},
    ],
)
def test_taints_are_only_added_to_nodes_whose_instance_belongs_to_the_cluster(tags: dict[str, str]) -> None:
    result = verified(with_instance(with_node(healthy(), taints=()), tags=tags))
    assert "taint-missing" in {each.rule.name for each in result.rows[0].findings}
    assert list_taint_fixes(result) == ((), (result.rows[0].name,))


def test_taints_are_not_added_to_nodes_that_only_their_labels_put_in_a_group() -> None:
    world = with_labels(with_node(healthy(), taints=()), **{"eks.amazonaws.com/nodegroup": "shop-batch-1"})
    read = replace(sources(world), instances=None)
    (found,) = compare_sources(read).rows
    assert found.missing_taints
    assert list_taint_fixes(compare_sources(read)) == ((), (found.name,))


def test_a_node_that_started_just_now_may_be_not_ready() -> None:
    world = with_node(healthy(), ready="False", why_not_ready="cni plugin not initialized")
    assert row(world).verdict is NodeVerdict.WRONG
    found = row(with_instance(world, launched=NOW - timedelta(minutes=3)))
    assert (found.verdict, found.findings) == (NodeVerdict.JOINING, ())


@pytest.mark.parametrize("change", [{"state": "shutting-down"}, {"lifecycle": "Terminating:Wait"}])
def test_a_node_whose_instance_ends_is_not_wrong(change: dict[str, str]) -> None:
    world = with_instance(with_node(healthy(), ready="Unknown", why_not_ready="Kubelet stopped"), **change)
    assert rules(world) <= {"no-instance"}
    assert row(world).verdict in (NodeVerdict.WARNING, NodeVerdict.PARTLY_CHECKED)


@pytest.mark.parametrize("lifecycle", ["Warmed:Running", "Detaching"])
def test_an_instance_that_its_scaling_group_keeps_out_of_service_is_not_missed(lifecycle: str) -> None:
    world = with_instance(replace(healthy(), node=None), lifecycle=lifecycle)
    assert list_not_joined(sources(world)) == ()
    found = row(world)
    assert (found.verdict, found.findings) == (NodeVerdict.PARTLY_CHECKED, ())
    assert found.not_checked == (f"The instance is {lifecycle} in its Auto Scaling Group.",)


def test_a_hybrid_node_has_no_instance_to_miss() -> None:
    world = replace(healthy(), instance=None, report=None)
    world = with_labels(with_node(world, instance=""), **{"eks.amazonaws.com/compute-type": "hybrid"})
    found = row(world)
    assert (found.verdict, found.findings) == (NodeVerdict.PARTLY_CHECKED, ())
    assert found.not_checked == ("A hybrid node: it is not an EC2 instance, and was not queried through SSM.",)


def test_a_node_of_eks_auto_mode_is_compared_without_ssm() -> None:
    (pool,) = [each for each in list_planned_groups(plan(AUTO_MODE)) if each.name == "general-arm64-on-demand"]
    kind = pool.type_named("m7g.large")
    assert kind is not None
    world = replace(healthy(), group=pool, report=None)
    tags = {"eks:kubernetes-node-pool-name": pool.name, "eks:eks-cluster-name": "shop"}
    world = with_instance(world, type=kind.name, tags=tags)
    world = with_node(world, taints=pool.taints, os_image="Bottlerocket (EKS Auto, Standard) 2026.9.14")
    world = with_labels(world, **{"node.kubernetes.io/instance-type": kind.name, **pool.labels(kind, "eu-west-1")})
    found = row(world)
    assert (found.group, found.findings, found.verdict) == (pool.name, (), NodeVerdict.PARTLY_CHECKED)
    (unchecked,) = found.not_checked
    assert unchecked == "A node of EKS Auto Mode, which takes no command through SSM: its programs were not read."


def test_a_group_without_any_node_is_noted_if_it_must_have_some() -> None:
    world, other = healthy(), group(name="general")
    owner = other.owner
    assert isinstance(owner, NodeGroupPlan)
    for minimum, notes in ((2, ("general: no node of this group was found; its minimum is 2.",)), (0, ())):
        sized = replace(other, owner=replace(owner, sizes=replace(owner.sizes, minimum=minimum)))
        assert compare_sources(sources(world, planned=(world.group, sized))).notes == notes


def test_programs_of_another_architecture_are_one_finding() -> None:
    world = with_report(healthy(), architecture=Architecture.AMD64, machine="x86_64")
    (found,) = [each for each in row(world).findings if each.rule.name == "program-architecture"]
    assert found.text == (
        "/usr/bin/kubelet, /usr/bin/containerd, /usr/bin/runc are built for arm64, and the CPU is amd64."
    )


def test_a_nodes_line_names_the_source_that_differs() -> None:
    odd = with_node(healthy(number=200), architecture="amd64")
    cells = [_architecture_cells(each.architectures) for each in verified(healthy(), odd).rows]
    assert cells == [("arm64", "plan EC2 AMI node CPU"), ("disagree", "node amd64, others arm64")]
