"""The schema's refusals are sentences: what was written, what is taken, the way out."""

from __future__ import annotations

import pytest

from multiarch.stack.schema_paths import nearest
from tests.stack.files import CONFIG, Project

# What is added to the group ``web`` (line 10), and the line that refuses it.
IN_GROUP = [
    ("colour: red", "nodeGroups.web.colour: colour is unknown here. Known here: kind, capacityType,"),
    ("min_size: 1", "nodeGroups.web.min_size: min_size is unknown here. Did you mean minSize?"),
    (
        "instancetype: [x]",
        "nodeGroups.web.instancetype: instancetype is unknown here. Did you mean instanceTypes?",
    ),
    ("cidr: 10.0.0.0/8", "nodeGroups.web.cidr: cidr is unknown here. It belongs to network.cidr."),
    ('maxSize: "3"', "nodeGroups.web.maxSize: maxSize is the text '3'; it takes a whole number. Write it without"),
    ("maxSize: 2.5", "nodeGroups.web.maxSize: maxSize is the number 2.5; it takes a whole number."),
    ("maxSize: true", "nodeGroups.web.maxSize: maxSize is true; it takes a whole number."),
    ("maxSize: 0", "nodeGroups.web.maxSize: maxSize is 0; it must be at least 1. Write 1 or more."),
    (
        "maxSize: four",
        "nodeGroups.web.maxSize: maxSize is the text 'four'; it takes a whole number. Write a number, such as 4.",
    ),
    ("diskSize: 99999", "nodeGroups.web.diskSize: diskSize is 99999; it must be at most 16384. Write 16384 or less."),
    ("arm64Taint: yes", "nodeGroups.web.arm64Taint: arm64Taint is the text 'yes'; it takes true or false."),
    (
        'arm64Taint: "true"',
        "nodeGroups.web.arm64Taint: arm64Taint is the text 'true'; it takes true or false. Write",
    ),
    (
        "labels: {tier: 1}",
        'nodeGroups.web.labels.tier: tier is the number 1; it takes a text. Write it in quotes: "1"',
    ),
    (
        "labels: {tier: true}",
        'nodeGroups.web.labels.tier: tier is true; it takes a text. Write it in quotes: "true".',
    ),
    (
        "labels: {tier: }",
        "nodeGroups.web.labels.tier: tier is empty. It takes a text; give it one, or leave the line out.",
    ),
    ("labels: [tier]", "nodeGroups.web.labels: labels is a list; it takes a mapping: keys with values below it."),
    (
        "taints: a=b:NoSchedule",
        "nodeGroups.web.taints: taints is the text 'a=b:NoSchedule'; it takes a list. Write",
    ),
    ("taints: [{key: a}]", "nodeGroups.web.taints[0]: taints[0] is a mapping; it takes a text."),
    (
        "kind: self_managed",
        "nodeGroups.web.kind: kind can't be the text 'self_managed'. Did you mean self-managed? Allo",
    ),
    ("kind: best", "nodeGroups.web.kind: kind can't be the text 'best'. Allowed: managed, self-managed."),
    (
        "capacityType: SPOT",
        "nodeGroups.web.capacityType: capacityType can't be the text 'SPOT'. Did you mean spot? Allowed",
    ),
    ("amiFamily: 3", "nodeGroups.web.amiFamily: amiFamily can't be the number 3. Allowed: AL2, AL2023, Bottlerocket."),
    ("bootstrap: {mode: [eks]}", "nodeGroups.web.bootstrap.mode: mode can't be a list. Allowed: eks, user-data."),
    (
        "ami: ami-0123",
        "nodeGroups.web.ami: ami is the text 'ami-0123'; it takes a mapping: keys with values below it.",
    ),
    ("zones: 2", "nodeGroups.web.zones: zones is the number 2; it takes a list."),
]
# What is added at the top (line 10), and the line that refuses it.
AT_TOP = [
    ("network: {zones: two}", "network.zones: zones is the text 'two'; it takes a whole number or a list."),
    ("network: {zones: 7}", "network.zones: zones is 7; it must be at most 6."),
    (
        "network: {zones: [1]}",
        'network.zones[0]: zones[0] is the number 1; it takes a text. Write it in quotes: "1".',
    ),
    ("network: {zones: {a: b}}", "network.zones: zones is a mapping; it takes a whole number or a list."),
    ("network: {endpoints: [s4]}", "network.endpoints[0]: endpoints[0] can't be the text 's4'. Allowed: autoscaling,"),
    (
        "logging: {retentionDays: 91}",
        "logging.retentionDays: retentionDays can't be the number 91. The nearest allowed",
    ),
    ("logging: {retentionDays: a}", "logging.retentionDays: retentionDays can't be the text 'a'. Allowed: 1, 3, 5, 7,"),
    ("nodegroups: {}", "nodegroups: nodegroups is unknown here. Did you mean nodeGroups?"),
    ("node-groups: {}", "node-groups: node-groups is unknown here. Did you mean nodeGroups?"),
    (
        "taints: []",
        "taints: taints is unknown here. It belongs to admissionWebhook.configuration.taints or autoscaling",
    ),
    ("session: 3", "session: session is the number 3; it takes a mapping: keys with values below it."),
    ("session: later", "session: session is the text 'later'; it takes a mapping: keys with values below it."),
    ("access: []", "access: access is a list; it takes a mapping: keys with values below it."),
    ("clusterName: [a]", "clusterName: clusterName is a list; it takes a text."),
    ("storageClass: 1", "storageClass: storageClass is the number 1; it takes true or false."),
    (
        "amiFamily: al2023",
        "amiFamily: amiFamily can't be the text 'al2023'. Did you mean AL2023? Allowed: AL2023, AL2, B",
    ),
]


@pytest.mark.parametrize(("added", "expected"), IN_GROUP, ids=[added for added, _ in IN_GROUP])
def test_a_group_that_is_refused_says_why(project: Project, added: str, expected: str) -> None:
    lines = project.lines(f"{CONFIG}      {added}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:10 {expected}")


@pytest.mark.parametrize(("added", "expected"), AT_TOP, ids=[added for added, _ in AT_TOP])
def test_a_stack_that_is_refused_says_why(project: Project, added: str, expected: str) -> None:
    lines = project.lines(f"{CONFIG}  multiarch-eks:{added}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:10 {expected}")


def test_a_text_that_other_yaml_takes_for_a_flag_is_a_text(project: Project) -> None:
    assert project.load(f"{CONFIG}      labels: {{tier: on}}\n").spec.node_groups["web"].labels == {"tier": "on"}


def test_an_empty_list_that_must_not_be_is_refused(project: Project) -> None:
    (line,) = project.lines(CONFIG.replace("[m7i.large]", "[]"))
    assert line == (
        "Pulumi.shop-dev.yaml:9 nodeGroups.web.instanceTypes: instanceTypes is an empty list. Name at least 1."
    )


def test_a_list_that_is_too_long_is_refused(project: Project) -> None:
    types = ", ".join(["m7i.large"] * 21)
    (line,) = project.lines(CONFIG.replace("m7i.large", types))
    assert line.endswith("instanceTypes has 21 items. Name at most 20.")


def test_a_misspelled_key_is_not_told_to_be_missing_too(project: Project) -> None:
    (line,) = project.lines(CONFIG.replace("instanceTypes", "instance_types"))
    assert line.endswith("instance_types is unknown here. Did you mean instanceTypes?")


def test_a_missing_half_of_a_multi_architecture_group_is_told(project: Project) -> None:
    group = "  multiarch-eks:multiArchitectureGroups: {both: {instanceTypes: {amd64: [m7i.large]}}}\n"
    (line,) = project.lines(f"{CONFIG}{group}")
    assert line == (
        "Pulumi.shop-dev.yaml:10 multiArchitectureGroups.both.instanceTypes.arm64: arm64 is missing. "
        "arm64 (Graviton) instance types."
    )


@pytest.mark.parametrize(
    ("written", "known", "expected"),
    [
        ("instance_types", ["instanceTypes", "labels"], "instanceTypes"),
        ("Labels", ["instanceTypes", "labels"], "labels"),
        ("lables", ["instanceTypes", "labels"], "labels"),
        ("colour", ["instanceTypes", "labels"], None),
        ("x", [], None),
    ],
)
def test_the_nearest_word_is_found_whatever_its_spelling(written: str, known: list[str], expected: str | None) -> None:
    assert nearest(written, known) == expected
