"""``multiarch doctor`` with the sandbox's AWS, each fault switched on, and stand-ins of the programs on PATH."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.eks.models import eks_backends

from components.ci.permissions import CHECKS, READS
from multiarch.doctor.existing import OWN_TAG
from multiarch.doctor.programs import BROUGHT_BY_EKS, SDKS
from multiarch.errors import StackError
from multiarch.runs.existing_cluster import reject_conflicts
from multiarch.runs.stacks import load_plan
from sandbox.aws.facts import CLUSTER_VERSIONS
from sandbox.aws.faults import ADDRESSES, VCPUS, VPCS, Failure
from sandbox.aws.remote import Remote
from sandbox.aws.ssm import ACCOUNT
from tests.cli.aws import served
from tests.cli.running import Ran, type_of_run
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request
from tests.kubernetes.api_server import serving as serving_api
from tests.sandbox.served import CLONE, REGION, Served
from tests.verify.clusters import environment

pytestmark = pytest.mark.e2e
STACK = "checkout-dev"
GROUP = f"/aws/eks/{STACK}/cluster"
ROLES = ("AmazonEKS", "AmazonEKSNodegroup", "AutoScaling", "EC2Spot")
EXISTING = f"""\
config:
  aws:region: {REGION}
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:kubernetesVersion: "1.34"
  multiarch-eks:cluster:
    existing: {STACK}
    subnets: {{{REGION}a: [subnet-00000000], {REGION}b: [subnet-00000001]}}
    securityGroups: [sg-00000000]
    authenticationMode: API
    ipFamily: ipv4
  multiarch-eks:nodeGroups:
    arm: {{instanceTypes: [m7g.large]}}
    own: {{instanceTypes: [m7g.large], kind: self-managed}}
"""
SCALED = """\
  multiarch-eks:autoscaling:
    use: cluster-autoscaler
    clusterAutoscaler: {installed: true}
"""
PRIORITIES = "kube-system/cluster-autoscaler-priority-expander"
PLUGINS = [
    *({"name": each, "kind": "resource", "version": version(f"pulumi-{each}")} for each in SDKS),
    *({"name": name, "kind": "resource", "version": version} for name, version in BROUGHT_BY_EKS.items()),
]


@dataclass
class Place:
    """Where `pulumi up` would run: a clone, programs on PATH, and an account with all roles."""

    aws: Served
    remote: Remote
    clone: Path
    programs: Path
    run: type_of_run
    patch: pytest.MonkeyPatch

    def program(self, name: str, prints: str = "") -> None:
        file = self.programs / name
        file.write_text(f"#!/bin/sh\ncat <<'END'\n{prints}\nEND\n")
        file.chmod(0o755)

    def write(self, old: str, new: str) -> None:
        """Change the stack file."""
        file = self.clone / "config" / "stacks" / f"Pulumi.{STACK}.yaml"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def examine(self, *words: str) -> Ran:
        return self.run("doctor", *words, "--output", "json")

    def cluster(self, **more: object) -> None:
        """Create the stack's cluster: its VPC is 10.0.0.0/16."""
        made = self.aws.cluster(STACK, **{"tags": dict([OWN_TAG]), **more})
        tags = [{"Key": key, "Value": value} for key, value in (OWN_TAG, ("Name", f"{STACK}-vpc"))]
        self.aws.client("ec2").create_tags(Resources=[made["resourcesVpcConfig"]["vpcId"]], Tags=tags)

    def role(self, name: str) -> None:
        self.aws.role(f"AWSServiceRoleFor{name}")

    def existing(self, file: Path) -> Path:
        """Write a stack with groups of both kinds for the cluster of that name, as if somebody else had made it."""
        file.write_text(EXISTING)
        return file

    def node_group(self, **more: object) -> None:
        """Create the cluster with a node group that fails."""
        self.cluster(**more)
        found = self.aws.client("eks").describe_cluster(name=STACK)["cluster"]["resourcesVpcConfig"]["subnetIds"]
        self.remote.set_faults(Failure("nodegroup", "general"))
        self.aws.client("eks").create_nodegroup(
            clusterName=STACK, nodegroupName="general-1", subnets=found, nodeRole=self.aws.role("node")
        )


@pytest.fixture
def place(clone: Path, run: type_of_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with served() as url:
        made = Place(Served(url), Remote(url), clone, tmp_path / "programs", run, monkeypatch)
        made.programs.mkdir()
        (clone / ".venv").symlink_to(sys.prefix)
        made.program("aws", "aws-cli/2.7.0 Python/3.9")
        made.program("kubectl")
        made.program("helm")
        made.program("session-manager-plugin")
        made.program("pulumi-language-python")
        made.program("pulumi", 'END\n[ "$1" = version ] && echo v3.259.0 || cat <<END\n' + json.dumps(PLUGINS))
        for name in ROLES:
            made.role(name)
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {**environment(made.aws, tmp_path), "PATH": f"{made.programs}:/bin"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("multiarch.runs.doctor.find_silence", lambda *_: "")
        yield made
        made.remote.set_faults()


def rows(ran: Ran, check: str) -> list[dict[str, str]]:
    assert ran.json["kind"] == "doctor"
    return [row for row in ran.json["rows"] if row["check"] == check]


def test_nothing_stops_a_first_up_and_what_only_a_cluster_can_tell_has_no_row(place: Place) -> None:
    ran = place.examine(STACK)
    assert [row for row in ran.json["rows"] if row["state"] != "ok"] == [], ran.out
    assert {row["check"] for row in ran.json["rows"]} == {
        *("python", "engine", "plugin", "aws cli", "tool", "credentials", "charts", "cluster", "log group"),
        *("kubernetes version", "service-linked role", "quota", "instance types"),
    }
    assert ran.code == 0
    place.write("multiarch-eks:nodeGroups:", "multiarch-eks:logging: {types: []}\n  multiarch-eks:nodeGroups:")
    assert rows(place.examine(STACK), "log group") == []


@pytest.mark.parametrize(
    ("fault", "check", "state", "text", "fix"),
    [
        (lambda at: at.program("pulumi", "v3.1.0"), "engine", "failed", "3.1.0, older than 3.259.0", "Install"),
        (lambda at: at.program("aws", "aws-cli/2.6.9 x"), "aws cli", "failed", "2.6.9, older than 2.7.0", "Install"),
        (lambda at: at.program("aws", "?"), "aws cli", "unknown", "printed no version: ?", ""),
        (lambda at: (at.programs / "aws").unlink(), "aws cli", "failed", "`aws` is not on PATH", "Install"),
        (lambda at: (at.programs / "session-manager-plugin").unlink(), "tool", "warning", "shells on nodes", "Install"),
        (lambda at: (at.clone / ".venv").unlink(), "python", "failed", "Python of .venv is not there", "`make venv`"),
        (
            lambda at: at.program("pulumi", 'END\n[ "$1" = version ] && echo v3.259.0 || cat <<END\n[]'),
            *("plugin", "warning", f"aws {version('pulumi-aws')} is not installed", "`pulumi plugin install resource"),
        ),
        (
            lambda at: at.remote.set_faults(quotas={VCPUS: 2}),
            *("quota", "failed", "on-demand instances: 2 vCPU", "--desired-value 4 --region eu-west-1"),
        ),
        (
            lambda at: at.remote.set_faults(quotas={VCPUS: 8}),
            *("quota", "warning", "the stack needs 4, up to 16", "--quota-code L-1216C47A --desired-value 16"),
        ),
        (lambda at: at.remote.set_faults(quotas={ADDRESSES: 0}), "quota", "failed", "0 addresses", "L-0263D0A3"),
        (lambda at: at.remote.set_faults(quotas={VPCS: 1}), "quota", "failed", "1 used by others", "L-F678F1CE"),
        (
            lambda at: at.aws.client("logs").create_log_group(logGroupName=GROUP),
            *("log group", "failed", f"the log group {GROUP} exists", "`aws logs delete-log-group"),
        ),
        (
            lambda at: at.aws.client("iam").delete_role(RoleName="AWSServiceRoleForAmazonEKS"),
            *("service-linked role", "warning", "AWSServiceRoleForAmazonEKS does", "service-name eks.amazonaws.com"),
        ),
        (
            lambda at: at.patch.delitem(CLUSTER_VERSIONS, "1.35"),
            *("kubernetes version", "failed", "does not offer 1.35", "kubernetesVersion"),
        ),
        (
            lambda at: at.write("arn:aws:iam::111122223333:role/platform-admin", f"arn:aws:iam::{ACCOUNT}:user/moto"),
            *("cluster", "failed", "runs Pulumi; whoever creates the cluster", "Remove it"),
        ),
        (
            Place.cluster,
            "cluster",
            "failed",
            "was created with 10.0.0.0/16, and that can't change to 10.20.0.0/16",
            "Write 10.0.0.0/16.",
        ),
        (
            lambda at: at.cluster(tags={}),
            "cluster",
            "failed",
            "something else created it",
            "Choose another clusterName.",
        ),
        (
            Place.node_group,
            *("node groups", "failed", "general-1 is CREATE_FAILED: NodeCreationFailure", "delete-nodegroup"),
        ),
        (
            lambda at: at.write("[m7g.large]", "[m7g.large]\n      ami: {id: ami-00000000000000000}"),
            *("image", "failed", "ami-00000000000000000 is not in eu-west-1, or not shared", "stack pin checkout-dev"),
        ),
        (
            lambda at: at.write("[m7g.large]", f"[m7g.large]\n      ami: {{id: {at.aws.image()}}}"),
            *("image", "failed", "is an image for x86_64", "Remove its ami"),
        ),
        (
            lambda at: at.write("[m7g.large]", f"[m7g.large]\n      ami: {{id: {at.aws.image('arm64')}}}"),
            *("image", "ok", "each ami.id is in eu-west-1", ""),
        ),
        (
            lambda at: at.patch.setattr("multiarch.runs.doctor.find_silence", lambda *_: "timed out"),
            *("charts", "failed", "kubernetes.github.io can't be reached: timed out", "charts.registry"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_fault_is_a_row_with_its_fix_and_stops_if_it_would_stop_an_up(
    place: Place, fault: Callable[[Place], object], check: str, state: str, text: str, fix: str
) -> None:
    fault(place)
    ran = place.examine(STACK)
    found = [row for row in rows(ran, check) if row["state"] == state]
    assert any(text in row["text"] and fix in row["fix"] for row in found), ran.out
    assert ran.code == (1 if ran.json["stops"] else 0)
    assert ran.json["stops"] or state != "failed"


def test_without_credentials_one_row_fails_and_one_names_what_needs_them(place: Place) -> None:
    place.patch.delenv("AWS_ACCESS_KEY_ID")
    ran = place.examine(STACK)
    (failed,) = (row for row in ran.json["rows"] if row["state"] == "failed")
    assert (failed["check"], failed["text"][:25]) == ("credentials", "Can't get AWS credentials")
    (unknown,) = (row for row in ran.json["rows"] if row["state"] == "unknown")
    assert unknown["text"].startswith("not checked without credentials: cluster, log group, kubernetes version, ")
    assert ran.code == 1


def test_what_iam_denies_is_unknown_with_the_action_and_does_not_fail(place: Place) -> None:
    def deny(*_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeLogGroups")

    place.patch.setattr("multiarch.runs.doctor.read_log_group", deny)
    ran = place.examine(STACK)
    (row,) = rows(ran, "log group")
    assert (row["state"], row["fix"]) == ("unknown", "Use credentials that allow DescribeLogGroups.")
    assert ran.code == 0


def test_without_a_stack_this_machine_and_the_credentials_are_checked(place: Place) -> None:
    place.patch.setenv("AWS_REGION", REGION)
    ran = place.examine()
    assert (ran.code, ran.json["stack"]) == (0, None)
    assert {row["check"] for row in ran.json["rows"]} == {
        *("python", "engine", "plugin", "aws cli", "tool", "credentials"),
    }
    place.patch.delenv("AWS_REGION")
    (row,) = rows(place.examine(), "credentials")
    assert (row["state"], row["text"]) == ("failed", "No AWS region is configured.")


def kept(name: str, revision: int, status: str) -> dict[str, Any]:
    """The metadata of a Secret that Helm keeps for a revision."""
    labels = {"owner": "helm", "name": name, "version": str(revision), "status": status}
    return {
        "metadata": {"name": f"sh.helm.release.v1.{name}.v{revision}", "namespace": "kube-system", "labels": labels}
    }


def test_a_release_that_is_not_deployed_is_named_and_no_secret_is_read(place: Place, tmp_path: Path) -> None:
    place.write("10.20.0.0/16", "10.0.0.0/16")
    place.cluster()
    asked: list[Request] = []
    items = [
        *(kept("cluster-autoscaler", 9, "superseded"), kept("cluster-autoscaler", 10, "pending-upgrade")),
        kept("other", 1, "failed"),
    ]

    def answer(request: Request) -> tuple[int, dict[str, Any], dict[str, str]]:
        asked.append(request)
        return 200, {"kind": "PartialObjectMetadataList", "metadata": {}, "items": items}, {}

    with serving_api(answer) as server:
        eks_backends[ACCOUNT][REGION].clusters[STACK].endpoint = server.url
        file = kubeconfigs.write(tmp_path / "config.json", server.url)
        ran = place.examine(STACK, "--kubeconfig", str(file))
    (row,) = rows(ran, "helm release")
    assert row["text"] == "kube-system/cluster-autoscaler is pending-upgrade (revision 10), not deployed"
    assert "`helm rollback cluster-autoscaler 10 --namespace kube-system --wait`" in row["fix"]
    assert ran.code == 1
    assert [(each.path, each.query["labelSelector"]) for each in asked] == [("/api/v1/secrets", "owner=helm")]
    assert all("as=PartialObjectMetadataList" in each.headers["accept"] for each in asked)


@pytest.mark.parametrize(
    ("state", "text", "fix", "makes"),
    [
        ("ok", "nothing that the stack declares", "", [{"type": "kubernetes:core/v1:ConfigMap", "id": PRIORITIES}]),
        ("failed", f"ConfigMap {PRIORITIES} is in the cluster {STACK} already", "delete it", []),
        ("unknown", "--stack shop-dev` failed: error: no login", "", "error: no login"),
        ("failed", "did not make it", "delete it", "error: no stack named 'shop-dev' found"),
    ],
)
def test_an_object_that_pulumis_state_does_not_have_is_anothers(
    place: Place, state: str, text: str, fix: str, makes: list[dict[str, str]] | str
) -> None:
    def answer(request: Request) -> Answer:
        asked.append(request)
        return (201, {"status": {"allowed": True}}, {}) if request.method == "POST" else (200, {}, {})

    asked: list[Request] = []
    place.cluster(accessConfig={"authenticationMode": "API"})
    file = place.existing(place.clone / "Pulumi.shop-dev.yaml")
    file.write_text(file.read_text() + SCALED)
    # The token is that of Pulumi's identity; no kubeconfig is there.
    credential = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1"}
    place.program("aws", json.dumps({**credential, "status": {"token": "k8s-aws-v1.of-pulumi"}}))
    exported = json.dumps({"deployment": {"resources": makes}})
    place.program("pulumi", exported)
    if isinstance(makes, str):
        (place.programs / "pulumi").write_text(f'#!/bin/sh\necho "{makes}" >&2\nexit 1\n')
    with serving_api(answer) as server:
        eks_backends[ACCOUNT][REGION].clusters[STACK].endpoint = server.url
        ran = place.examine(str(file))
    (row,) = [each for each in ran.json["rows"] if each["check"] in ("object", "kubernetes access")][1:]
    assert (row["state"], text in row["text"], fix in row["fix"]) == (state, True, True), row
    assert {each.headers["authorization"] for each in asked} == {"Bearer k8s-aws-v1.of-pulumi"}


def test_without_a_token_access_entries_are_read(place: Place) -> None:
    place.cluster(accessConfig={"authenticationMode": "API"})
    file = place.existing(place.clone / "Pulumi.shop-dev.yaml")
    file.write_text(file.read_text() + SCALED)
    place.program("aws", "no token")
    ran = place.examine(str(file))
    (row,) = rows(ran, "kubernetes access")
    assert (row["state"], "has no access entry" in row["text"]) == ("failed", True), row
    assert "--policy-arn arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy" in row["fix"]
    (row,) = rows(ran, "object")
    assert (row["state"], row["text"].startswith("objects in the cluster were not compared: ")) == ("unknown", True)


def test_the_policy_of_the_documents_has_the_actions_that_doctor_calls_and_no_others(place: Place) -> None:
    called = set[str]()
    place.write("[m7g.large]", "[m7g.large]\n      ami: {id: ami-00000000000000000}")
    place.aws.client("logs").create_log_group(logGroupName=GROUP)
    text = (CLONE / "examples" / "04-existing-vpc" / "Pulumi.ledger-staging.yaml").read_text()
    subnet = place.aws.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    in_a_vpc = place.clone / "Pulumi.ledger-staging.yaml"
    in_a_vpc.write_text(text.replace("subnet-0aaaaaaaaaaaaaaa1", subnet).replace("us-east-1", REGION))
    for with_cluster in (False, True):
        if with_cluster:
            place.node_group(encryptionConfig=[{"resources": ["secrets"], "provider": {"keyArn": "arn:aws:kms:x"}}])
        place.remote.forget_calls()
        place.examine(STACK)
        place.examine(str(in_a_vpc))
        existing = place.existing(place.clone / "Pulumi.shop-dev.yaml")
        existing.write_text(existing.read_text() + SCALED)
        place.examine(str(existing))
        called |= {name.replace("service-quotas:", "servicequotas:") for name in place.remote.calls()}
    page = (CLONE / "docs" / "how-to" / "doctor.md").read_text()
    (statement,) = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])["Statement"]
    # GetCallerIdentity needs no permission.
    assert called - {"sts:GetCallerIdentity"} == set(statement["Action"])


def test_the_look_before_a_run_calls_what_the_preview_role_of_ci_may(place: Place) -> None:
    rows_ = (*READS.values(), CHECKS)
    may = {action for row in rows_ for actions in row.values() for action in actions.split()}
    words, plan = load_plan(place.clone / "config" / "stacks" / f"Pulumi.{STACK}.yaml")
    place.aws.client("logs").create_log_group(logGroupName=GROUP)
    for rule in ("log-group-exists", "fixed-value"):
        if rule == "fixed-value":
            place.cluster(encryptionConfig=[{"resources": ["secrets"], "provider": {"keyArn": "arn:aws:kms:x"}}])
        place.remote.forget_calls()
        with pytest.raises(StackError) as rejected:
            reject_conflicts(words, plan)
        assert {each.rule for each in rejected.value.problems} == {rule}
        assert set(place.remote.calls()) <= may
    place.remote.forget_calls()
    with pytest.raises(StackError, match="the subnet subnet-00000000 does not exist"):
        reject_conflicts(*load_plan(place.existing(place.clone / "Pulumi.shop-dev.yaml")))
    called = set(place.remote.calls())
    assert {"eks:ListNodegroups", "eks:DescribeAddon", "ec2:DescribeSubnets"} <= called <= may


def test_aws_is_queried_as_the_role_that_the_stack_names(place: Place) -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/deployer"
    place.write("aws:region: eu-west-1", f"aws:region: eu-west-1\n  aws:assumeRoles: [{{roleArn: '{role}'}}]")
    (row,) = rows(place.examine(STACK), "credentials")
    assert row["text"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/multiarch in {REGION}"
    assert place.remote.calls()["sts:AssumeRole"] == 1
