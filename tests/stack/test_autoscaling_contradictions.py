"""Each contradiction about autoscaling that is rejected before any AWS call: its rule, its key, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import StackError
from multiarch.rules import Severity
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from tests.stack.files import CONFIG, Project
from tests.stack.words import TODAY, merged, plan, problems

CLONE = Path(__file__).parents[2]
ERROR, WARNING = Severity.ERROR, Severity.WARNING
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
UNPINNED = {("ami-not-pinned", "nodeGroups.web"), ("ami-not-pinned", "nodeGroups.web-arm")}
CASES: list[tuple[str, dict[str, Any], str, str, Severity]] = [
    ("autoscaler-unreachable", KARPENTER, f"{ROOT}.use", "reachable from within the VPC only", WARNING),
    ("priority-names-no-group", priorities(wbe=5), f"{ROOT}.clusterAutoscaler.priorities.wbe", "web, web-arm", ERROR),
    ("order-names-no-group", groups(order=["arm64-spot", "arm64-on-demand", "amd64-on-demand"]), f"{ROOT}.order[0]",
     "no node group is arm64-spot. Remove it, or add a group of that", ERROR),
    ("order-names-no-group",
     merged(pool(capacityTypes=["on-demand"]), {"autoscaling": {"order": ["arm64-spot", "arm64-on-demand"]}}),
     f"{ROOT}.order[0]", "no NodePool is arm64-spot. Remove it, or let a pool buy it by its", ERROR),
    ("prefer-names-no-group", groups(prefer="arm64") | {"nodeGroups": {"web-arm": None}}, f"{ROOT}.prefer",
     "no node group is arm64", ERROR),
    ("prefer-names-no-group", merged(pool(architectures=["amd64"]), {"autoscaling": {"prefer": "arm64"}}),
     f"{ROOT}.prefer", "no NodePool is arm64", ERROR),
    ("prefer-and-order", groups(prefer="amd64", order=["amd64-on-demand"]), f"{ROOT}.prefer",
     "prefer: amd64 and order: [amd64-on-demand] are both given", ERROR),
    ("migration", {"autoscaling": {"migrateFrom": "karpenter"}}, f"{ROOT}.migrateFrom", "Set use", ERROR),
    ("migration", groups(migrateFrom="cluster-autoscaler"), f"{ROOT}.migrateFrom", "can't replace itself", ERROR),
    ("migration-sizes", merged(KARPENTER, {"autoscaling": {"migrateFrom": "cluster-autoscaler"}}),
     "nodeGroups.web-arm.maxSize", "up to 3", WARNING),
    ("no-group-can-grow",
     merged(groups(), {"nodeGroups": {"web": {"minSize": 2, "maxSize": 2}, "web-arm": {"minSize": 1, "maxSize": 1}}}),
     f"{ROOT}.use", "minSize equals maxSize in web (2), web-arm (1)", WARNING),
    ("migration-no-room", leaving_karpenter(web={"minSize": 2, "maxSize": 2}, other={"minSize": 1, "maxSize": 1}),
     f"{ROOT}.migrateFrom", "no node group can grow", ERROR),
    ("migration-architecture", leaving_karpenter(web={"maxSize": 5}, other={"minSize": 1, "maxSize": 1}),
     f"{ROOT}.migrateFrom", "no node group that may grow is arm64", WARNING),
    ("migration-architecture",
     merged(pool(architectures=["amd64"]), {"autoscaling": {"migrateFrom": "cluster-autoscaler"}}),
     f"{ROOT}.migrateFrom", "no NodePool is arm64", WARNING),
    ("autoscaler-not-used", {"autoscaling": {"karpenter": {"diskSize": 60}}}, f"{ROOT}.karpenter", "use is none",
     WARNING),
    ("taint-key-twice",
     merged(groups(), {"nodeGroups": {"web": {"taints": ["a=b:NoSchedule", "a=b:NoExecute"]}}}),
     "nodeGroups.web.taints", "a tag", ERROR),
    ("weight-tie",
     karpenter(nodePools={"a": {**ARM_SPOT, "weight": 40, "cpuLimit": 1}, "b": {**ARM_SPOT, "weight": 40},
                          "general": None}),
     f"{ROOT}.karpenter.nodePools.b.weight", "also that of a", ERROR),
    ("weight-of-several", pool(weight=40), f"{POOL}.weight", "several pools", ERROR),
    ("no-instance-type", pool(families=["m7i"]), f"{POOL}.families",
     "general-arm64-spot and general-arm64-on-demand: instance-family In m7i excludes all", ERROR),
    ("no-instance-type", pool(families=["m7g"], architectures=["arm64"], sizes=["112xlarge"]), f"{POOL}.sizes",
     "instance-size In 112xlarge", ERROR),
    ("instance-type-unused", pool(instanceTypes=["m7g.large", "m7i.large", "a1.large"]), f"{POOL}.instanceTypes[2]",
     "Graviton2", WARNING),
    ("instance-type-unused", pool(instanceTypes=["m7g.large", "m7i.large"], architectures=["arm64"]),
     f"{POOL}.instanceTypes[1]", "amd64", WARNING),
    ("unknown-instance-type", pool(instanceTypes=["m7g.larg"]), f"{POOL}.instanceTypes[0]", "m7g.large", ERROR),
    ("unknown-selection", pool(families=["m7gg"]), f"{POOL}.families[0]", "m7g", ERROR),
    ("selection-twice", pool(families=["m7g"], categories=["m"]), f"{POOL}.families", "categories", ERROR),
    ("selection-twice", pool(instanceTypes=["m7g.large"], sizes=["large"]), f"{POOL}.instanceTypes", "sizes", ERROR),
    ("pool-not-in-order", merged(pool(**ARM_SPOT), {"autoscaling": {"order": ["amd64-on-demand"]}}), POOL,
     "none of which is in autoscaling.order", ERROR),
    ("pool-name", karpenter(nodePools={"General_1": {}, "general": None}), f"{ROOT}.karpenter.nodePools.General_1",
     "lower-case", ERROR),
    ("pool-name", karpenter(nodePools={"g" * 48: {}, "general": None}), f"{ROOT}.karpenter.nodePools.{'g' * 48}",
     "47 fit", ERROR),
    ("pool-without-limit", pool(cpuLimit=None), POOL, "cost", WARNING),
    ("schedule", pool(quietHours={"schedule": "0 25 * * *", "duration": "8h"}), f"{POOL}.quietHours.schedule",
     "bad hour", ERROR),
    ("duration", pool(quietHours={"schedule": "0 0 * * *", "duration": "8 hours"}), f"{POOL}.quietHours.duration",
     "10h", ERROR),
    ("limit-below-every-type", pool(cpuLimit=1, families=["m7i", "m7g"]), f"{POOL}.cpuLimit", "2 vCPUs",
     ERROR),
    ("limit-below-every-type", pool(memoryLimit="1Gi"), f"{POOL}.memoryLimit", "smaller types", ERROR),
    ("quantity", pool(memoryLimit="99999E"), f"{POOL}.memoryLimit", "is too large", ERROR),
    ("zone", pool(zones=["us-east-1a"]), f"{POOL}.zones[0]", "eu-west-1", ERROR),
    ("budget", pool(budget="110%"), f"{POOL}.budget", "10%", ERROR),
    ("quantity", pool(memoryLimit="512GB"), f"{POOL}.memoryLimit", "512Gi", ERROR),
    ("restricted-label", pool(labels={"karpenter.sh/x": "1"}), f"{POOL}.labels.karpenter.sh/x", "own domain", ERROR),
    ("restricted-label", pool(labels={"kubernetes.io/arch": "arm64"}), f"{POOL}.labels.kubernetes.io/arch",
     "override", ERROR),
    ("label-value", pool(labels={"tier": "a b"}), f"{POOL}.labels.tier", "a b", ERROR),
    ("duplicate-taint", pool(taints=["arch=arm64:NoSchedule"]), f"{POOL}.taints[0]", "added automatically", ERROR),
    ("taint", pool(taints=["dedicated=batch"]), f"{POOL}.taints[0]", "effect", ERROR),
    ("zone-not-in-network",
     merged(pool(zones=["eu-west-1c"]), {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}}), f"{POOL}.zones[0]",
     "eu-west-1a, eu-west-1b", ERROR),
    ("karpenter-version", karpenter(version="1.8.2"), f"{ROOT}.karpenter.version", "needs 1.9 or later", ERROR),
    ("karpenter-version", karpenter(version="1.10.0", placementGroup="near"), f"{ROOT}.karpenter.version",
     "no field for placementGroup", ERROR),
    ("karpenter-version", karpenter(version="1.15.0"), f"{ROOT}.karpenter.version", "policies", ERROR),
    ("al2-too-new", karpenter(amiAlias="al2@v20250701"), f"{ROOT}.karpenter.amiAlias", "1.32 is the last", ERROR),
    ("ami-alias", karpenter(amiAlias="al2023"), f"{ROOT}.karpenter.amiAlias", "al2023@v20260715", ERROR),
    ("ami-alias", karpenter(amiAlias="windows2022@latest"), f"{ROOT}.karpenter.amiAlias", "known are", ERROR),
    ("ami-not-pinned", karpenter(amiAlias="al2023@latest"), f"{ROOT}.karpenter.amiAlias", "replaces its nodes",
     WARNING),
    ("ami-not-pinned", karpenter(amiAlias=None), f"{ROOT}.karpenter.amiAlias", "al2023@latest", WARNING),
    ("controller-group", karpenter(controllerGroup="nowhere"), CONTROLLER, "to run Karpenter's controller", ERROR),
    ("controller-group", on("web", kind="self-managed"), CONTROLLER, "self-managed", ERROR),
    ("controller-group", on("web-arm", minSize=0), CONTROLLER, "It can run on web", ERROR),
    ("controller-nowhere", merged(KARPENTER, {"nodeGroups": {"web": {"minSize": 0}}}), CONTROLLER,
     "web starts without nodes", ERROR),
    ("controller-single-node", on("web", minSize=1), CONTROLLER, "Raise its minSize", WARNING),
    ("controller-nowhere", merged(KARPENTER, {"nodeGroups": {"web": SPOT, "web-arm": SPOT}}), CONTROLLER,
     "web is spot capacity", ERROR),
    ("autoscaler-no-way-out", merged(KARPENTER, NO_NAT), "charts.imageRegistries",
     "image comes from public.ecr.aws", ERROR),
    ("autoscaler-no-way-out", merged(groups(), NO_NAT), "charts.imageRegistries", "registry.k8s.io: HOST/PATH", ERROR),
    ("autoscaler-no-way-out", merged(karpenter(isolatedVPC=True), IN_A_VPC), "charts.imageRegistries",
     "image comes from public.ecr.aws", ERROR),
    ("autoscaler-no-way-out", merged(merged(KARPENTER, NO_NAT), copied("eu-central-1")),
     "charts.imageRegistries.public.ecr.aws", "Amazon ECR of eu-west-1 only", ERROR),
    ("autoscaler-no-way-out", merged(merged(karpenter(isolatedVPC=False), NO_NAT), copied()),
     "autoscaling.karpenter.isolatedVPC", "IAM", ERROR),
    ("karpenter-version", merged(karpenter(isolatedVPC=True, version="1.8.2"), {"kubernetesVersion": "1.34"}),
     "autoscaling.karpenter.version", "calls IAM", ERROR),
    ("no-way-out", merged(KARPENTER, NO_NAT), "network.endpoints", "can't reach sqs", ERROR),
    ("no-way-out", merged(groups(), NO_NAT), "network.endpoints", "can't reach autoscaling", ERROR),
    ("autoscaler-without-role", merged(KARPENTER, NO_AGENT), "addons.podIdentityAgent.enabled", "karpenter would",
     ERROR),
    ("autoscaler-without-role",
     merged(merged(KARPENTER, NO_AGENT), {"autoscaling": {"migrateFrom": "cluster-autoscaler"}}),
     "addons.podIdentityAgent.enabled", "cluster-autoscaler and karpenter would", ERROR),
    ("zone", pool(zones=["eu-west-1-"]), f"{POOL}.zones[0]", "eu-west-1a", ERROR),
    ("zone", pool(zones=["eu-west-\N{ARABIC-INDIC DIGIT ONE}a"]), f"{POOL}.zones[0]", "availability zone", ERROR),
    ("schedule", pool(quietHours={"schedule": "*/\N{ARABIC-INDIC DIGIT TWO} * * * *", "duration": "1h"}),
     f"{POOL}.quietHours.schedule", "not a cron schedule", ERROR),
    ("schedule", pool(quietHours={"schedule": f"*/{'1' * 5000} * * * *", "duration": "1h"}),
     f"{POOL}.quietHours.schedule", "not a cron schedule", ERROR),
    ("duration", pool(quietHours={"schedule": "0 8 * * *", "duration": f"{'1' * 5000}h"}),
     f"{POOL}.quietHours.duration", "not a duration", ERROR),
    ("duration", pool(expireAfter=f"{'1' * 5000}h"), f"{POOL}.expireAfter", "nor Never", ERROR),
    ("duration", pool(consolidateAfter="2562048h"), f"{POOL}.consolidateAfter", "neither a duration", ERROR),
    ("karpenter-version", karpenter(version=f"1.{'1' * 5000}.1"), f"{ROOT}.karpenter.version", "1.14.1", ERROR),
    ("imds-hop-limit", karpenter(imdsHopLimit=2), f"{ROOT}.karpenter.imdsHopLimit", "role of their node", WARNING),
    ("driver-too-old", pool(families=["g6", "g7"]), f"{ROOT}.karpenter.amiAlias", "not in v20260715", ERROR),
    ("driver-too-old",
     {**karpenter(amiAlias="al2023@v20260224", nodePools={"a": {"families": ["c7gn"]}}), "efaDevicePlugin": True},
     f"{ROOT}.karpenter.amiAlias", "since release 20260505", ERROR),
    ("group-stays-empty", KARPENTER, "nodeGroups.web-arm.minSize", "web-arm starts without nodes", WARNING),
    ("group-stays-empty", {"nodeGroups": {"web-arm": {"minSize": 0}}}, "nodeGroups.web-arm.minSize",
     "autoscaling.use none never adds one", WARNING),
    ("group-of-several-zones", groups(), "nodeGroups.web", "web, web-arm", WARNING),
    ("group-of-several-zones", merged(groups(), {"nodeGroups": {"web": {"onePerZone": False}}}), "nodeGroups.web-arm",
     "several zones: web-arm.", WARNING),
    ("auto-mode-access", auto_mode() | {"cluster": {"existing": "shop", "authenticationMode": "CONFIG_MAP"}},
     "cluster.authenticationMode", "which shop does not take", ERROR),
    ("auto-mode-addon", auto_mode() | {"addons": {"vpcCni": {"prefixDelegation": True}}}, "addons.vpcCni",
     "do without it", WARNING),
    ("auto-mode-lifetime", in_auto_mode(expireAfter="481h"), "autoscaling.autoMode.nodePools.general.expireAfter",
     "expireAfter 481h and terminationGracePeriod 24h", ERROR),
    ("auto-mode-lifetime", in_auto_mode(expireAfter="Never"), "autoscaling.autoMode.nodePools.general.expireAfter",
     "21 days", ERROR),
    ("auto-mode-lifetime", in_auto_mode(terminationGracePeriod="200h"),
     "autoscaling.autoMode.nodePools.general.expireAfter", "336h and terminationGracePeriod 200h", ERROR),
    ("node-role", auto_mode(nodeRole="nodes"), "autoscaling.autoMode.nodeRole", "of a new cluster", ERROR),
    ("auto-mode-session", auto_mode() | {"session": {"idleTimeoutMinutes": 5}}, "session", "neither SSM nor SSH",
     WARNING),
    ("autoscaler-not-used", {"autoscaling": {"autoMode": {"nodePools": {"general": {}}}}}, "autoscaling.autoMode",
     "no effect while autoscaling.use is none", WARNING),
    ("instance-type-unused", in_auto_mode(instanceTypes=["m7g.large", "m7g.medium"], architectures=["arm64"]),
     "autoscaling.autoMode.nodePools.general.instanceTypes[1]", "no type as small as m7g.medium", WARNING),
    ("no-instance-type", in_auto_mode(families=["m9g"], architectures=["arm64"]),
     "autoscaling.autoMode.nodePools.general.families", "instance-family In m9g", ERROR),
    ("migration", auto_mode({"migrateFrom": "karpenter"}), "autoscaling.migrateFrom", "to EKS Auto Mode", ERROR),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "change", "key", "says", "severity"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_contradiction_is_named_with_its_key_and_the_fix(
    rule: str, change: dict[str, Any], key: str, says: str, severity: Severity
) -> None:
    found = [p for p in problems(change) if (p.rule, p.key) not in UNPINNED and p.rule == rule]
    assert [p.key for p in found] == [key], [str(p) for p in problems(change)]
    assert found[0].severity is severity
    assert says in str(found[0])
    assert found[0].hint


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
        karpenter(controllerGroup="web")["autoscaling"],
        {"use": "cluster-autoscaler", "migrateFrom": "karpenter"},
        {"use": "karpenter", "migrateFrom": "cluster-autoscaler"},
    ],
)
def test_a_stack_without_node_groups_is_rejected_for_that_alone(words: dict[str, Any]) -> None:
    found = problems({"nodeGroups": {"web": None, "web-arm": None}, "autoscaling": words})
    [rejected] = [p for p in found if p.severity is ERROR]
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


def test_one_group_that_may_grow_is_enough_for_the_cluster_autoscaler() -> None:
    words = merged(groups(), {"nodeGroups": {"web": {"minSize": 2, "maxSize": 2}}})
    assert "no-group-can-grow" not in {p.rule for p in plan(words).warnings}


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
    ("words", "says"),
    [
        ("{use: karpenter, karpenter: {nodePools: {a: {weight: 101}}}}", "weight"),
        ("{use: karpenter, karpenter: {nodePools: {a: {weight: 0}}}}", "weight"),
        ("{use: karpentr}", "karpenter"),
        ("{use: [cluster-autoscaler, karpenter]}", "use"),
        ("{use: karpenter, migrateFrom: none}", "migrateFrom"),
        ("{order: [arm64]}", "arm64-spot"),
    ],
)
def test_numbers_and_words_out_of_range_are_rejected_with_file_and_line(
    project: Project, words: str, says: str
) -> None:
    lines = project.lines(f"{CONFIG}  multiarch-eks:autoscaling: {words}\n")
    assert len(lines) == 1
    assert lines[0].startswith("Pulumi.shop-dev.yaml:10 autoscaling.")
    assert says in lines[0]


def test_every_fault_of_a_pool_is_found_at_once() -> None:
    with pytest.raises(StackError) as rejected:
        plan(pool(budget="x", expireAfter="x", families=["m7i", "nope"]))
    rules = {p.rule for p in rejected.value.problems if p.severity is ERROR}
    assert {"budget", "duration", "unknown-selection", "no-instance-type"} <= rules


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


def test_amazon_linux_2_of_the_whole_stack_is_one_message() -> None:
    found = [p for p in problems({"amiFamily": "AL2"} | karpenter(amiAlias=None)) if p.severity is ERROR]
    assert [(p.rule, p.key) for p in found] == [("al2-too-new", "amiFamily")]
