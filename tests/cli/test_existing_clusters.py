"""``stack new --from-cluster`` and ``report --cluster``, on clusters in the shapes that other tools make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto.core.exceptions import ServiceException

from multiarch.stack.load import load_file
from sandbox.aws.eks_access import EksAccess
from sandbox.aws.remote import Remote
from sandbox.aws.ssm import ACCOUNT
from sandbox.existing import console, eksctl, terraform
from sandbox.existing.account import Account
from tests.autoscaling.evaluation import Call, allowed
from tests.cli.aws import served
from tests.cli.running import Ran, type_of_run
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, serving
from tests.observed.test_cluster import node, pod
from tests.report.page_text import sections
from tests.sandbox.served import CLONE, REGION, Served
from tests.verify.clusters import environment

pytestmark = pytest.mark.e2e
SHAPES = {
    "shop-prod": eksctl.create_cluster,
    "search-prod": terraform.create_cluster,
    "blog-dev": console.create_cluster,
    "auto-dev": console.create_auto_mode_cluster,
}
PAGE = CLONE / "docs" / "how-to" / "from-a-cluster.md"
ARM64_NODE = {"kubernetes.io/arch": "arm64"}


@pytest.fixture(scope="module")
def world() -> Iterator[Served]:
    """All clusters, each as its tool makes it; tests change none of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
        with served() as url:
            aws = Served(url)
            for name, create in SHAPES.items():
                create(Account(aws.client), name)
            yield aws


@dataclass
class Place:
    aws: Served
    clone: Path
    run: type_of_run

    def new(self, cluster: str, *words: str) -> Ran:
        return self.run("stack", "new", "--from-cluster", cluster, *words)

    def file(self, stack: str) -> Path:
        return self.clone / "config" / "stacks" / f"Pulumi.{stack}.yaml"

    @contextmanager
    def kubeconfig(self, cluster: str, **objects: list[dict[str, Any]]) -> Iterator[None]:
        """An API server with ``objects`` by plural, which the kubeconfig calls the endpoint of the cluster."""
        endpoint = self.aws.client("eks").describe_cluster(name=cluster)["cluster"]["endpoint"]

        def answer(request: Request) -> Answer:
            name = request.path.rpartition("/")[2]
            for each in (each for of_kind in objects.values() for each in of_kind):
                if each["metadata"]["name"] == name:
                    return 200, each, {}
            if name in ("aws-node", "nodepools", "ec2nodeclasses") and name not in objects:
                return 404, {"kind": "Status", "message": "not found"}, {}
            return 200, {"kind": "List", "metadata": {}, "items": objects.get(name, [])}, {}

        with serving(answer) as server:
            proxy: dict[str, Any] = {"proxy-url": server.url}
            kubeconfigs.write(self.clone / "kubeconfig", endpoint.replace("https:", "http:"), **proxy)
            yield


@pytest.fixture
def place(world: Served, clone: Path, run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name, value in {**environment(world, clone), "AWS_REGION": REGION}.items():
        monkeypatch.setenv(name, value)
    return Place(world, clone, run)


def describe(aws: Served) -> str:
    """Everything that EKS and Auto Scaling say, in one text."""
    eks, found = aws.client("eks"), []
    for name in SHAPES:
        found.append(eks.describe_cluster(name=name)["cluster"])
        groups = eks.list_nodegroups(clusterName=name)["nodegroups"]
        found += [eks.describe_nodegroup(clusterName=name, nodegroupName=each)["nodegroup"] for each in groups]
    found += aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    return json.dumps(found, default=str, sort_keys=True)


def test_eksctl(place: Place) -> None:
    before = describe(place.aws)
    ran = place.new("shop-prod")
    assert (ran.code, ran.out) == (0, "config/stacks/Pulumi.shop-prod.yaml\n"), ran.err
    spec, text = load_file(place.file("shop-prod")).spec, place.file("shop-prod").read_text()
    assert spec.cluster
    assert spec.cluster.existing == "shop-prod"
    groups = spec.node_groups
    assert {name: each.instance_types[0] for name, each in groups.items()} == {
        "batch-arm64": "r6g.xlarge",
        "general-arm64": "m6g.large",
        "spot-arm64": "c6g.xlarge",
    }
    batch, general, spot = (groups[f"{name}-arm64"] for name in ("batch", "general", "spot"))
    assert (batch.kind, batch.labels, batch.taints) == ("self-managed", {"work": "batch"}, ["work=batch:NoSchedule"])
    assert (general.min_size, general.max_size, general.disk_size, general.imds_hop_limit) == (0, 6, 80, 2)
    assert (spot.capacity_type, len(spot.instance_types) > 2, spot.labels) == ("spot", True, {"tier": "spot"})
    assert (spec.autoscaling.use, spec.autoscaling.cluster_autoscaler.installed) == ("cluster-autoscaler", True)
    # What is not taken over is on stderr and in the file.
    for said in ("its user data", "AmazonS3ReadOnlyAccess", "alpha.eksctl.io/nodegroup-name", "security groups sg-"):
        assert said in ran.err
        assert said in re.sub(r"\n# +", " ", text)
    assert place.new("shop-prod").code == 2
    again = place.new("shop-prod", "--force")
    assert (again.code, place.file("shop-prod").read_text(), describe(place.aws)) == (0, text, before)


def test_the_console_with_other_names(place: Place) -> None:
    ran = place.new("blog-dev", "--team", "web", "--env", "test", "--owner", "web@example.com")
    assert ran.code == 0, ran.err
    spec = load_file(place.file("web-test")).spec
    (group,) = spec.node_groups.values()
    assert (group.instance_types, group.min_size, group.max_size, group.disk_size) == (["t4g.medium"], 1, 2, 20)
    assert (spec.autoscaling.use, spec.arm64_taint) == ("none", "arch=arm64:NoSchedule")
    assert spec.cluster
    assert (spec.cluster.pod_identity_agent, spec.cluster.prefix_delegation) == (True, False)
    assert sorted(spec.cluster.subnets) == [f"{REGION}a", f"{REGION}b"]


def test_terraform_with_karpenter(place: Place) -> None:
    ran = place.new("search-prod")
    assert ran.code == 0, ran.err
    spec = load_file(place.file("search-prod")).spec
    assert {name: (each.kind, each.instance_types, each.min_size) for name, each in spec.node_groups.items()} == {
        "default-arm64": ("managed", ["m6g.large"], 1),
        "memory-arm64": ("self-managed", ["r6g.2xlarge"], 1),
    }
    assert spec.node_groups["default-arm64"].update_strategy.max_unavailable_percentage == 33
    karpenter = spec.autoscaling.karpenter
    assert (spec.autoscaling.use, karpenter.installed) == ("karpenter", True)
    assert (karpenter.node_role or "").startswith("Karpenter-search-prod-")
    assert spec.cluster
    assert spec.cluster.prefix_delegation
    # Its nodes do not have the security group that EKS made.
    (group,) = spec.cluster.security_groups
    assert f"securityGroups: [{group}]" in place.file("search-prod").read_text()


def test_auto_mode(place: Place) -> None:
    ran = place.new("auto-dev")
    assert ran.code == 0, ran.err
    spec = load_file(place.file("auto-dev")).spec
    assert (spec.node_groups, spec.autoscaling.use) == ({}, "auto-mode")
    settings = spec.autoscaling.model_dump(by_alias=True, exclude_unset=True)["autoMode"]
    assert settings["nodeRole"] == "auto-dev-AmazonEKSAutoNodeRole"
    assert settings["nodePools"] == {"general": {"architectures": ["arm64"], "capacityTypes": ["on-demand"]}}


def test_what_the_api_server_says_of_autoscalers_and_taints_is_taken(place: Place) -> None:
    command = ["./cluster-autoscaler", "--namespace=scaling"]
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.5@sha256:0"
    container = {"name": "ca", "image": image, "command": command}
    deployment = {
        "metadata": {"name": "ca", "namespace": "kube-system"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
    }
    tainted = {
        "metadata": {"name": "ip-1", "labels": ARM64_NODE},
        "spec": {"taints": [{"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}]},
        "status": {"nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"}, "conditions": []},
    }
    with place.kubeconfig("blog-dev", deployments=[deployment], nodes=[tainted]):
        ran = place.new("blog-dev")
        assert ran.code == 0, ran.err
        spec, text = load_file(place.file("blog-dev")).spec, place.file("blog-dev").read_text()
        assert (spec.arm64_taint, spec.autoscaling.use) == ("kubernetes.io/arch=arm64:NoSchedule", "cluster-autoscaler")
        (group,) = spec.node_groups.values()
        assert (group.kind, group.min_size) == ("self-managed", 0)
        assert "# Found by the Deployment kube-system/ca." in text
        assert spec.autoscaling.cluster_autoscaler.namespace == "scaling"
        assert "# The taint of the node ip-1." in text
        # The kubeconfig is of another cluster: what it says would be wrong of this one.
        other = place.new("shop-prod", "--context", "here")
        assert (other.code, place.file("shop-prod").exists()) == (3, False)
        assert "The kubeconfig's context here is not of shop-prod." in other.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ("nothing-there",),
            2,
            f"There is no EKS cluster nothing-there in {REGION}. Check the name, the region",
        ),
        (("blog-dev", "--region", "eu-central-1"), 2, "There is no EKS cluster blog-dev in eu-central-1."),
        (("blog-dev", "--env", "B"), 2, "--env B: "),
        (("blog",), 2, "The cluster's name blog is not TEAM-ENV. Give --team and --env."),
        (("blog-dev", "--public-cidr", "8.8.8.8/32"), 2, "--public-cidr and --from-cluster are mutually exclusive."),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    place: Place, words: tuple[str, ...], code: int, says: str
) -> None:
    before = sorted((place.clone / "config" / "stacks").iterdir())
    ran = place.new(*words)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (code, "", 1)
    assert says in ran.err
    assert sorted((place.clone / "config" / "stacks").iterdir()) == before


def write_prices(place: Place, **hours: str) -> str:
    prices = json.loads((CLONE / "examples" / "prices.json").read_text("utf-8"))
    region = prices["regions"].pop("eu-central-1")
    region["onDemandPerHour"] = {name.replace("_", "."): hour for name, hour in hours.items()}
    prices["regions"] = {REGION: region}
    (place.clone / "prices.json").write_text(json.dumps(prices), "utf-8")
    return "prices.json"


def test_a_report_has_the_groups_the_saving_and_the_next_commands(place: Place) -> None:
    prices = write_prices(place, m5_large="0.1", m6g_large="0.08", r5_xlarge="0.3", r6g_xlarge="0.24")
    ran = place.run("report", "--cluster", "shop-prod", "--html", "page.html", "--prices", prices)
    # The kubeconfig has no context of the cluster: its parts say so, and AWS's are there.
    assert (ran.code, ran.err.splitlines()[0]) == (3, "Wrote page.html.")
    found = sections((place.clone / "page.html").read_text("utf-8"))
    assert "3 groups: 0 arm64, 5 amd64." in found["groups"]
    # 2 nodes of m5.large for 730 hours, and 2 of m6g.large.
    for amount in ("146.00", "116.80", "29.20"):
        assert amount in found["groups"]
    assert "no on-demand price" not in found["groups"]
    assert f"multiarch stack new --from-cluster shop-prod --region {REGION}" in found["next"]
    assert "Not read." in found["images"]
    assert "control plane" in found["cost"]


def test_a_report_reads_workloads_where_the_kubeconfig_is_of_the_cluster(place: Place) -> None:
    with place.kubeconfig("blog-dev", nodes=[node("ip-1", {})], pods=[pod("api-1", "ip-1")]):
        ran = place.run("report", "--cluster", "blog-dev", "--html", "page.html", "--no-cache")
    assert ran.code == 0, ran.err
    found = sections((place.clone / "page.html").read_text("utf-8"))
    assert "0 of 1 pod on arm64 nodes" in found["pods"]
    assert "1 workload" in found["images"]
    assert "t4g.medium" in found["groups"]


def test_a_report_of_a_cluster_that_can_have_no_stack_says_why(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1900000000")  # 2030: 1.34 has no support any more
    ran = place.run("report", "--cluster", "blog-dev", "--html", "page.html")
    assert ran.code == 3
    found = sections((place.clone / "page.html").read_text("utf-8"))
    assert "which EKS does not support any more. Upgrade it" in found["groups"]
    assert "which EKS does not support any more. Upgrade it" in found["next"]


class DeniedError(ServiceException):
    code = "AccessDeniedException"


def test_a_missing_permission_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_addons(_: object) -> None:
        raise DeniedError("User: x is not authorized to perform: eks:ListAddons on resource: y")

    monkeypatch.setattr(EksAccess, "list_addons", list_addons)
    ran = place.new("blog-dev")
    assert (ran.code, place.file("blog-dev").exists(), len(ran.err.splitlines())) == (3, False, 1)
    assert "Use credentials that allow eks:ListAddons." in ran.err


def test_the_policy_of_the_documents_has_the_actions_that_are_called_and_no_others(place: Place) -> None:
    remote = Remote(place.aws.endpoint)
    remote.forget_calls()
    for name in SHAPES:
        place.new(name)
    text = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    for placeholder, value in {"REGION": REGION, "ACCOUNT": ACCOUNT, "CLUSTER": "*"}.items():
        text = text.replace(placeholder, value)
    policy = json.loads(text)
    actions = {action for statement in policy["Statement"] for action in statement["Action"]}
    assert set(remote.calls()) == actions
    assert all(re.match(r"\w+:(Describe|List|Get)", each) for each in actions)
    arn = f"arn:aws:eks:{REGION}:{ACCOUNT}"
    for action in sorted(actions):
        of = {"eks:DescribeAddon": "addon/shop-prod/a/1", "eks:DescribeNodegroup": "nodegroup/shop-prod/a/1"}
        resource = f"{arn}:{of.get(action, 'cluster/shop-prod')}" if action.startswith("eks:") else "*"
        assert allowed([policy], Call(action, resource)), action
