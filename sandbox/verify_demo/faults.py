"""Four faults in a healthy cluster, each on a machine that the demo starts for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import NodeGroupPlan
from multiarch.stack.model import Plan
from sandbox.aws.remote import Remote
from sandbox.cluster.kube import Kube
from sandbox.inventory import Aws
from sandbox.layout import SandboxUsageError
from sandbox.verify_demo.machines import Machine, list_machines
from sandbox.verify_demo.pods import LYING, RunningPod

_PROFILE = "multiarch-sandbox-verify-demo"
_CONSOLE = """\
[    4.812345] cloud-init[1612]: Cloud-init v. 22.2.2 running 'modules:final'
nodeadm[1702]: {"level":"info","msg":"Starting kubelet.."}
kubelet[1811]: E0101 kubelet_node_status.go:113] "Unable to register node with API server" err="Unauthorized"
"""


@contextlib.contextmanager
def add_faults(aws: Aws, plan: Plan, group: NodeGroupPlan, kube: Kube, remote: Remote) -> Iterator[Mapping[str, str]]:
    """Start the machines in ``group``, which has arm64 nodes with a taint; give what is wrong, by instance or object.

    At the end the machines are terminated. The last one registers without its taint, and runs the image that declares
    arm64 and holds an amd64 program.
    Raises SandboxUsageError if the group, or every amd64 group, has no node.
    """
    every = list_machines(aws, plan)
    sample = next((each for each in every if each.group is group), None)
    other = next((each for each in every if each.architecture is Architecture.AMD64), None)
    if sample is None or other is None:
        raise SandboxUsageError(f"{group.name}, or every amd64 group, has no node.", hint="Set minSize to 1 or more.")
    iam, ec2 = aws.client("iam"), aws.client("ec2")
    iam.create_instance_profile(InstanceProfileName=_PROFILE)
    # EC2 itself rejects this start, unless the image is registered with a wrong architecture.
    wrong = _launch(aws, sample, image=str(other.row["ImageId"]))
    silent, bare = _launch(aws, sample), _launch(aws, sample)
    try:
        remote.set_console(silent, _CONSOLE)
        found = next(each for each in list_machines(aws, plan) if each.id == bare)
        machine = replace(found, registers=replace(found.registers, taints=()))
        lying = RunningPod(LYING, bare, machine.architecture)
        machine.join(kube, remote, [lying])
        yield {
            wrong: "its AMI has the wrong architecture",
            machine.node: "its kubelet was started without the taint",
            silent: "it never joined",
            lying.name: "its image declares arm64 and holds an amd64 program",
        }
    finally:
        ec2.terminate_instances(InstanceIds=[wrong, silent, bare])
        iam.delete_instance_profile(InstanceProfileName=_PROFILE)


def _launch(aws: Aws, sample: Machine, *, image: str = "") -> str:
    """Start another instance like ``sample``, with another image if one is given; return its ID."""
    tags = [tag for tag in sample.row["Tags"] if not tag["Key"].startswith("aws:")]
    answer = aws.client("ec2").run_instances(
        ImageId=image or sample.row["ImageId"],
        InstanceType=sample.row["InstanceType"],
        IamInstanceProfile={"Name": _PROFILE},
        SubnetId=sample.row["SubnetId"],
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    return str(answer["Instances"][0]["InstanceId"])


def arm64_group(plan: Plan) -> NodeGroupPlan | None:
    """Return the group that gets the faults; None if the stack has no arm64 group with a taint and an amd64 group."""
    if not any(each.architecture is Architecture.AMD64 for each in plan.node_groups):
        return None
    return next((each for each in plan.node_groups if each.architecture is Architecture.ARM64 and each.taints), None)
