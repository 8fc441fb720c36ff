"""Clusters that no stack made, in the shapes that other tools give them, for the sandbox's AWS.

Names, tags, roles and launch templates are those that eksctl, terraform-aws-eks and the console write. Each function
takes clients of boto3, and makes one cluster.
"""

from __future__ import annotations

from enum import StrEnum


class Tool(StrEnum):
    """What made a cluster."""

    EKSCTL = "eksctl"
    TERRAFORM = "terraform"
    CONSOLE = "console"
    AUTO_MODE = "auto-mode"
