"""The schema's rejections are sentences: what was written, what is taken, the fix."""

from __future__ import annotations

import pytest

from tests.stack.files import CONFIG, Project

# What is added to the group ``web`` (line 10), and the line that rejects it.
IN_GROUP = [
    ("colour: red", "nodeGroups.web.colour: colour is unknown here. Known here: kind, capacityType,"),
    (
        "kubelet: {evictionHard: {memory.avail: 200Mi}}",
        "nodeGroups.web.kubelet.evictionHard.memory.avail: memory.avail is unknown here. Did you mean memory.",
    ),
    (
        "kubelet: {kubeReserved: {gpus: 1Gi}}",
        "nodeGroups.web.kubelet.kubeReserved.gpus: gpus is unknown here. Known: cpu, memory, ephemeral-storage.",
    ),
    ('maxSize: "3"', "nodeGroups.web.maxSize: maxSize is the string '3'; it takes a whole number. Write it without"),
    ("maxSize: 0", "nodeGroups.web.maxSize: maxSize is 0; it must be at least 1. Write 1 or more."),
    (
        "labels: {tier: 1}",
        'nodeGroups.web.labels.tier: tier is the number 1; it takes a string. Write it in quotes: "1"',
    ),
    (
        "taints: a=b:NoSchedule",
        "nodeGroups.web.taints: taints is the string 'a=b:NoSchedule'; it takes a list. Write",
    ),
    (
        "kind: self_managed",
        "nodeGroups.web.kind: kind can't be the string 'self_managed'. Did you mean self-managed? Allo",
    ),
    (
        "ami: ami-0123",
        "nodeGroups.web.ami: ami is the string 'ami-0123'; it takes a mapping: keys with values below it. Write a ma",
    ),
    (
        "amiType: [A, B]",
        "nodeGroups.web.amiType: amiType is a list; it takes a string. Write one string, without brackets: A.",
    ),
]
# What is added at the top (line 10), and the line that rejects it.
AT_TOP = [
    *(
        (f"acknowledge: {written}", f"acknowledge{key} Write the name of a warning's rule with your reason,")
        for written, key in (
            ("true", ": acknowledge is true; it takes a mapping: keys with values below it."),
            ("{open-to-all: true}", ".open-to-all: open-to-all is true; it takes a string."),
            ('{open-to-all: ""}', ".open-to-all: open-to-all is empty."),
        )
    ),
    *(
        (
            (
                "addons: {extra: {a: {statements: [{actions: [b:c], resources: ['*'], "
                f"conditions: {{{word}: {{c: d}}}}}}]}}}}}}"
            ),
            f"addons.extra.a.statements[0].conditions.{word}: '{word}' is not a valid key. Write a condition operator",
        )
        for word in ("StringEqual",)
    ),
    ("policies: [a]", "policies: policies is unknown here. IAM policies of nodes are iam.nodePolicies, those of"),
    ("network: {zones: two}", "network.zones: zones is the string 'two'; it takes a whole number or a list."),
    (
        "logging: {retentionDays: 91}",
        "logging.retentionDays: retentionDays can't be the number 91. Allowed: 1, 3, 5",
    ),
    (
        "addons: {metrics-server: {}}",
        (
            "addons.metrics-server: metrics-server is unknown here. Known here: extra, vpcCni, kubeProxy, "
            "podIdentityAgent, coredns, ebsCsi. Other EKS add-ons belong to addons.extra: {extra: {metrics-server"
        ),
    ),
    (
        "addons: {aws-ebs-csi-driver: {}}",
        "addons.aws-ebs-csi-driver: aws-ebs-csi-driver is unknown here. Did you mean ebsCsi?",
    ),
    ("tags: [a=b]", "tags: tags is a list; it takes a mapping: keys with values below it. Write a mapping: {KEY: "),
    ("network: {zones: [eu-west-1a, eu-west-1a]}", "network.zones: eu-west-1a is named twice. Remove one of them."),
    ("ipFamily: ipv6", "ipFamily: ipFamily is unknown here. It belongs to cluster.ipFamily or network.ipFamily."),
    ('network: {podCidr: ""}', "network.podCidr: podCidr is empty. Give it a value, or omit it."),
    (
        "admissionWebhook: {configuration: {events: true}}",
        "admissionWebhook.configuration.events: events is unknown here. Remove it: the webhook's log and metrics say",
    ),
    ("network: {zonalShift: true}", "network.zonalShift: zonalShift is unknown here. It belongs at the top level."),
    ("zonalShift: on", "zonalShift: zonalShift is the string 'on'; it takes true or false. Write true."),
    (
        "addons: {podIdentityAgent: false}",
        "addons.podIdentityAgent: podIdentityAgent is false; it takes a mapping: keys with values below it. Write {en",
    ),
    (
        "fargateProfiles: {jobs: {selectors: {namespace: jobs}}}",
        "fargateProfiles.jobs.selectors: selectors is a mapping; it takes a list. Write it as a list: [{…}].",
    ),
    (
        "fargateProfiles: {jobs: {selectors: [{namespace: }]}}",
        "fargateProfiles.jobs.selectors[0].namespace: namespace is empty. It takes a string; give it one.",
    ),
    (
        "iam: {serviceAccounts: {orders: {}}}",
        "iam.serviceAccounts.orders.namespace: namespace is missing. Add it: the namespace of the service account.",
    ),
    ("network: {zones: [eu-west-1a]}", "network.zones: zones has 1 items. Name at least 2."),
    (
        "autoscaling: {clusterAutoscaler: {priorities: {web: 0}}}",
        "autoscaling.clusterAutoscaler.priorities.web: web is 0; it must be at least 1.",
    ),
]


@pytest.mark.parametrize(("added", "expected"), IN_GROUP, ids=[added for added, _ in IN_GROUP])
def test_a_group_that_is_rejected_says_why(project: Project, added: str, expected: str) -> None:
    lines = project.lines(f"{CONFIG}      {added}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:10 {expected}")


@pytest.mark.parametrize(("added", "expected"), AT_TOP, ids=[added for added, _ in AT_TOP])
def test_a_stack_that_is_rejected_says_why(project: Project, added: str, expected: str) -> None:
    lines = project.lines(f"{CONFIG}  multiarch-eks:{added}\n")
    assert len(lines) == 1
    assert lines[0].startswith(f"Pulumi.shop-dev.yaml:10 {expected}")


def test_a_text_that_other_yaml_takes_for_a_flag_is_a_text(project: Project) -> None:
    assert project.load(f"{CONFIG}      labels: {{tier: on}}\n").spec.node_groups["web"].labels == {"tier": "on"}


def test_a_required_key_without_a_value_can_not_be_omitted(project: Project) -> None:
    (line,) = project.lines(CONFIG.replace('"4711"', '""'))
    assert line.endswith("costCenter: costCenter is empty. Give it a value.")
