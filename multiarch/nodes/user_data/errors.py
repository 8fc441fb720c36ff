"""The error of this package: user data that can't be rendered, or that EC2 would refuse."""

from __future__ import annotations

from multiarch.errors import MultiarchError
from multiarch.nodes.model import NodeGroupPlan


class UserDataError(MultiarchError):
    """A node group with settings that its AMI family or bootstrap case does not support. ``group`` is its name."""

    def __init__(self, group: NodeGroupPlan, message: str, *, hint: str = "") -> None:
        """``message`` continues the sentence after the group's name."""
        super().__init__(f"Node group {group.name!r} {message}", hint=hint)
        self.group = group.name
