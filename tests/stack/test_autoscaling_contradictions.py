"""Each contradiction about autoscaling that is rejected before any AWS call: its rule, its key, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.rules import Severity
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.stack.words import TODAY, Case, check_contradiction, merged, plan, problems

CLONE = Path(__file__).parents[2]
SPOT = {"capacityType": "spot", "instanceTypes": ["m7g.large", "m6g.large"]}
NO_NAT: dict[str, Any] = {
    "network": {
        "nat": "none",
        "endpoints": ["ec2", "ec2messages", "ecr", "eks", "eks-auth", "logs", "s3", "ssm", "ssmmessages", "sts"],
    }
}
PUBLISHERS = ("public.ecr.aws", "registry.k8s.io")
IN_A_VPC = {
    "network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": [f"subnet-0123456789abcdef{n}" for n in (0, 1)]}
}
NO_AGENT = {"addons": {"podIdentityAgent": {"enabled": False}, "ebsCsi": {"enabled": False}}}
# One group that Karpenter's controller can run on, and one that it can't.
KARPENTER: dict[str, Any] = {
    "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
    "autoscaling": {
        "use": "karpenter",
        "karpenter": {"amiAlias": "al2023@v20260715", "nodePools": {"general": {"cpuLimit": 64}}},
    },
}


def copied(region: str = "eu-west-1") -> dict[str, Any]:
    """Copies of the charts' images in Amazon ECR."""
    registry = f"111122223333.dkr.ecr.{region}.amazonaws.com/a"
    return {"charts": {"imageRegistries": dict.fromkeys(PUBLISHERS, registry)}}


def groups(**autoscaling: object) -> dict[str, Any]:
    return {"autoscaling": {"use": "cluster-autoscaler", **autoscaling}}


def priorities(**of: int) -> dict[str, Any]:
    return groups(clusterAutoscaler={"priorities": of})


def karpenter(**words: object) -> dict[str, Any]:
    return merged(KARPENTER, {"autoscaling": {"karpenter": words}})


def pool(**words: object) -> dict[str, Any]:
    return karpenter(nodePools={"general": words})


def auto_mode(use: dict[str, Any] | None = None, **words: object) -> dict[str, Any]:
    return {"nodeGroups": None, "autoscaling": {"use": "auto-mode", "autoMode": words, **(use or {})}}


def in_auto_mode(**pool: object) -> dict[str, Any]:
    return auto_mode(nodePools={"general": pool})


def on(name: str, **group: object) -> dict[str, Any]:
    """The controller on one group, which is changed."""
    return merged(karpenter(controllerGroup=name), {"nodeGroups": {name: group}})


def leaving_karpenter(web: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """On the way to the cluster autoscaler, with other sizes of both groups."""
    words = {"use": "cluster-autoscaler", "migrateFrom": "karpenter", "karpenter": {"controllerGroup": "web"}}
    return merged(KARPENTER, {"nodeGroups": {"web": web, "web-arm": other}, "autoscaling": words})


ROOT, POOL = "autoscaling", "autoscaling.karpenter.nodePools.general"
CONTROLLER = "autoscaling.karpenter.controllerGroup"
ARM_SPOT = {"architectures": ["arm64"], "capacityTypes": ["spot"]}
CASES: list[Case] = [
    ("autoscaler-unreachable", KARPENTER, f"{ROOT}.use", "reachable from within the VPC only"),
    ("priority-names-no-group", priorities(wbe=5), f"{ROOT}.clusterAutoscaler.priorities.wbe", "web, web-arm"),
    ("order-names-no-group", groups(order=["arm64-spot", "arm64-on-demand", "amd64-on-demand"]), f"{ROOT}.order[0]",
     "no node group is arm64-spot. Remove it, or add a group of that"),
    ("prefer-names-no-group", groups(prefer="arm64") | {"nodeGroups": {"web-arm": None}}, f"{ROOT}.prefer",
     "no node group is arm64"),
    ("prefer-and-order", groups(prefer="amd64", order=["amd64-on-demand"]), f"{ROOT}.prefer",
     "prefer: amd64 and order: [amd64-on-demand] are both given"),
    ("migration", {"autoscaling": {"migrateFrom": "karpenter"}}, f"{ROOT}.migrateFrom", "Set use"),
    ("migration-sizes", merged(KARPENTER, {"autoscaling": {"migrateFrom": "cluster-autoscaler"}}),
     "nodeGroups.web-arm.maxSize", "up to 3"),
    ("no-group-can-grow",
     merged(groups(), {"nodeGroups": {"web": {"minSize": 2, "maxSize": 2}, "web-arm": {"minSize": 1, "maxSize": 1}}}),
     f"{ROOT}.use", "minSize equals maxSize in web (2), web-arm (1)"),
    ("migration-no-room", leaving_karpenter(web={"minSize": 2, "maxSize": 2}, other={"minSize": 1, "maxSize": 1}),
     f"{ROOT}.migrateFrom", "no node group can grow"),
    ("migration-architecture", leaving_karpenter(web={"maxSize": 5}, other={"minSize": 1, "maxSize": 1}),
     f"{ROOT}.migrateFrom", "no node group that may grow is arm64"),
    ("autoscaler-not-used", {"autoscaling": {"karpenter": {"diskSize": 60}}}, f"{ROOT}.karpenter", "use is none"),
    ("taint-key-twice", merged(groups(), {"nodeGroups": {"web": {"taints": ["a=b:NoSchedule", "a=b:NoExecute"]}}}),
     "nodeGroups.web.taints", "a tag"),
    ("weight-tie",
     karpenter(nodePools={"a": {**ARM_SPOT, "weight": 40, "cpuLimit": 1}, "b": {**ARM_SPOT, "weight": 40},
                          "general": None}),
     f"{ROOT}.karpenter.nodePools.b.weight", "also that of a"),
    ("weight-of-several", pool(weight=40), f"{POOL}.weight", "several pools"),
    ("no-instance-type", pool(families=["m7i"]), f"{POOL}.families",
     "general-arm64-spot and general-arm64-on-demand: instance-family In m7i excludes all"),
    ("instance-type-unused", pool(instanceTypes=["m7g.large", "m7i.large", "a1.large"]), f"{POOL}.instanceTypes[2]",
     "Graviton2"),
    ("unknown-selection", pool(families=["m7gg"]), f"{POOL}.families[0]", "m7g"),
    ("selection-twice", pool(families=["m7g"], categories=["m"]), f"{POOL}.families", "categories"),
    ("pool-not-in-order", merged(pool(**ARM_SPOT), {"autoscaling": {"order": ["amd64-on-demand"]}}), POOL,
     "none of which is in autoscaling.order"),
    ("not-valid", karpenter(nodePools={"General_1": {}, "general": None}), f"{ROOT}.karpenter.nodePools.General_1",
     "lower-case"),
    ("pool-without-limit", pool(cpuLimit=None), POOL, "cost"),
    ("schedule", pool(quietHours={"schedule": "0 25 * * *", "duration": "8h"}), f"{POOL}.quietHours.schedule",
     "bad hour"),
    ("duration", pool(quietHours={"schedule": "0 0 * * *", "duration": "8 hours"}), f"{POOL}.quietHours.duration",
     "10h"),
    ("duration", pool(quietHours={"schedule": "0 */8 * * *", "duration": "8h"}), f"{POOL}.quietHours.duration",
     "never end"),
    ("limit-below-every-type", pool(cpuLimit=1, families=["m7i", "m7g"]), f"{POOL}.cpuLimit", "2 vCPUs"),
    ("zone", pool(zones=["us-east-1a"]), f"{POOL}.zones[0]", "eu-west-1"),
    ("not-valid", pool(budget="110%"), f"{POOL}.budget", "10%"),
    ("quantity", pool(memoryLimit="512GB"), f"{POOL}.memoryLimit", "512Gi"),
    ("restricted-label", pool(labels={"kubernetes.io/arch": "arm64"}), f"{POOL}.labels.kubernetes.io/arch", "override"),
    ("karpenter-version", karpenter(version="1.8.2"), f"{ROOT}.karpenter.version", "needs 1.9 or later"),
    ("karpenter-version", karpenter(version="1.10.0", placementGroup="near"), f"{ROOT}.karpenter.version",
     "no field for placementGroup"),
    ("karpenter-version", karpenter(version="1.15.0"), f"{ROOT}.karpenter.version", "policies"),
    ("ami-alias", karpenter(amiAlias="al2023"), f"{ROOT}.karpenter.amiAlias", "al2023@v20260715"),
    ("ami-not-pinned", karpenter(amiAlias="al2023@latest"),
     f"nodeGroups.web, nodeGroups.web-arm, {ROOT}.karpenter.amiAlias", "replaces its nodes"),
    ("controller-group", karpenter(controllerGroup="nowhere"), CONTROLLER, "to run Karpenter's controller"),
    ("controller-group", on("web-arm", minSize=0), CONTROLLER, "It can run on web"),
    ("controller-nowhere", merged(KARPENTER, {"nodeGroups": {"web": {"minSize": 0}}}), CONTROLLER,
     "web starts without nodes"),
    ("controller-single-node", on("web", minSize=1), CONTROLLER, "Raise its minSize"),
    ("autoscaler-no-way-out", merged(KARPENTER, NO_NAT), "charts.imageRegistries", "image comes from public.ecr.aws"),
    ("autoscaler-no-way-out", merged(merged(KARPENTER, NO_NAT), copied("eu-central-1")),
     "charts.imageRegistries.public.ecr.aws", "Amazon ECR of eu-west-1 only"),
    ("autoscaler-no-way-out", merged(merged(karpenter(isolatedVPC=False), NO_NAT), copied()),
     "autoscaling.karpenter.isolatedVPC", "IAM"),
    ("karpenter-version", merged(karpenter(isolatedVPC=True, version="1.8.2"), {"kubernetesVersion": "1.34"}),
     "autoscaling.karpenter.version", "calls IAM"),
    ("no-way-out", merged(KARPENTER, NO_NAT), "network.endpoints", "can't reach sqs"),
    ("pod-identity-agent", merged(KARPENTER, NO_AGENT), "addons.podIdentityAgent.enabled", "karpenter would"),
    ("schedule", pool(quietHours={"schedule": f"*/{'1' * 5000} * * * *", "duration": "1h"}),
     f"{POOL}.quietHours.schedule", "not a cron schedule"),
    ("duration", pool(expireAfter=f"{'1' * 5000}h"), f"{POOL}.expireAfter", "nor Never"),
    ("duration", pool(consolidateAfter="2562048h"), f"{POOL}.consolidateAfter", "neither a duration"),
    ("not-valid", karpenter(version=f"1.{'1' * 5000}.1"), f"{ROOT}.karpenter.version", "1.14.1"),
    ("driver-too-old", pool(families=["g6", "g7"]), f"{ROOT}.karpenter.amiAlias", "not in v20260715"),
    ("group-stays-empty", KARPENTER, "nodeGroups.web-arm.minSize", "web-arm starts without nodes"),
    ("group-of-several-zones", groups(), "nodeGroups.web", "web, web-arm"),
    ("auto-mode-access", auto_mode() | {"cluster": {"existing": "shop", "authenticationMode": "CONFIG_MAP"}},
     "cluster.authenticationMode", "which shop does not take"),
    ("auto-mode-addon", auto_mode() | {"addons": {"vpcCni": {"prefixDelegation": True}}}, "addons.vpcCni",
     "do without it"),
    ("pod-identity-agent", {"autoscaling": {"use": "auto-mode"}, "addons": {"podIdentityAgent": {"enabled": False}}},
     "addons.podIdentityAgent.enabled", "aws-ebs-csi-driver would"),
    ("pod-identity-agent",
     auto_mode() | {"multiArchitectureGroups": {"any": {"instanceTypes": {"amd64": ["m7i.large"],
                                                                         "arm64": ["m7g.large"]}}},
                    "addons": {"podIdentityAgent": {"enabled": False}}},
     "addons.podIdentityAgent.enabled", "aws-ebs-csi-driver would"),
    ("auto-mode-lifetime", in_auto_mode(expireAfter="481h"), "autoscaling.autoMode.nodePools.general.expireAfter",
     "expireAfter 481h and terminationGracePeriod 24h"),
    ("node-role", auto_mode(nodeRole="nodes"), "autoscaling.autoMode.nodeRole", "of a new cluster"),
    ("auto-mode-session", auto_mode() | {"session": {"idleTimeoutMinutes": 5}}, "session", "neither SSM nor SSH"),
    ("instance-type-unused", in_auto_mode(instanceTypes=["m7g.large", "m7g.medium"], architectures=["arm64"]),
     "autoscaling.autoMode.nodePools.general.instanceTypes[1]", "no type as small as m7g.medium"),
    ("no-instance-type", in_auto_mode(families=["m9g"], architectures=["arm64"]),
     "autoscaling.autoMode.nodePools.general.families", "instance-family In m9g"),
    ("migration", auto_mode({"migrateFrom": "karpenter"}), "autoscaling.migrateFrom", "to EKS Auto Mode"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_named_with_its_key_and_the_fix(case: Case) -> None:
    check_contradiction(*case)


SECTIONS = {
    "session": ("idleTimeoutMinutes: 5", "auto-mode-session"),
    "admissionWebhook": ("image: a.example.com/b:1", "webhook-not-used"),
    "rebalance": ("image: a.example.com/b:1", "rebalance-not-used"),
}


@pytest.mark.parametrize("written", [False, True])
def test_a_section_without_effect_is_named_where_the_stack_file_has_it(tmp_path: Path, *, written: bool) -> None:
    project = tmp_path / "Pulumi.yaml"
    defaults = "".join(f"      {name}: {{{setting}}}\n" for name, (setting, _) in SECTIONS.items())
    project.write_text((CLONE / "Pulumi.yaml").read_text("utf-8").partition("      session:")[0] + defaults, "utf-8")
    own = "".join(f"  multiarch-eks:{name}: {{{setting}}}\n" for name, (setting, _) in SECTIONS.items() if written)
    words = "config:\n  aws:region: eu-west-1\n  multiarch-eks:autoscaling: {use: auto-mode}\n" + own
    for key, value in {"team": "shop", "environment": "dev", "owner": "a@example.com", "costCenter": '"1"'}.items():
        words += f"  multiarch-eks:{key}: {value}\n"
    loaded = load_file(Path("Pulumi.shop-dev.yaml"), project_file=project, text=words)
    assert loaded.spec.session.written, "the project has it for all stacks"
    found = {each.rule for each in make_plan(loaded, today=TODAY).warnings}
    assert found & {rule for _, rule in SECTIONS.values()} == {rule for _, rule in SECTIONS.values() if written}


@pytest.mark.parametrize(
    "words",
    [
        KARPENTER["autoscaling"],
        {"use": "cluster-autoscaler", "migrateFrom": "karpenter"},
    ],
)
def test_a_stack_without_node_groups_is_rejected_for_that_alone(words: dict[str, Any]) -> None:
    found = problems({"nodeGroups": {"web": None, "web-arm": None}, "autoscaling": words})
    [rejected] = [p for p in found if p.severity is Severity.ERROR]
    assert (rejected.rule, rejected.key) == ("no-node-groups", "nodeGroups")
    assert rejected.hint == "Add one: nodeGroups: {NAME: {instanceTypes: [...], minSize: 2}}."


def test_a_sound_stack_of_either_autoscaler_has_nothing_but_unpinned_images() -> None:
    reachable = IN_A_VPC
    assert {p.rule for p in plan(groups() | reachable).warnings} == {"ami-not-pinned"}
    alone = {**KARPENTER, "nodeGroups": {"web": {"minSize": 2}, "web-arm": None}}
    assert {p.rule for p in plan({**alone, **reachable}).warnings} == {"ami-not-pinned"}


@pytest.mark.parametrize(
    "words", [copied(), {"registryMirrors": {each: ["https://mirror.example.com"] for each in PUBLISHERS}}]
)
@pytest.mark.parametrize("use", [KARPENTER, groups()])
def test_an_autoscaler_without_internet_access_takes_its_image_from_a_registry_in_reach(
    use: dict[str, Any], words: dict[str, Any]
) -> None:
    more = {"network": {"endpoints": [*NO_NAT["network"]["endpoints"], "autoscaling", "sqs"]}}
    found = plan(merged(merged(merged(use, NO_NAT), more), words))
    karpenter = found.autoscaling.karpenter
    assert karpenter is None or karpenter.isolated
    assert plan(KARPENTER).autoscaling.karpenter.isolated is False  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        # EKS takes no maxSize below 1, so that is as good as closed.
        ({"web-arm": {"minSize": 0, "maxSize": 1}}, set()),
        ({"web-arm": {"minSize": 2, "maxSize": 2}}, set()),
        ({"web-arm": {"minSize": 0, "maxSize": 2}}, {"migration-sizes"}),
        # The controller's group stays, and may grow.
        ({"web": {"maxSize": 9}, "web-arm": {"maxSize": 1}}, set()),
    ],
)
def test_groups_that_are_left_are_closed_by_their_sizes(change: dict[str, Any], rules: set[str]) -> None:
    words = merged(KARPENTER, {"nodeGroups": change, "autoscaling": {"migrateFrom": "cluster-autoscaler"}})
    named = merged(words, {"autoscaling": {"karpenter": {"controllerGroup": "web"}}})
    assert {p.rule for p in plan(named).warnings if p.rule.startswith("migration")} == rules


def test_a_stack_of_both_autoscalers_says_which_one_it_leaves() -> None:
    both = merged(KARPENTER, {"autoscaling": {"clusterAutoscaler": {"scaleDownUnneededMinutes": 5}}})
    [idle] = [p for p in plan(both).warnings if p.rule == "autoscaler-not-used"]
    assert idle.key == f"{ROOT}.clusterAutoscaler"
    assert plan(both).autoscaling.cluster_autoscaler is None
    assert plan(merged(both, {"autoscaling": {"migrateFrom": "cluster-autoscaler"}})).autoscaling.cluster_autoscaler


def test_settings_of_an_absent_autoscaler_are_not_checked_further() -> None:
    change = {"autoscaling": {"karpenter": {"amiAlias": "al2@latest"}}}
    assert {p.rule for p in plan(change).warnings} == {"ami-not-pinned", "autoscaler-not-used"}


@pytest.mark.parametrize(
    "words", [{"use": "cluster-autoscaler"}, {"use": "karpenter", "migrateFrom": "cluster-autoscaler"}]
)
def test_a_group_that_starts_without_nodes_is_fine_where_the_cluster_autoscaler_runs(words: dict[str, Any]) -> None:
    change = merged(KARPENTER, {"autoscaling": {**words, "karpenter": {"controllerGroup": "web"}}})
    assert "group-stays-empty" not in {p.rule for p in problems(change)}


@pytest.mark.parametrize(
    "change",
    [
        {"nodeGroups": {"web": {"onePerZone": False}, "web-arm": {"onePerZone": False}}},
        {"nodeGroups": {"web": {"onePerZone": True}, "web-arm": {"zones": ["eu-west-1a"]}}},
        {"nodeGroups": {"web": {"minSize": 3}, "web-arm": {"onePerZone": True}}},
        {"autoscaling": {"use": "none"}},
    ],
)
def test_a_decision_about_zones_ends_the_warning_about_them(change: dict[str, Any]) -> None:
    named = merged(groups(), {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}})
    assert "group-of-several-zones" not in {p.rule for p in problems(merged(named, change))}


@pytest.mark.parametrize("zone", ["eu-west-1c", "eu-west-1-lhr-1a", "eu-west-1-wl1-lhr-wlz-1"])
def test_a_pool_takes_zones_of_the_region_local_ones_too(zone: str) -> None:
    assert "zone" not in {p.rule for p in problems(pool(zones=[zone]))}
