"""What holds for the platform as a whole: tags, no way in but SSM, the order of coming and going."""

from __future__ import annotations

import importlib
import json
import re
from functools import cache

from components.aws.fargate import _name
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.schema.fargate import FargateProfile
from tests.components import autoscaled, declared
from tests.components.declared import World, goes_before, list_outliving, walk, world
from tests.quotations import ROOT

SSH = 22
KEYS_AND_SSH = {"keyName", "keyPair", "publicKey", "remoteAccess", "ec2SshKey", "nodePublicKey"}


@cache
def takes_tags(type_: str) -> bool:
    """Whether the AWS SDK's class for a type has tags, looked up there and not in a list of ours."""
    module, _, name = type_.removeprefix("aws:").partition(":")
    package = importlib.import_module(f"pulumi_aws.{module.partition('/')[0]}")
    return hasattr(getattr(package, name), "tags")


def tags_of(resource: DeclaredResource) -> dict[str, object]:
    found = resource.inputs.get("tags", {})
    if isinstance(found, list):
        return {tag["key"]: tag["value"] for tag in found}
    assert isinstance(found, dict)
    return found


def test_every_taggable_resource_has_all_tags_and_a_name(full: World, migrating: World) -> None:
    kinds = {autoscaled.QUEUE, autoscaled.RULE, autoscaled.POLICY, autoscaled.ASSOCIATION}
    for found, expected in ((full, {declared.VPC, declared.ROLE}), (migrating, kinds)):
        taggable = [r for r in found.resources if r.type.startswith("aws:") and takes_tags(r.type)]
        taggable.append(found.one(declared.CLUSTER))
        assert expected <= {resource.type for resource in taggable}
        for resource in taggable:
            tags = tags_of(resource)
            assert dict(found.plan.tags).items() <= tags.items(), resource.urn
            assert str(tags["Name"]).startswith("shop-dev"), resource.urn


def opens_ssh(inputs: object) -> bool:
    """Whether any rule in a resource's inputs lets port 22 in, or any property carries an SSH key."""
    for mapping in walk(inputs):
        if KEYS_AND_SSH & set(mapping):
            return True
        first, last = mapping.get("fromPort"), mapping.get("toPort")
        if mapping.get("protocol") == "-1" or (
            isinstance(first, int) and isinstance(last, int) and first <= SSH <= last
        ):
            return True
    return False


def test_nothing_opens_port_22_or_brings_an_ssh_key(full: World) -> None:
    assert len(full.resources) > 80
    assert [resource.urn for resource in full.resources if opens_ssh(resource.inputs)] == []


def of(found: World, *types: str) -> list[DeclaredResource]:
    return [resource for resource in found.resources if resource.type in types]


GROUPS = (declared.MANAGED, declared.SCALING_GROUP)


RUNS = (autoscaled.RELEASE, "kubernetes:batch/v1:CronJob")
RIGHTS = (
    *(autoscaled.ASSOCIATION, autoscaled.GUARD, autoscaled.GUARD_BINDING),
    *(declared.ROLE_POLICY, "kubernetes:core/v1:Namespace"),
)


def test_destroy_takes_what_runs_on_nodes_before_the_nodes_and_its_rights(
    full: World, migrating: World, installing: World
) -> None:
    late = ("coredns", "aws-ebs-csi-driver")
    for found, rights in ((full, 0), (migrating, 4 + 3), (installing, 5 + 5)):
        groups = {each.urn for each in of(found, *GROUPS, autoscaled.GROUP_TAG)}
        addons = {each.urn for each in found.all(declared.ADDON)}
        for each in found.resources:
            if each.type.startswith("kubernetes:"):
                assert groups | addons <= list_outliving(found, each), each.urn
            elif each.type == declared.ADDON and each.name in late:
                assert groups <= list_outliving(found, each), each.urn
        run = of(found, *RUNS)
        own = [(each, right) for each in run for right in of(found, *RIGHTS) if is_right_of(right, each)]
        assert len(own) == rights
        for each, right in own:
            assert goes_before(found, each, right), right.urn


def is_right_of(right: DeclaredResource, each: DeclaredResource) -> bool:
    return right.name in {each.name, f"{each.name}-credentials"}


def test_destroy_leaves_nodes_their_network_rights_and_logs_until_they_are_gone(full: World) -> None:
    ways = of(
        full, declared.ROUTE, declared.NAT, declared.ENDPOINT, "aws:ec2/routeTableAssociation:RouteTableAssociation"
    )
    early = [full.one(declared.ADDON, name) for name in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")]
    needed = [*ways, *early, full.one(declared.LOG_GROUP, "sessions")]
    assert len(ways) > 15
    for group in of(full, *GROUPS):
        kind = "managed" if group.type == declared.MANAGED else "self-managed"
        rights = [r for r in of(full, declared.ATTACHMENT, declared.ROLE_POLICY) if r.name.startswith(f"{kind}-nodes")]
        assert len(rights) == 5
        for thing in [*needed, *rights]:
            assert goes_before(full, group, thing), (group.name, thing.urn)
    for group in of(full, declared.SCALING_GROUP):
        assert goes_before(full, group, full.one(declared.ACCESS_ENTRY))


def test_destroy_takes_everything_in_the_cluster_before_the_cluster_and_its_logs_after_it(full: World) -> None:
    cluster = full.one(declared.CLUSTER)
    inside = of(full, declared.ADDON, declared.ACCESS_ENTRY, declared.STORAGE_CLASS, *GROUPS)
    assert len(inside) == 5 + 1 + 1 + 5
    for thing in inside:
        assert goes_before(full, thing, cluster), thing.urn
    after = [
        full.one(declared.LOG_GROUP, "control-plane"),
        full.one(declared.KEY),
        full.one(declared.ROLE, "cluster"),
        full.one(declared.ATTACHMENT, "AmazonEKSClusterPolicy"),
        full.one(declared.VPC),
    ]
    for thing in after:
        assert goes_before(full, cluster, thing), thing.urn


def test_every_resource_has_a_component_of_ours_above_it(full: World) -> None:
    resources = full.by_urn()
    for resource in full.resources:
        if resource.type == "pulumi:pulumi:Stack":
            assert not resource.parent
        elif resource.type == "multiarch-eks:components:Platform":
            assert resources[resource.parent].type == "pulumi:pulumi:Stack"
        else:
            assert resources[resource.parent].type.startswith("multiarch-eks:components:"), resource.urn


def test_the_documentation_says_of_every_type_what_was_compared_with_the_official_provider(
    full: World, migrating: World, installing: World
) -> None:
    page = (ROOT / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
    types = {each.type for found in (full, migrating, installing) for each in found.resources}
    declared_types = {
        re.sub(r"^aws:([^/]+)/.*:", r"\1.", each)
        for each in types
        if not each.startswith(("multiarch-eks:", "pulumi:pulumi:"))
    }
    assert len(declared_types) > 40
    assert declared_types <= rows


def test_logical_names_do_not_depend_on_the_stacks_name_and_warnings_not_on_lines(small: World) -> None:
    """A line would move with every comment. What is acknowledged is not exported."""
    assert len(small.plan.warnings) == len(small.outputs["warnings"]) > 0
    assert not [warning for warning in small.outputs["warnings"] if ".yaml:" in warning]
    decided = dict.fromkeys((each.rule for each in small.plan.warnings), "decided")
    other = world({"team": "search", "storageClass": True, "acknowledge": decided})
    assert other.outputs["warnings"] == []
    assert {(r.type, r.name) for r in small.resources if r.parent} == {
        (r.type, r.name) for r in other.resources if r.parent
    }


def test_the_kubeconfig_gets_its_token_from_the_aws_cli(small: World) -> None:
    config = json.loads(small.outputs["kubeconfig"])
    user = config["users"][0]["user"]
    assert set(user) == {"exec"}
    assert user["exec"]["command"] == "aws"
    assert user["exec"]["args"][:6] == ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "shop-dev"]
    assert config["clusters"][0]["cluster"]["server"] == "https://shop-dev.example.invalid"


def test_outputs_name_each_groups_architecture_taint_and_auto_scaling_group(full: World) -> None:
    groups = full.outputs["nodeGroups"]
    assert groups["web-arm"] == {
        "architecture": "arm64",
        "kind": "managed",
        "capacityType": "on-demand",
        "amiType": "AL2023_ARM_64_STANDARD",
        "instanceTypes": ["m7g.large"],
        "taints": ["arch=arm64:NoSchedule"],
        "autoScalingGroup": "eks-web-arm-RENDERED-RENDERED",
    }
    assert groups["own-arm"]["autoScalingGroup"] == "shop-dev-own-arm-RENDERED"
    assert full.outputs["cluster"] == {"name": "shop-dev", "version": "1.35"}


def test_fargate_profiles_use_private_subnets_and_get_another_name_when_they_change(full: World) -> None:
    profile = full.inputs("aws:eks/fargateProfile:FargateProfile", "jobs")
    assert full.inputs(declared.ATTACHMENT, "AmazonEKSFargatePodExecutionRolePolicy")
    assert profile["selectors"] == [{"namespace": "jobs"}]
    assert profile["subnetIds"] == full.inputs(declared.MANAGED, "web")["subnetIds"]
    first, other = (
        FargateProfile.model_validate({"selectors": [{"namespace": namespace}]}) for namespace in ("jobs", "batch")
    )
    places = [profile["podExecutionRoleArn"], *profile["subnetIds"]]
    assert _name("jobs", first, places) == profile["fargateProfileName"]
    changed = {_name("jobs", other, places), _name("jobs", first, ["arn:aws:iam::1:role/own", *places[1:]])}
    assert len({profile["fargateProfileName"], *changed}) == 3
    assert len(_name("j" * 80, first, places)) == 63
