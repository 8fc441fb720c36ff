"""``multiarch verify nodes`` with the sandbox's AWS, and an API server's stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.aws import served
from tests.cli.running import Ran, type_of_run
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, rejected, serving
from tests.sandbox.served import REGION, Served
from tests.verify.clusters import STACK, create, environment

pytestmark = pytest.mark.e2e

EXISTING = f"""\
config:
  aws:region: {REGION}
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:kubernetesVersion: "1.35"
  multiarch-eks:cluster:
    existing: {STACK}
    subnets: {{{REGION}a: [subnet-00000000], {REGION}b: [subnet-00000001]}}
    authenticationMode: API
    ipFamily: ipv4
  multiarch-eks:nodeGroups:
    arm: {{instanceTypes: [m7g.large]}}
  multiarch-eks:autoscaling:
    use: cluster-autoscaler
    clusterAutoscaler: {{installed: true}}
"""
TAINT = {"key": "arch", "value": "arm64", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def aws() -> Iterator[tuple[Served, list[dict[str, Any]]]]:
    """An AWS with the cluster and one instance in each of its groups, and their Nodes."""
    with served() as url:
        made = Served(url)
        yield made, create(made, 1)


@dataclass
class Cluster:
    """The API server of checkout-dev. ``denied`` is a method that it rejects, ``patches`` counts what it took."""

    nodes: list[dict[str, Any]]
    deployment: dict[str, Any] = field(default_factory=dict)
    denied: str = ""
    patches: int = 0

    def node(self, architecture: str) -> dict[str, Any]:
        return next(each for each in self.nodes if each["metadata"]["labels"]["kubernetes.io/arch"] == architecture)

    def answer(self, request: Request) -> Answer:
        if self.denied and request.method == self.denied:
            return rejected(403, "Forbidden", 'nodes is forbidden: User "me" cannot do that')
        if request.method == "PATCH":
            return self.patched(request)
        if request.path.endswith("/deployments"):
            return 200, {"kind": "DeploymentList", "metadata": {}, "items": [self.deployment]}, {}
        if "/deployments/" in request.path:
            return 200, self.deployment, {}
        return 200, {"kind": "NodeList", "metadata": {}, "items": self.nodes}, {}

    def patched(self, request: Request) -> Answer:
        node = next(each for each in self.nodes if each["metadata"]["name"] == request.path.rpartition("/")[2])
        self.patches += 1
        test, *operations = json.loads(request.body)
        if test["value"] != node["metadata"]["resourceVersion"]:
            return rejected(422, "Invalid", "the server rejected our request due to an error in our request")
        for operation in operations:
            if operation["path"] == "/spec/taints":
                node["spec"]["taints"] = operation["value"]
            else:
                node["spec"]["taints"].append(operation["value"])
        node["metadata"]["resourceVersion"] += "1"
        return 200, node, {}


@pytest.fixture
def cluster(
    aws: tuple[Served, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Cluster]:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(aws[0], tmp_path).items():
        monkeypatch.setenv(name, value)
    made = Cluster(deepcopy(aws[1]))
    with serving(made.answer) as server:
        kubeconfigs.write(tmp_path / "kubeconfig", server.url)
        yield made


@pytest.fixture
def verify(run: type_of_run, clone: Path, cluster: Cluster) -> Callable[..., Ran]:
    del clone, cluster  # they are there as long as the test runs
    return lambda *more: run("verify", "nodes", *(more if _names_cluster(more) else (STACK, *more)))


def _names_cluster(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] == "--cluster" or words[0].endswith(".yaml"))


def findings(ran: Ran) -> set[str]:
    return {each["rule"] for node in ran.json["nodes"] for each in node["findings"]}


def test_a_healthy_cluster_has_no_findings(verify: Callable[..., Ran]) -> None:
    ran = verify()
    assert ran.code == 0, ran.out + ran.err
    assert "2 nodes of checkout-dev: 2 ok; no findings." in ran.err
    assert ran.out.count(" ok") == 2


def test_flags_of_an_installed_autoscaler_are_read(verify: Callable[..., Ran], cluster: Cluster, clone: Path) -> None:
    container = {"image": "autoscaling/cluster-autoscaler:v1.35.0", "command": ["./cluster-autoscaler", "--v=4"]}
    cluster.deployment = {
        "metadata": {"namespace": "scaling", "name": "ca"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    (clone / "Pulumi.shop-dev.yaml").write_text(EXISTING)
    ran = verify(str(clone / "Pulumi.shop-dev.yaml"), "-o", "json")
    said = [each["message"] for each in ran.json["findings"] if each["rule"] == "autoscaler-flags"]
    assert said[0].startswith("scaling/ca: --expander is not set")


def test_json_has_every_source(verify: Callable[..., Ran]) -> None:
    ran = verify("-o", "json")
    assert (ran.json["kind"], ran.json["cluster"], ran.json["stack"]) == ("node-verification", STACK, STACK)
    assert ran.json["summary"]["ok"] == 2
    for node in ran.json["nodes"]:
        assert set(node["architectures"]) == {"plan", "EC2", "AMI", "node", "CPU"}
        assert node["instance"]["image"]["name"].startswith("amazon-eks-node-al2023-")
        assert node["instance"]["lifecycle"] == "InService"
        assert node["onNode"]["programs"][0]["elf"] == node["architectures"]["CPU"]


def test_a_cluster_that_does_not_exist_is_one_line(verify: Callable[..., Ran]) -> None:
    ran = verify("--cluster", "gone", "--region", REGION)
    assert ran.code == 2
    assert ran.err == (
        f"error: There is no EKS cluster gone in {REGION}. Check the name, --region and the AWS profile, or create "
        "it with `pulumi up`.\n"
    )


def test_a_cluster_without_a_stack_is_compared_with_itself(verify: Callable[..., Ran], cluster: Cluster) -> None:
    cluster.node("arm64")["status"]["nodeInfo"]["architecture"] = "amd64"
    ran = verify("--cluster", STACK, "--region", REGION, "-o", "json")
    assert ran.code == 1
    assert "node-architecture" in findings(ran)
    assert ran.json["stack"] is None


def test_without_a_kubeconfig_it_says_how_to_get_one(
    verify: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG")
    ran = verify()
    assert ran.code == 3
    assert f"`aws eks update-kubeconfig --name {STACK} --region {REGION}`" in ran.out
    assert "2 partly checked" in ran.err


def test_missing_credentials_are_told_once(verify: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    ran = verify()
    assert "- Not read: the cluster at EKS, the instances, the nodes themselves. Can't get AWS credentials: " in ran.out
    assert ran.out.count("aws sso login") == 1
    assert ran.code == 3


def test_a_kubeconfig_of_another_cluster_is_rejected(verify: Callable[..., Ran], cluster: Cluster) -> None:
    for number, node in enumerate(cluster.nodes):
        node["spec"]["providerID"] = f"aws:///eu-west-1a/i-{number:017x}"
    ran = verify()
    assert ran.code == 2
    assert "the kubeconfig's context is of another cluster" in ran.err


def test_missing_taints_are_shown_and_not_added_by_a_dry_run(verify: Callable[..., Ran], cluster: Cluster) -> None:
    node = cluster.node("arm64")
    node["spec"]["taints"] = []
    ran = verify("--fix-taints", "--dry-run")
    assert ran.code == 1
    assert f"kubectl patch node {node['metadata']['name']} --type=json -p" in ran.err
    assert "taint-missing" in ran.out
    assert "leaves running pods" in ran.err
    assert "the group's next node starts without it too: run `pulumi up`" in ran.err
    assert "kubectl --context=here patch node" in verify("--fix-taints", "--dry-run", "--context", "here").err
    assert node["spec"]["taints"] == []


def test_missing_taints_are_added_and_nothing_else(verify: Callable[..., Ran], cluster: Cluster) -> None:
    node = cluster.node("arm64")
    other = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    node["spec"]["taints"] = [other]
    ran = verify("--fix-taints", "--yes")
    assert ran.code == 0, ran.out + ran.err
    assert node["spec"]["taints"] == [other, TAINT]
    assert f"Added arch=arm64:NoSchedule to {node['metadata']['name']}." in ran.err
    assert cluster.patches == 1
    assert "No taint is missing." in verify("--fix-taints", "--yes").err


def test_adding_taints_needs_somebody_to_ask_and_the_right(verify: Callable[..., Ran], cluster: Cluster) -> None:
    cluster.node("arm64")["spec"]["taints"] = []
    ran = verify("--fix-taints")
    assert ran.code == 2
    assert "--fix-taints needs a terminal to prompt for confirmation." in ran.err
    cluster.denied = "PATCH"
    ran = verify("--fix-taints", "--yes")
    assert ran.code == 3
    assert 'resources: ["nodes"], verbs: ["patch"]' in ran.err
