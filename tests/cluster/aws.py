"""The sandbox's AWS for a test cluster, with what Karpenter looks up there."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from typing import Any

from sandbox.aws.remote import Remote
from sandbox.clients import get_client
from sandbox.cluster.control_plane import ControlPlane
from sandbox.cluster.programs import Programs, wait_for
from sandbox.layout import CLONE

REGION = "us-east-1"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
DISCOVERY = "karpenter.sh/discovery"
Instance = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Aws:
    """A running AWS server that holds one EKS cluster and its surroundings.

    Subnets (one per zone of :data:`ZONES`) and a security group carry the tag :data:`DISCOVERY` with the cluster's
    name; the queue for interruptions has that name too.
    """

    url: str
    cluster: str
    node_role: str

    @property
    def controls(self) -> Remote:
        """What tests set in the server: spot prices, shortages."""
        return Remote(self.url)

    def client(self, service: str) -> Any:  # noqa: ANN401 (botocore makes its clients at run time)
        """A boto3 client."""
        return get_client(service, self.url, REGION)

    def environ(self) -> dict[str, str]:
        """What leads an AWS program here, and nowhere else."""
        return {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_PROFILE": "",
            "AWS_SESSION_TOKEN": "",
        }

    def running_instances(self) -> list[Instance]:
        """Instances that run, sorted by id."""
        pages = (
            self.client("ec2")
            .get_paginator("describe_instances")
            .paginate(Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}])
        )
        found = [row for page in pages for reservation in page["Reservations"] for row in reservation["Instances"]]
        return sorted(found, key=lambda row: str(row["InstanceId"]))

    def ensure_node_role(self, name: str) -> None:
        """Make a role that nodes may take, unless it is there: an EC2NodeClass names one."""
        iam = self.client("iam")
        pages = iam.get_paginator("list_roles").paginate()
        if name not in {row["RoleName"] for page in pages for row in page["Roles"]}:
            iam.create_role(RoleName=name, AssumeRolePolicyDocument=_trust("ec2.amazonaws.com"))


def start(programs: Programs, plane: ControlPlane, *, cluster: str) -> Aws:
    """Start the sandbox's AWS and make the cluster, whose endpoint and version are those of ``plane``.

    Raises:
        ClusterError: the server ended, or did not answer in time.
    """
    program = programs.start("aws", [sys.executable, "-m", "sandbox.aws", "--port", "0"], {"PYTHONPATH": str(CLONE)})

    def address() -> str | None:
        program.still_running()
        said = re.search(r"^listening (\S+)$", program.log.read_text(), re.MULTILINE)
        return said[1] if said else None

    url = wait_for(address, "the AWS server", timeout=60)
    ec2, iam = get_client("ec2", url, REGION), get_client("iam", url, REGION)
    discovery = [{"Key": DISCOVERY, "Value": cluster}]
    rows = ec2.describe_subnets(Filters=[{"Name": "availability-zone", "Values": list(ZONES)}])["Subnets"]
    subnets = [row["SubnetId"] for row in rows]
    group = ec2.create_security_group(GroupName=f"{cluster}-node", Description="nodes", VpcId=rows[0]["VpcId"])
    ec2.create_tags(Resources=[*subnets, group["GroupId"]], Tags=discovery)
    role = iam.create_role(RoleName=f"{cluster}-control-plane", AssumeRolePolicyDocument=_trust("eks.amazonaws.com"))
    Remote(url).lead_clusters_to(plane.kube.access.url, plane.kube.access.authority)
    get_client("eks", url, REGION).create_cluster(
        name=cluster,
        version=".".join(plane.version.removeprefix("v").split(".")[:2]),
        roleArn=role["Role"]["Arn"],
        resourcesVpcConfig={"subnetIds": subnets, "securityGroupIds": [group["GroupId"]]},
    )
    get_client("sqs", url, REGION).create_queue(QueueName=cluster)
    made = Aws(url, cluster, f"{cluster}-node")
    made.ensure_node_role(made.node_role)
    return made


def _trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
