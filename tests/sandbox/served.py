"""The sandbox's AWS for tests: one process, emptied before every test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

from sandbox.clients import get_client

CLONE = Path(__file__).resolve().parents[2]
REGION = "eu-west-1"


@contextmanager
def serving(*arguments: str, policies: bool = True) -> Iterator[subprocess.Popen[str]]:
    """Run ``python -m sandbox.aws``; it is stopped by SIGTERM at the end.

    Without AWS's own IAM ``policies`` the server is emptied in no time.
    """
    environment = {**os.environ, "PYTHONPATH": str(CLONE), "MOTO_IAM_LOAD_MANAGED_POLICIES": str(policies).lower()}
    command = [sys.executable, "-m", "sandbox.aws", "--port", "0", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def address(process: subprocess.Popen[str]) -> str:
    """The address the server says it listens on."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening http://127.0.0.1:"), line
    return line.split()[1]


class Served:
    """A running server. ``client`` gives a boto3 client of a service."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def client(self, service: str) -> Any:  # noqa: ANN401 (botocore makes its clients at run time)
        return get_client(service, self.endpoint, REGION)

    def empty(self) -> None:
        """Back to what moto brings."""
        answer = urllib3.PoolManager().request("POST", f"{self.endpoint}/moto-api/reset")
        assert answer.status == 200

    def network(self) -> tuple[str, list[str]]:
        """A VPC with two subnets in two zones."""
        ec2 = self.client("ec2")
        vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        subnets = [
            ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"{REGION}{zone}")
            for number, zone in enumerate("ab")
        ]
        return vpc, [row["Subnet"]["SubnetId"] for row in subnets]

    def image(self, architecture: str = "x86_64") -> str:
        """EKS's recommended image for Kubernetes 1.35."""
        path = f"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/{architecture}/standard/recommended/image_id"
        return str(self.client("ssm").get_parameter(Name=path)["Parameter"]["Value"])

    def role(self, name: str = "role") -> str:
        """A role's ARN."""
        made = self.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument="{}")
        return str(made["Role"]["Arn"])

    def cluster(self, name: str = "shop", **more: Any) -> dict[str, Any]:
        """An EKS cluster in a network of its own."""
        _, subnets = self.network()
        settings = {
            "version": "1.35",
            "roleArn": self.role(f"{name}-cluster"),
            "resourcesVpcConfig": {"subnetIds": subnets},
            "accessConfig": {"authenticationMode": "API"},
            **more,
        }
        made: dict[str, Any] = self.client("eks").create_cluster(name=name, **settings)["cluster"]
        return made
