"""docs/tutorial/existing-cluster.md, command by command, with the sandbox's AWS, the real engine and the real nodes.

The cluster is one of the console, with the endpoint of the real control plane. Its instance is the real amd64 node; the
instance that the guide's `pulumi up` adds becomes the real arm64 node. Nothing in the guide is left out: what this
machine lacks is in :data:`ADDED` and in :meth:`Walk.do`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest
from ruamel.yaml import YAML

from multiarch.facts.architectures import Architecture
from sandbox import environment, state
from sandbox.aws.remote import Remote
from sandbox.aws.ssm import ACCOUNT
from sandbox.aws.ssm_commands import Target
from sandbox.cluster import images
from sandbox.cluster.bootstrap.groups import ManagedGroup, group_start
from sandbox.cluster.cluster import Nodes
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import wait_for
from sandbox.existing.account import Account
from sandbox.existing.console import create_cluster
from sandbox.existing_demo import describe
from sandbox.inventory import Aws
from tests.cli.running import Ran, runner, type_of_run
from tests.cluster.objects import workload_of
from tests.e2e.conftest import watched
from tests.e2e.world import World
from tests.nodes.builders import CLUSTER
from tests.prices.stand_in import instance, serving
from tests.quotations import ROOT
from tests.real_nodes.groups import user_data
from tests.real_nodes.on_node import command_prefix
from tests.real_nodes.pods import SHORT, SPACE, namespace

pytestmark = pytest.mark.e2e
GUIDE: Final = ROOT / "docs" / "tutorial" / "existing-cluster.md"
NAME, REGION = "shop-prod", "eu-central-1"
FIRST: Final = "first-dev"
"""A stack file by which AWS is started, before there is one of the cluster."""
AMD64, ARM64 = Architecture
TYPES: Final = {AMD64: "t3.medium", ARM64: "t4g.medium"}
PRICES: Final = {AMD64: "0.0480", ARM64: "0.0384"}
ADDED: Final[Mapping[str, Sequence[str]]] = {
    # There is no terminal to answer in.
    "pulumi (up|destroy) ": ("--yes", "--skip-preview"),
    # The registry of the nodes' images has a name for them alone.
    "multiarch (audit|cost|rebalance|report|verify pods|workload patch) ": ("--hosts-dir", "{hosts}"),
    # 30 seconds from one pod to the next would show nothing more.
    "multiarch rebalance .*--apply": ("--pace", "1s"),
}
"""Words that are added to commands that match."""
SAYS: Final[Mapping[str, str]] = {
    "pulumi preview ": r"\+ \d+ to create\n(?!.*to (update|delete|replace))",
    "multiarch report ": r"Wrote shop-prod\.html\.",
    "multiarch audit images ": r"1 image for amd64 and arm64: 1 supported",
    "multiarch stack new ": r"config/stacks/Pulumi\.shop-prod\.yaml",
    "multiarch stack check ": r"1 stack: 0 errors",
    "multiarch doctor ": r"cluster +ok +shop-prod takes the stack's nodes",
    # Beside the finding: this machine does not run Amazon Linux.
    "multiarch verify nodes ": r"node-arm64 +workers-arm64 +arm64 (?s:.*)error: [^\[]*\[ami-family\]\n(?!.*error: )",
    "multiarch workload patch ": r"tolerates arch=arm64:NoSchedule; prefers architecture arm64",
    "multiarch rebalance shop-prod$": r"2 of 2 pods on amd64 nodes could run on arm64; 2 would be moved",
    "multiarch rebalance .*--apply": r"2 pods moved",
    "multiarch verify pods ": r"2 containers: 0 wrong, 0 cannot tell, 0 consistent, 2 proven",
    "multiarch cost ": r"workers-arm64 +arm64 on-demand +t4g\.medium +1 +28\.03",
}
"""What commands print, by what they match."""
OBSERVE: Final = {
    "enabled": True,
    "image": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/multiarch-webhook@sha256:{'0' * 64}",
    "configuration": {"mode": "observe"},
}
FAILS: Final = ("multiarch verify nodes ",)


@dataclass(frozen=True, slots=True)
class Walk:
    """The reader's clone, and what is behind it."""

    world: World
    nodes: Nodes
    run: type_of_run

    @property
    def aws(self) -> Aws:
        return Aws(self.world.server.url, REGION)

    def environ(self) -> dict[str, str]:
        known, root = state.load(self.world.layout), self.world.root
        assert known.engine is not None
        built = environment.build(self.world.layout, known.engine, self.world.server.url, FIRST, os.environ)
        own = {"COLUMNS": "120", "DOCKER_CONFIG": str(root), "KUBECONFIG": str(root / "kubeconfig")}
        return {**built.applied_to(os.environ), **own, "XDG_CACHE_HOME": str(root / "cache")}

    def do(self, command: str) -> None:
        """Run a command as the guide has it, but for :data:`ADDED`, and look at what it prints."""
        program, *words = shlex.split(command)
        for pattern, added in ADDED.items():
            if re.match(pattern, command):
                words += [each.format(hosts=self.nodes.hosts) for each in added]
        if program == "aws":
            # The real AWS CLI: the sandbox's stand-in, first on PATH, has the token that the control plane takes.
            own = [str(Path(sys.executable).with_name("aws")), *words]
            subprocess.run(own, env=self.environ(), check=True, capture_output=True, timeout=60)
            return
        if program == "pulumi":
            said = self.world.pulumi(NAME, *[each for each in words if each not in ("--stack", NAME)]).stdout
        else:
            ran = self._multiarch(words)
            assert ran.code == command.startswith(FAILS), f"{command}: {ran.code}\n{ran.out}\n{ran.err}"
            said = ran.out + ran.err
        for pattern, text in SAYS.items():
            assert not re.match(pattern, command) or re.search(text, said), f"{command}: {text}\n{said}"

    def _multiarch(self, words: Sequence[str]) -> Ran:
        environ = self.environ()
        with contextlib.ExitStack() as stack:
            if words[0] == "prices":  # the sandbox has no prices
                stand = stack.enter_context(serving())
                stand.products += [instance(TYPES[each], PRICES[each], REGION) for each in Architecture]
                environ["AWS_ENDPOINT_URL"] = stand.url
            stack.enter_context(mock.patch.dict(os.environ, environ, clear=True))
            stack.enter_context(contextlib.chdir(self.world.root))
            return self.run(*words)

    def join(self, architecture: Architecture, group: str, flags: Sequence[str] = (), **config: Any) -> None:
        """Let the real node of an architecture be the only instance of a managed group."""
        found = self.aws.client("eks").describe_nodegroup(clusterName=NAME, nodegroupName=group)["nodegroup"]
        names = [each["name"] for each in found["resources"]["autoScalingGroups"]]
        scaling = self.aws.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=names)
        (row,) = scaling["AutoScalingGroups"][0]["Instances"]
        node, zone = self.nodes.by_architecture[architecture], row["AvailabilityZone"]
        node.start_kubelet(flags, config, provider_id=f"aws:///{zone}/{row['InstanceId']}")
        node.ready()
        # What EKS adds to a Node.
        labels = {
            "eks.amazonaws.com/capacityType": "ON_DEMAND",
            "eks.amazonaws.com/nodegroup": group,
            "node.kubernetes.io/instance-type": TYPES[architecture],
            "topology.kubernetes.io/region": REGION,
            "topology.kubernetes.io/zone": zone,
        }
        self.patch_node(architecture, {"metadata": {"labels": labels}})
        Remote(self.world.server.url).register(row["InstanceId"], Target(command_prefix=command_prefix(node)))

    def join_arm64(self) -> None:
        """Start the node of the stack's group with its user data."""
        (group,) = self.world.plan(NAME).node_groups
        (name,) = set(self.aws.client("eks").list_nodegroups(clusterName=NAME)["nodegroups"]) - {"workers"}
        start = group_start(group, user_data(group), CLUSTER, ManagedGroup(name))
        self.join(ARM64, name, start.flags, **start.config)

    def installed_webhook(self) -> Mapping[str, Any]:
        """Return the values of the webhook's release."""
        released = "kubernetes:helm.sh/v3:Release"
        (release,) = [each for each in self.world.resources(NAME) if each["type"] == released]
        values: Mapping[str, Any] = release["inputs"]["values"]
        return values

    def patch_node(self, architecture: Architecture, change: Object) -> None:
        meta = {"name": self.nodes.by_architecture[architecture].name}
        self.nodes.plane.kube.patch({"apiVersion": "v1", "kind": "Node", "metadata": meta}, change)

    def roll_out(self, manifest: Path) -> None:
        """Apply the manifest; nothing of it fits on the arm64 node meanwhile, so that pods are left to move."""
        kube = self.nodes.plane.kube
        self.patch_node(ARM64, {"spec": {"unschedulable": True}})
        applied = kube.apply(YAML(typ="safe").load(manifest))
        generation = applied["metadata"]["generation"]

        def done() -> bool:
            status = (kube.get("apps/v1", "Deployment", "api", SPACE) or {}).get("status", {})
            counts = {status.get(f"{each}eplicas") for each in ("r", "updatedR", "availableR")}
            pods = kube.list("v1", "Pod", SPACE)
            return status.get("observedGeneration") == generation and counts == {2} == {len(pods)}

        wait_for(done, "the new pods", timeout=90)
        self.patch_node(ARM64, {"spec": {"unschedulable": None}})

    def places(self) -> list[str]:
        found = self.nodes.plane.kube.list("v1", "Pod", SPACE)
        running = [each for each in found if each["status"]["phase"] == "Running"]
        return [each["spec"]["nodeName"] for each in running if "deletionTimestamp" not in each["metadata"]]


@pytest.fixture
def walk(real_nodes: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Walk]:
    """The cluster with its amd64 node; AWS and the engine are there, and no stack."""
    plane = real_nodes.plane
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()
    with watched(tmp_path / "clone") as world, namespace(plane.kube):
        world.stack_file(FIRST).write_text(f"config:\n  aws:region: {REGION}\n")
        world.sandbox("vpc", FIRST)  # starts AWS
        Remote(world.server.url).lead_clusters_to(plane.kube.access.url, plane.kube.access.authority)
        environment.write_token(world.layout, plane.kube.access.token)
        made = Walk(world, real_nodes, runner(capsys))
        create_cluster(Account(made.aws.client, ".".join(plane.version.removeprefix("v").split(".")[:2])), NAME)
        sizes = {"minSize": 1, "maxSize": 2, "desiredSize": 1}
        made.aws.client("eks").update_nodegroup_config(clusterName=NAME, nodegroupName="workers", scalingConfig=sizes)
        made.join(AMD64, "workers")
        yield made
    for node in real_nodes.by_architecture.values():
        node.stop_kubelet()


def deployment() -> Object:
    return workload_of("Deployment", "api", SPACE, replicas=2, image=images.BOTH, **SHORT)


def test_each_command_runs_and_the_way_back_leaves_the_cluster_as_it_was(walk: Walk) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    commands, back = re.findall(r"^    (\S.*)$", text, re.MULTILINE), f"pulumi destroy --stack {NAME}"
    assert back in text
    for pattern in {*ADDED, *SAYS}:
        assert any(re.match(pattern, command) for command in [*commands, back]), pattern
    manifest = walk.world.root / "deploy" / "api.yaml"
    manifest.parent.mkdir()
    YAML().dump(deployment(), manifest)
    walk.nodes.plane.kube.create(deployment())
    wait_for(lambda: walk.places() == ["node-amd64"] * 2, "the pods on amd64", timeout=60)
    before, held = describe(walk.aws, NAME), walk.aws.everything()

    for command in commands:
        walk.do(command)
        if command.startswith("multiarch stack pin "):
            walk.world.edit(NAME, "admissionWebhook", value=OBSERVE)  # the other way of step 4
        if command.startswith("pulumi up "):
            assert walk.world.preview(NAME) == []
            assert walk.installed_webhook()["configuration"]["mode"] == "observe"
            walk.join_arm64()
        if command.startswith("multiarch workload patch "):
            walk.roll_out(manifest)
    assert walk.places() == ["node-arm64"] * 2
    assert TYPES[ARM64] in (walk.world.root / "shop-prod.html").read_text(encoding="utf-8")
    walk.do(back)
    assert (describe(walk.aws, NAME), walk.aws.everything()) == (before, held)
