"""What components tell about what they declared.

Without deferred annotations: Pulumi reads them to infer the schema that other languages see.
"""

from typing import TypedDict

import pulumi


class NodeGroupOutput(TypedDict):
    """One node group."""

    architecture: str
    """amd64 or arm64, as the plan derives it from the instance types."""

    kind: str
    """managed or self-managed."""

    capacityType: str
    """on-demand or spot."""

    amiType: str
    """The EKS API's amiType; CUSTOM with a custom AMI."""

    instanceTypes: list[str]
    """The instance types, in order of preference."""

    taints: list[str]
    """The nodes' taints, as kubectl writes them."""

    autoScalingGroup: pulumi.Output[str | None]
    """The name of the Auto Scaling Group."""
