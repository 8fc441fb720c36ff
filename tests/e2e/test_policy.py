"""The policy pack, run by the real engine's policy host in previews of this project's program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbox.layout import CLONE
from tests.e2e.world import NO_REFRESH, World

PACK = str(CLONE / "policy" / "__main__.py")
"""As a program: the sandbox's language host is older than the engine, and can't start a pack by its folder."""
BY_HAND = """
import pulumi_aws as aws

aws.ec2.LaunchTemplate("by-hand", image_id="ami-0123456789abcdef0")
ssh = {"protocol": "tcp", "from_port": 22, "to_port": 22, "cidr_blocks": ["0.0.0.0/0"]}
aws.ec2.SecurityGroup("by-hand", ingress=[ssh])
aws.iam.Policy("by-hand", policy='{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}')
aws.eks.NodeGroup(
    "by-hand",
    cluster_name="checkout-dev",
    node_role_arn="arn:aws:iam::123456789012:role/nodes",
    subnet_ids=["subnet-0123456789abcdef0"],
    ami_type="AL2023_x86_64_STANDARD",
    instance_types=["m7g.large"],
    scaling_config={"min_size": 1, "max_size": 3, "desired_size": 1},
)
"""


@pytest.fixture
def by_hand(platform: World) -> Iterator[World]:
    """The platform, whose program declares resources of its own too; they are previewed, and never made."""
    program = platform.root / "__main__.py"
    before = program.read_text(encoding="utf-8")
    program.write_text(before + BY_HAND, encoding="utf-8")
    try:
        yield platform
    finally:
        program.write_text(before, encoding="utf-8")


def test_what_the_components_declare_follows_every_mandatory_policy(platform: World) -> None:
    said = platform.pulumi("payments-prod", "preview", NO_REFRESH, "--policy-pack", PACK)
    assert "[mandatory]" not in said.stdout
    assert "multiarch-eks@v0.1.0" in said.stdout


def test_resources_written_by_hand_are_rejected_before_anything_is_made(by_hand: World) -> None:
    said = by_hand.pulumi("checkout-dev", "preview", NO_REFRESH, "--policy-pack", PACK, expect=1)
    policies = {line.split()[2] for line in said.stdout.splitlines() if "[mandatory]" in line and "by-hand" in line}
    assert policies == {
        "policy-architecture",
        "policy-arm64-taint",
        "policy-desired-size",
        "policy-encrypted-volumes",
        "policy-iam-wildcards",
        "policy-imdsv2",
        "policy-ssh-port",
    }
    assert "amiType AL2023_x86_64_STANDARD is amd64, but m7g.large is arm64." in said.stdout
