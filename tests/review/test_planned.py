"""What the stack files say is found without a preview, by the rules of one: each key of the schema that is a danger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.rebalance.install.objects import build_objects
from multiarch.review import planned
from multiarch.review.difference import compare_stack
from multiarch.review.digest import StackReview, build_digest
from multiarch.review.holdings import is_judged, is_resource
from multiarch.review.model import Preview, StackChange, StackVersion
from multiarch.review.stack_files import list_changed_keys
from multiarch.rules import Risk
from tests.components.declared import world
from tests.stack.test_existing_cluster import on_cluster
from tests.stack.words import TODAY, merged, stack
from tests.stack.words import plan as plan_of

HIGH, MEDIUM, LOW = Risk.HIGH, Risk.MEDIUM, Risk.LOW
ADMIN, READER = "arn:aws:iam::444455556666:role/admin", "arn:aws:iam::111122223333:role/reader"
IMAGE = "registry.example.com/multiarch@sha256:" + "a" * 64
FULL: Mapping[str, Any] = {
    "network": {
        "cidr": "10.1.0.0/16",
        "nat": "per-zone",
        "endpoints": ["ec2", "ecr", "s3"],
        "flowLogs": {"traffic": "ALL", "retentionDays": 90},
    },
    "apiEndpoint": {"public": True, "publicCidrs": ["198.18.0.0/24"]},
    "logging": {"types": ["api", "audit"], "retentionDays": 90},
    "access": {"readers": [READER]},
    "session": {"encrypt": True},
    "deletionProtection": True,
    "iam": {"permissionsBoundary": "arn:aws:iam::111122223333:policy/boundary", "path": "/teams/"},
    "nodeTerminationHandler": True,
    "gpuDevicePlugin": True,
    "efaDevicePlugin": True,
    "storageClass": True,
    "charts": {"registry": "oci://registry.example.com/charts"},
    "nodeGroups": {
        "web": {"instanceTypes": ["m7i.large"], "minSize": 2},
        "own": {"instanceTypes": ["m7i.large"], "kind": "self-managed"},
        "gpu": {"instanceTypes": ["g5g.xlarge"]},
        "near": {"instanceTypes": ["c7gn.16xlarge"], "efa": True},
    },
    "autoscaling": {"use": "karpenter", "migrateFrom": "cluster-autoscaler", "karpenter": {"controllerGroup": "web"}},
    "admissionWebhook": {
        "enabled": True,
        "image": IMAGE,
        "ecrRepositories": ["shop/*"],
        "configuration": {"mode": "observe", "registries": {"allowed": ["docker.io"]}},
    },
    "rebalance": {"enabled": True, "dryRun": True, "namespaces": ["shop"], "ecrRepositories": ["shop/*"]},
}
"""A stack that has everything which a change can weaken."""
IN_AUTO_MODE = {
    "nodeGroups": None,
    "nodeTerminationHandler": None,
    "gpuDevicePlugin": None,
    "efaDevicePlugin": None,
    "autoscaling": {"use": "auto-mode", "migrateFrom": None, "karpenter": None},
    "network": {"ipFamily": "ipv6"},
}
COPIED = dict.fromkeys(("public.ecr.aws", "registry.k8s.io"), "registry.example.com")
ACCOUNT = {"namespace": "shop", "credentials": "irsa", "policies": ["arn:aws:iam::aws:policy/ReadOnlyAccess"]}
WITH_KARPENTER = {
    "network": {"podCidr": "100.64.0.0/16"},
    "fargateProfiles": {"jobs": {"selectors": [{"namespace": "jobs"}]}},
    "iam": {"serviceAccounts": {"orders": ACCOUNT}},
    "charts": {"imageRegistries": COPIED},
}
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
CASES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Risk]]] = {
    "clusterName": ({"clusterName": "other"}, {"replace-stateful": HIGH}),
    "network.cidr": ({"network": {"cidr": "10.2.0.0/16"}}, {"replace-stateful": HIGH, "replace-running": MEDIUM}),
    "iam.permissionsBoundary": ({"iam": {"permissionsBoundary": None}}, {"widen-iam": HIGH}),
    "iam.path": ({"iam": {"path": "/other/"}}, {"replace-stateful": HIGH, "roll-nodes": MEDIUM}),
    "iam.nodePolicies": (
        {"iam": {"nodePolicies": ["arn:aws:iam::aws:policy/AdministratorAccess"]}},
        {"widen-iam": HIGH},
    ),
    "iam.pullThroughRepositories": ({"iam": {"pullThroughRepositories": ["*"]}}, {"widen-iam": HIGH}),
    "upgradePolicy": ({"upgradePolicy": "STANDARD"}, {"change-control-plane": MEDIUM}),
    "network.nat": ({"network": {"nat": "single"}}, {"delete-running": HIGH, "delete-stateful": HIGH}),
    "network.zones": ({"network": {"zones": 3}}, {"roll-nodes": MEDIUM}),
    "network.endpoints": ({"network": {"endpoints": ["ec2", "s3"]}}, {"delete-running": HIGH}),
    "network.flowLogs": ({"network": {"flowLogs": None}}, {"delete-stateful": HIGH, "weaken-logging": MEDIUM}),
    "network.flowLogs.traffic": ({"network": {"flowLogs": {"traffic": "REJECT"}}}, {"weaken-logging": MEDIUM}),
    "network.flowLogs.retentionDays": ({"network": {"flowLogs": {"retentionDays": 7}}}, {"weaken-logging": MEDIUM}),
    "network.vpcId": (
        {"network": {**dict.fromkeys(FULL["network"]), "vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": SUBNETS}},
        {"delete-stateful": HIGH, "replace-stateful": HIGH, "delete-running": HIGH},
    ),
    "apiEndpoint.publicCidrs": ({"apiEndpoint": {"publicCidrs": ["0.0.0.0/0"]}}, {"public-endpoint": HIGH}),
    "secretsEncryption.enabled": (
        {"secretsEncryption": {"enabled": False}},
        {"weaken-encryption": HIGH, "replace-stateful": HIGH},
    ),
    "logging.types": ({"logging": {"types": ["api"]}}, {"weaken-logging": MEDIUM}),
    "logging.types, all": ({"logging": {"types": []}}, {"weaken-logging": MEDIUM, "delete-stateful": HIGH}),
    "access.entries": (
        {"access": {"entries": {"shop": {"principal": ADMIN, "policies": {"AmazonEKSEditPolicy": {}}}}}},
        {"widen-cluster-access": MEDIUM},
    ),
    "access.entries.groups": (
        {"access": {"entries": {"shop": {"principal": ADMIN, "groups": ["shop"]}}}},
        {"widen-cluster-access": MEDIUM},
    ),
    "access.admins": ({"access": {"admins": [ADMIN]}}, {"widen-cluster-access": HIGH}),
    "access.readers": ({"access": {"readers": []}}, {"narrow-permissions": LOW}),
    "addons.enabled": ({"addons": {"ebsCsi": {"enabled": False}}, "storageClass": False}, {"delete-running": HIGH}),
    "addons.vpcCni.networkPolicy": ({"addons": {"vpcCni": {"networkPolicy": False}}}, {"widen-network": HIGH}),
    "addons.vpcCni.version": ({"addons": {"vpcCni": {"version": "v1.21.1-eksbuild.3"}}}, {"change-add-on": LOW}),
    "addons.extra": (
        {"addons": {"extra": {"external-dns": {"statements": [{"actions": ["route53:*"], "resources": ["*"]}]}}}},
        {"widen-iam": HIGH},
    ),
    "session.encrypt": ({"session": {"encrypt": False}}, {"weaken-encryption": HIGH}),
    "session.logToCloudWatch": (
        {"session": {"logToCloudWatch": False}},
        {"weaken-logging": MEDIUM, "delete-stateful": HIGH},
    ),
    "deletionProtection": ({"deletionProtection": False}, {"weaken-protection": HIGH}),
    "nodeTerminationHandler": ({"nodeTerminationHandler": False}, {"delete-running": HIGH}),
    "charts.registry": ({"charts": {"registry": "oci://a.example.com/b"}}, {"change-add-on": MEDIUM}),
    "charts.imageRegistries": (
        {"charts": {"imageRegistries": COPIED}},
        {"change-add-on": MEDIUM},
    ),
    "karpenter.isolatedVPC": (
        {
            "autoscaling": {"karpenter": {"isolatedVPC": True}},
            "charts": {"imageRegistries": {**COPIED, "nvcr.io": "registry.example.com/nvidia"}},
        },
        {"roll-nodes": MEDIUM},
    ),
    "nodeGroups.imdsHopLimit": (
        {"nodeGroups": {"web": {"imdsHopLimit": 2}}},
        {"weaken-metadata-service": HIGH, "roll-nodes": MEDIUM},
    ),
    "karpenter.imdsHopLimit": (
        {"autoscaling": {"karpenter": {"imdsHopLimit": 2}}},
        {"weaken-metadata-service": HIGH, "roll-nodes": MEDIUM},
    ),
    "autoscaling.migrateFrom": (
        {"autoscaling": {"migrateFrom": None}},
        {"swap-autoscaler": MEDIUM, "delete-running": HIGH},
    ),
    "admissionWebhook.enabled": (
        {"admissionWebhook": {"enabled": False}, "rebalance": {"image": IMAGE}},
        {"delete-running": HIGH, "narrow-permissions": LOW},
    ),
    "webhook mode": ({"admissionWebhook": {"configuration": {"mode": "pin"}}}, {"change-webhook": HIGH}),
    "webhook image": (
        {"admissionWebhook": {"image": "docker.io/x:1"}, "rebalance": {"image": IMAGE}},
        {"change-webhook": HIGH},
    ),
    "webhook replicas": ({"admissionWebhook": {"replicas": 3}}, {"change-webhook": LOW}),
    "webhook tolerations": (
        {"admissionWebhook": {"tolerations": [{"operator": "Exists"}]}},
        {"change-webhook": MEDIUM},
    ),
    "rebalance.dryRun": (
        {"rebalance": {"dryRun": False}},
        {"change-rebalance": HIGH, "widen-kubernetes-rbac": HIGH},
    ),
    "rebalance.namespaces": ({"rebalance": {"namespaces": []}}, {"change-rebalance": HIGH, "narrow-permissions": LOW}),
    "rebalance.schedule": ({"rebalance": {"schedule": "0 * * * *"}}, {"change-rebalance": MEDIUM}),
    "rebalance.pullSecrets": ({"rebalance": {"pullSecrets": ["shop/registry"]}}, {"widen-kubernetes-rbac": HIGH}),
    "rebalance.networkPolicy": ({"rebalance": {"networkPolicy": False}}, {"widen-network": HIGH}),
    "rebalance.ecrRepositories": ({"rebalance": {"ecrRepositories": ["*"]}}, {"widen-iam": HIGH}),
}


def version(change: Mapping[str, Any], region: str = "eu-west-1") -> StackVersion:
    made = plan_of(merged(FULL, change), region=region)
    objects = build_objects(made.rebalance, made.stack, made.arm64_taint) if made.rebalance else ()
    values = stack(merged(FULL, change)).spec.model_dump(by_alias=True)
    return StackVersion("Pulumi.shop-dev.yaml", made, objects=tuple(objects), values={"aws:region": region, **values})


def reviewed(old: StackVersion | None, new: StackVersion | None) -> StackReview:
    preview = Preview("shop-dev", "multiarch-eks", "", (), (), (), succeeded=False)
    (found,) = build_digest([StackChange(preview, old, new, TODAY)]).stacks
    return found


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("zonalShift", True, "Write zonalShift: false; EKS rejects the update otherwise."),
        (
            "controlPlaneTier",
            "tier-xl",
            "Write controlPlaneTier: standard; EKS keeps the tier, and bills it, otherwise.",
        ),
    ],
)
def test_a_setting_of_the_control_plane_that_is_only_omitted_stays(key: str, value: object, says: str) -> None:
    entries = reviewed(version({key: value}), version({})).entries
    (found,) = [each for each in entries if each.rule.name == "change-control-plane"]
    assert found.text.startswith(f"{key} {str(value).lower()} → not set: ")
    assert found.text.endswith(says)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"network": {"ipFamily": "ipv6"}}, "network.ipFamily"),
        ({"network": {"serviceCidr": "172.30.0.0/16"}}, "network.serviceCidr"),
        ({"network": {"cidr": "10.2.0.0/16"}}, "network.cidr"),
        ({"iam": {"path": "/other/"}}, "iam.path and iam.roles.cluster"),
    ],
)
def test_what_a_cluster_keeps_for_its_life_is_said_to_be_rejected(
    before: StackVersion, change: dict[str, Any], key: str
) -> None:
    preview = Preview("shop-dev", "multiarch-eks", "", (), (), (), succeeded=False)
    found = compare_stack(StackChange(preview, before, version(change), TODAY))
    text = f"`pulumi preview` rejects this (fixed-value): a cluster keeps {key} for its life"
    assert {each.reasons for each in found.nodes} == {(text,)}
    assert f"{text}." in [each.text for each in found.findings]
    renamed = compare_stack(StackChange(preview, before, version({**change, "clusterName": "other"}), TODAY))
    texts = [each.text for each in renamed.findings if each.subject == "EKS cluster shop-dev"]
    assert texts[0].startswith("It is replaced")


def test_a_line_for_each_changed_key_says_what_changed() -> None:
    def account(**more: str) -> dict[str, Any]:
        statement = {"actions": ["s3:GetObject", "s3:ListBucket"], "resources": ["arn:aws:s3:::orders/*"]}
        return {"iam": {"serviceAccounts": {"orders": {"namespace": "shop", "statements": [statement], **more}}}}

    def compare(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
        preview = Preview("shop-dev", "multiarch-eks", "", (), (), (), succeeded=False)
        return list(list_changed_keys(StackChange(preview, version(old), version(new), TODAY)))

    (line,) = compare(account(), account(credentials="irsa"))
    assert line == "iam.serviceAccounts.orders.credentials: pod-identity → irsa"
    assert compare({}, account()) == ["iam.serviceAccounts.orders: added"]
    assert compare(account(), {}) == ["iam.serviceAccounts.orders: removed"]


def risks(found: StackReview) -> dict[str, Risk]:
    """The highest risk of each rule."""
    entries = sorted(found.entries, key=lambda entry: entry.level)
    return {entry.rule.name: entry.level for entry in entries}


@pytest.fixture(scope="module")
def before() -> StackVersion:
    return version({})


@pytest.mark.parametrize(
    ("change", "risk", "says"),
    [
        ({"existing": "other"}, HIGH, "end in the cluster shop, and start in the cluster other: cluster.existing."),
        ({"subnets": {"eu-west-1a": ["subnet-0123456789abcdef9"]}}, MEDIUM, "Reason: cluster.subnets."),
        ({"securityGroups": ["sg-00000001"]}, MEDIUM, "Reason: cluster.securityGroups."),
    ],
)
def test_another_cluster_and_other_pins_replace_nodes(change: dict[str, Any], risk: Risk, says: str) -> None:
    pool = {"web-arm": {"zones": ["eu-west-1a"]}}
    old, new = (
        StackVersion("Pulumi.shop-dev.yaml", plan_of(on_cluster(cluster=each, nodeGroups=pool)))
        for each in ({}, change)
    )
    found = [each for each in reviewed(old, new).entries if each.rule.name.endswith("-nodes")]
    assert [each.subject for each in found] == ["node group web", "node group web-arm"]
    for each in found:
        assert (each.level, says in " ".join((each.text, *each.details))) == (risk, True)


def test_another_cidr_block_of_pods_replaces_subnets_that_are_in_use() -> None:
    old, new = (version({"network": {"podCidr": each}}) for each in ("100.64.0.0/16", "100.65.0.0/16"))
    found = [each.subject for each in reviewed(old, new).entries if each.rule.name == "replace-running"]
    assert [subject for subject in found if "pods-" in subject] == ["subnet pods-0", "subnet pods-1"]


@pytest.mark.parametrize("key", CASES)
def test_a_danger_in_the_stack_file_is_found_without_a_preview(key: str, before: StackVersion) -> None:
    change, expected = CASES[key]
    found = reviewed(before, version(change))
    assert {name: risk for name, risk in risks(found).items() if name in expected} == expected
    (unseen,) = [entry for entry in found.entries if entry.rule.name == "no-preview"]
    assert unseen.details[0].startswith("Not known without a preview: ")
    assert any(line.startswith("Changed: ") for line in unseen.details)
    assert not any(urn for entry in found.entries for urn in entry.urns)


def test_another_region_replaces_everything(before: StackVersion) -> None:
    found = reviewed(before, version({}, region="eu-central-1"))
    replaced = [each for each in found.entries if each.rule.name == "replace-stateful"]
    (cluster,) = [each for each in replaced if each.subject == "EKS cluster shop-dev"]
    assert "region: eu-west-1 → eu-central-1" in str(cluster.details)


def test_a_new_stack_says_who_reaches_it() -> None:
    found = reviewed(None, version({"apiEndpoint": {"publicCidrs": ["0.0.0.0/0"]}, "access": {"admins": [ADMIN]}}))
    assert {"public-endpoint": HIGH, "widen-cluster-access": HIGH}.items() <= risks(found).items()


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", [WITH_KARPENTER, IN_AUTO_MODE], ids=["karpenter", "auto-mode"])
def test_what_is_planned_is_what_the_components_declare_and_each_type_is_judged(change: Mapping[str, Any]) -> None:
    resources = world(merged(FULL, change)).resources
    types = {each.type for each in resources}
    assert [each for each in sorted(types) if is_resource(each, "") and not is_judged(each)] == []
    declared = {(each.type, each.name): dict(each.inputs) for each in resources}
    unlike = []
    for (type_, name), inputs in planned._declare(version(change)).items():  # noqa: SLF001  (what it stands for)
        # pulumi-eks makes the cluster; of the others, grants alone are compared.
        if not type_.startswith(("aws:eks/cluster:", "aws:eks/accessPolicy", "aws:iam/")):
            real = declared[type_, name]
            differ = {name for name, value in inputs.items() if name != "region" and not is_part(value, real.get(name))}
            unlike += [(type_, name, differ)] if differ else []
    assert unlike == []


def is_part(planned: object, real: object) -> bool:
    """Whether the component declares what is planned, beside other values."""
    planned, real = (
        json.loads(each) if isinstance(each, str) and each[:1] == "{" else each for each in (planned, real)
    )
    if isinstance(planned, Mapping):
        found = real if isinstance(real, Mapping) else {}
        return all(is_part(value, found.get(key)) for key, value in planned.items())
    if isinstance(planned, list):
        return isinstance(real, list) and all(map(is_part, planned, real))
    return planned in (real, UNKNOWN) or (isinstance(real, str) and ("<" in real or "RENDERED" in real))


def test_beside_an_invalid_file_nothing_is_compared(before: StackVersion) -> None:
    bad = StackVersion("Pulumi.shop-dev.yaml", None, "main: team: missing.")
    for old, new in ((before, bad), (bad, before)):
        found = reviewed(old, new)
        assert set(risks(found)) <= {"no-preview", "invalid-stack-file"}
        assert "main: team: missing." in " ".join(entry.message for entry in found.entries)
