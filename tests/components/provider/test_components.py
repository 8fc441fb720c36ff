"""The components for programs of one's own: they take a stack file's keys, and declare what a stack would."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError

from components.provider import ClusterAutoscaler, Karpenter, NodeGroup, PatchedWorkloads, Platform
from components.provider.arguments_error import ArgumentsError
from components.provider.host import Host
from tests.components import declared
from tests.components.autoscaled import RELEASE
from tests.components.declared import Found, is_component, walk
from tests.components.provider.programs import (
    CLUSTER_AUTOSCALER,
    KARPENTER,
    NODE_GROUP,
    PLATFORM,
    POD,
    WORKLOADS,
    run,
)
from tests.stack.words import TODAY

Args = Any
"""A component's arguments, right or wrong."""
COPIES = "oci://charts.example.com/copies"
NODE_CLASS, NODE_POOL = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "kubernetes:karpenter.sh/v1:NodePool"
TOLERATION = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.provider.part.get_today", lambda: TODAY)


def declare(component: Any, args: Args, name: str = "graviton") -> Found:  # noqa: ANN401  (any of the classes)
    """Declare one component, and export all its outputs."""

    def program() -> None:
        made = component(name, args)
        for key in component.__annotations__:
            pulumi.export(key, getattr(made, key))

    return run(program)


def changed(args: Args, *path: str, value: object) -> Args:
    made = copy.deepcopy(args)
    place = made
    for key in path[:-1]:
        place = place.setdefault(key, {})
    place[path[-1]] = value
    return made


def rejected(component: Any, args: Args, name: str = "graviton") -> list[str]:  # noqa: ANN401
    """Key and rule of each problem; nothing is declared."""
    with pytest.raises(ArgumentsError) as error:
        declare(component, args, name)
    for problem in error.value.problems:
        assert problem.file is None
        assert problem.hint
        assert problem.message in str(error.value)
    return [f"{problem.key} {problem.rule}" for problem in error.value.problems]


@pytest.mark.exhaustive
def test_a_platform_declares_what_a_stack_file_with_the_same_keys_does() -> None:
    found = declare(Platform, PLATFORM, "shop")
    inner = next(each for each in found.resources if each.type == "multiarch-eks:components:Platform")
    assert found.by_urn()[inner.parent].type == "multiarch-eks:index:Platform"
    own = {
        "owner": "shop@example.com",
        "costCenter": "4711",
        "nodeGroups": {"web": None, "web-arm": None, **PLATFORM["nodeGroups"]},
    }
    expected = declared.world({**own, "kubernetesVersion": "1.35", "team": "shop", "environment": "dev"})

    def custom(world: Found) -> dict[tuple[str, str], Any]:
        return {(each.type, each.name): each.inputs for each in world.resources if not is_component(each)}

    assert custom(found) == custom(expected)
    assert set(found.outputs["node_groups"]) == {"general", "graviton"}
    assert found.outputs["node_groups"] == expected.outputs["nodeGroups"]
    assert found.outputs["sessions"] == expected.outputs["sessions"]
    assert found.outputs["session_policy"] == expected.outputs["sessionPolicy"]


def test_a_platform_without_the_aws_cli_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(pulumi.RunError, match="Platform shop: The program `aws` is not on PATH"):
        declare(Platform, PLATFORM, "shop")


def test_a_node_group_has_the_image_of_its_architecture_and_comes_with_its_role(
    capfd: pytest.CaptureFixture[str],
) -> None:
    # The engine's protocol has floats only.
    found = declare(NodeGroup, {**NODE_GROUP, "clusterAutoscaler": True, "minSize": 2.0})
    group = found.inputs(declared.MANAGED)
    assert (group["amiType"], group["subnetIds"]) == ("AL2023_ARM_64_STANDARD", ["subnet-1", "subnet-2"])
    assert (group["clusterName"], group["scalingConfig"]["minSize"]) == ("mine", 2)
    assert [taint["key"] for taint in group["taints"]] == ["arch"]
    assert found.outputs["architecture"] == "arm64"
    assert found.outputs["taints"] == ["arch=arm64:NoSchedule"]
    assert len(found.all(declared.ATTACHMENT)) == 4
    tags = {tag["key"] for each in found.all("aws:autoscaling/tag:Tag") for tag in walk(each.inputs["tag"])}
    assert {"k8s.io/cluster-autoscaler/mine", "k8s.io/cluster-autoscaler/node-template/taint/arch"} <= tags
    # Warnings name no command for stack files.
    told = capfd.readouterr().err
    assert "is not pinned" in told
    assert "Set the image: ami.id" in told
    assert "stack pin" not in told


def test_a_self_managed_node_group_joins_with_the_cluster_s_facts() -> None:
    found = declare(NodeGroup, changed(NODE_GROUP, "kind", value="self-managed"))
    user_data = base64.b64decode(found.inputs(declared.TEMPLATE)["userData"]).decode()
    assert "https://1.eks.amazonaws.com" in user_data
    assert "172.20.0.0/16" in user_data
    assert found.one(declared.ACCESS_ENTRY).inputs["type"] == "EC2_LINUX"
    assert found.inputs(declared.SCALING_GROUP)["vpcZoneIdentifiers"] == ["subnet-1", "subnet-2"]


def test_nodes_of_a_cluster_with_ipv6_may_take_addresses_and_learn_the_services() -> None:
    ipv6 = {**NODE_GROUP["cluster"], "serviceCidr": "fd30:1c53:5f8a::/108"}
    found = declare(NodeGroup, {**NODE_GROUP, "kind": "self-managed", "cluster": {**ipv6, "ipFamily": "ipv6"}})
    user_data = base64.b64decode(found.inputs(declared.TEMPLATE)["userData"]).decode()
    assert "maxPods: 110" in user_data
    assert "AssignIpv6Addresses" in found.inputs(declared.ROLE_POLICY)["policy"]
    with pytest.raises(pulumi.RunError, match=r"ipFamily is ipv4, and cluster\.serviceCidr is fd30"):
        declare(NodeGroup, {**NODE_GROUP, "cluster": ipv6})
    with pytest.raises(pulumi.RunError, match=r"custom networking is for IPv4"):
        declare(NodeGroup, {**NODE_GROUP, "cluster": {**ipv6, "ipFamily": "ipv6", "customNetworking": True}})


def test_karpenter_runs_on_the_named_group_and_adds_nodes_in_the_given_subnets() -> None:
    found = declare(Karpenter, KARPENTER, "karpenter")
    values = found.inputs(RELEASE, "karpenter")["values"]
    assert "general-2026" in json.dumps(values["affinity"])
    assert {"tier", "arch"} <= {toleration["key"] for toleration in values["tolerations"]}
    spec = found.inputs(NODE_CLASS)["spec"]
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-1"}, {"id": "subnet-2"}]
    assert found.outputs["node_pools"] == [
        "general-arm64-spot",
        "general-arm64-on-demand",
        "general-amd64-spot",
        "general-amd64-on-demand",
    ]
    assert len(found.all(NODE_POOL)) == 4
    assert found.inputs("pulumi:providers:kubernetes")["kubeconfig"] == "apiVersion: v1"


def test_autoscalers_take_preference_address_family_and_charts_from_the_program() -> None:
    other = {"charts": {"registry": COPIES}, "prefer": "amd64"}
    ipv6 = changed({**KARPENTER, **other}, "cluster", "ipFamily", value="ipv6")
    pools, groups = declare(Karpenter, ipv6, "k"), declare(ClusterAutoscaler, {**CLUSTER_AUTOSCALER, **other}, "c")
    assert pools.outputs["node_pools"][0] == "general-amd64-spot"
    assert "karpenter-nodes-cni-ipv6" in {each.name for each in pools.all(declared.ROLE_POLICY)}
    priorities = groups.outputs["priorities"]
    assert priorities["graviton"] < priorities["general"]
    for found in (pools, groups):
        assert {str(each.inputs["chart"]).rpartition("/")[0] for each in found.all(RELEASE)} == {COPIES}
    priorities = declare(ClusterAutoscaler, CLUSTER_AUTOSCALER, "c").outputs["priorities"]
    assert priorities["graviton"] > priorities["general"]


def test_workloads_are_returned_with_the_toleration_and_the_preference() -> None:
    text = "# the API\napiVersion: v1\nkind: Pod\nmetadata:\n  name: api\nspec:\n  containers: []\n"
    found = declare(PatchedWorkloads, changed(WORKLOADS, "manifests", value=text), "workloads")
    (pod,) = found.outputs["objects"]
    assert pod["spec"]["tolerations"] == [TOLERATION]
    assert pod["spec"]["containers"] == POD["spec"]["containers"]
    assert "arm64" in json.dumps(pod["spec"]["affinity"])
    assert found.outputs["manifests"].startswith("# the API\n")
    assert "key: arch" in found.outputs["manifests"]
    assert not [each for each in found.resources if not is_component(each)]


@pytest.mark.parametrize(
    ("component", "args", "problem"),
    [
        (Platform, changed(PLATFORM, "nodeGroups", "graviton", "instanceTypes", value=["m7g.large", "m7i.large"]),
         "nodeGroups.graviton.instanceTypes mixed-architectures"),
        (Platform, changed(PLATFORM, "owner", value=None), "owner missing-key"),
        (NodeGroup, changed(NODE_GROUP, "instanceTypes", value=["m7g.large", "m7i.large"]),
         "instanceTypes mixed-architectures"),
        (NodeGroup, changed(NODE_GROUP, "zones", value=["eu-west-1a"]), "zones unknown-key"),
        (NodeGroup, changed(NODE_GROUP, "cluster", "kubernetesVersion", value="1.2"),
         "cluster.kubernetesVersion kubernetes-version"),
        (NodeGroup, changed(NODE_GROUP, "cluster", "arm64Taint", value="arm64"), "cluster.arm64Taint taint"),
        (NodeGroup, changed(NODE_GROUP, "tags", value={"Name": "mine"}), "tags.Name own-tag"),
        (Karpenter, changed(KARPENTER, "nodePools", "general", "weight", value=500),
         "nodePools.general.weight out-of-range"),
        (Karpenter, changed(KARPENTER, "controllerTaints", value=["x"]), "controllerTaints[0] taint"),
        (Karpenter, changed(KARPENTER, "charts", value={"registry": "x"}), "charts chart-registry"),
        (ClusterAutoscaler, changed(CLUSTER_AUTOSCALER, "priorities", value={"web": 10}),
         "priorities.web priority-names-no-group"),
        (ClusterAutoscaler, changed(CLUSTER_AUTOSCALER, "nodeGroups", value={}), "nodeGroups no-node-groups"),
        (PatchedWorkloads, changed(WORKLOADS, "require", value="amd64"), "require prefer-and-require"),
        (PatchedWorkloads, {"objects": []}, "tolerate no-change"),
        (PatchedWorkloads, {"prefer": "arm64"}, "objects no-manifests"),
    ],
)  # fmt: skip
def test_a_mistake_is_rejected_with_its_key_before_anything_is_declared(
    component: Any,  # noqa: ANN401
    args: Args,
    problem: str,
) -> None:
    assert problem in rejected(component, args)


def test_a_group_s_name_is_checked_too() -> None:
    assert rejected(NodeGroup, NODE_GROUP, "Graviton_1") == [" group-name"]


def test_an_output_is_rejected_where_the_plan_needs_the_value_and_taken_elsewhere() -> None:
    def with_output(*path: str) -> Found:
        def program() -> None:
            NodeGroup("graviton", changed(NODE_GROUP, *path, value=pulumi.Output.from_input("1.35")))

        return run(program)

    assert with_output("cluster", "endpoint").all(declared.MANAGED)
    key = r"cluster.kubernetesVersion: kubernetesVersion is an output"
    with pytest.raises(ArgumentsError, match=rf"{key}.*\[value-known-later\]"):
        with_output("cluster", "kubernetesVersion")


def test_a_faulty_manifest_ends_the_program_with_its_place() -> None:
    with pytest.raises(pulumi.RunError, match="PatchedWorkloads workloads: nothing was changed:\n  line 1: "):
        declare(PatchedWorkloads, changed(WORKLOADS, "manifests", value="a: b: c\n"), "workloads")


def test_efa_interfaces_are_in_the_clusters_group_and_want_one_zone(capfd: pytest.CaptureFixture[str]) -> None:
    found = declare(NodeGroup, {**NODE_GROUP, "instanceTypes": ["c7gn.16xlarge"], "efa": True})
    (interface,) = found.inputs(declared.TEMPLATE)["networkInterfaces"]
    assert interface["securityGroups"] == [NODE_GROUP["cluster"]["securityGroupId"]]
    told = capfd.readouterr().err
    assert "efa-security-group" in told
    assert "efa-zones" in told


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


def construct(host: Host, args: Args) -> dict[str, Any]:
    """What the plugin answers when a program in another language declares a node group."""
    states: list[dict[str, Any]] = []
    run(lambda: states.append(dict(host.construct("graviton", "multiarch-eks:index:NodeGroup", args).state)))
    return states[0]


def test_the_plugin_answers_with_the_outputs_of_the_schema(host: Host) -> None:
    outputs = {"amiType", "architecture", "autoScalingGroup", "nodeGroupName", "nodeRoleArn", "taints"}
    assert set(construct(host, NODE_GROUP)) == outputs


@pytest.mark.parametrize(
    ("change", "place", "reason"),
    [
        ({"instanceTypes": ["m7g.large", "m7i.large"]}, "instanceTypes", "[mixed-architectures]"),
        ({"instanceType": "m7g.large"}, "instanceType", "Did you mean instanceTypes? [unknown-key]"),
    ],
)
def test_the_plugin_rejects_with_the_property_and_without_a_traceback(
    host: Host, change: Args, place: str, reason: str
) -> None:
    with pytest.raises(InputPropertiesError) as rejection:
        construct(host, {**NODE_GROUP, **change})
    (problem,) = rejection.value.errors or []
    assert problem["property_path"] == place
    assert problem["reason"].endswith(reason)
