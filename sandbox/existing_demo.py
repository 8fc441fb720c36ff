"""A stack for a cluster that another tool made: from the cluster to the file, its arm64 nodes, and the way back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from typing import Any

from multiarch.errors import OutsideError
from sandbox import environment, project, server, state
from sandbox.commands import run_multiarch
from sandbox.existing import eksctl
from sandbox.existing.account import Account
from sandbox.inventory import Aws
from sandbox.layout import Layout
from sandbox.lifecycle import Sandbox

Say = Callable[[str], None]
STACK, REGION, VERSION = "shop-prod", "eu-central-1", "1.35"
"""The cluster has the stack's name."""


def show(layout: Layout, say: Say, show: Say) -> None:
    """Show it for a cluster of eksctl, in a sandbox of its own below that of ``layout``, removed at the end.

    Raises OutsideError if a command failed, the second preview shows a change, or the cluster is not as it was.
    """
    own = Layout(layout.folder / "existing-demo")
    sandbox = Sandbox(own, say, show)
    try:
        sandbox.down(force=True)
        project.make_empty(layout, own.root)
        aws = Aws(_start(own), REGION)
        eksctl.create_cluster(Account(aws.client, VERSION), STACK)
        say(f"the cluster {STACK} is there, as eksctl makes it, in a sandbox of its own; it has no Kubernetes API")
        before = describe(aws, STACK)
        environ = environment.read_aws(aws.url, REGION, os.environ)
        run_multiarch(("stack", "new", "--from-cluster", STACK, "--region", REGION), own.root, show, environ=environ)
        file = own.stacks_folder() / f"Pulumi.{STACK}.yaml"
        show(f"$ cat {file.relative_to(own.root)}\n{file.read_text(encoding='utf-8')}")
        run_multiarch(("stack", "pin", STACK), own.root, show, environ=environ)
        kept = layout.root / "build" / "existing-demo" / file.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)
        done = sandbox.up(STACK)
        say(f"{STACK} is up: {', '.join(done.changes)} in {done.duration}")
        _, changes = sandbox.preview(STACK)
        if changes:
            raise OutsideError("The preview after the update shows changes.")
        sandbox.destroy(STACK)
        if (after := describe(aws, STACK)) != before:
            differing = sorted(name for name in before if before[name] != after[name])
            raise OutsideError(f"The cluster is not as it was: {', '.join(differing)}.")
        say(f"the stack is destroyed, and the cluster as it was: {', '.join(before)} are the same, byte by byte")
        say(f"the stack file with its pins is {kept.relative_to(layout.root)}")
    finally:
        sandbox.down(force=True)
        shutil.rmtree(own.root, ignore_errors=True)


def describe(aws: Aws, name: str) -> dict[str, str]:
    """Return what AWS says of a cluster, as JSON: its description, groups, access entries, add-ons, network."""
    eks, ec2, named = aws.client("eks"), aws.client("ec2"), {"clusterName": name}
    cluster = eks.describe_cluster(name=name)["cluster"]
    groups = eks.list_nodegroups(**named)["nodegroups"]
    scaling = aws.client("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    vpc = [{"Name": "vpc-id", "Values": [cluster["resourcesVpcConfig"]["vpcId"]]}]
    found: dict[str, Any] = {
        "DescribeCluster": cluster,
        "DescribeNodegroup": [eks.describe_nodegroup(**named, nodegroupName=each)["nodegroup"] for each in groups],
        "DescribeAutoScalingGroups": sorted(each["AutoScalingGroupName"] for each in scaling),
        "ListAccessEntries": eks.list_access_entries(**named)["accessEntries"],
        "ListAddons": eks.list_addons(**named)["addons"],
        "DescribeSubnets": ec2.describe_subnets(Filters=vpc)["Subnets"],
        "DescribeSecurityGroups": ec2.describe_security_groups(Filters=vpc)["SecurityGroups"],
    }
    # A free address more or less is no change of a subnet.
    for subnet in found["DescribeSubnets"]:
        del subnet["AvailableIpAddressCount"]
    return {name: json.dumps(each, default=str, sort_keys=True) for name, each in found.items()}


def _start(layout: Layout) -> str:
    """Start an empty AWS, which the commands of the sandbox go on with; return its URL."""
    with state.exclusive(layout, "existing-demo"):
        running = server.start(layout)
        state.save(layout, state.State(server=running))
    return running.url
