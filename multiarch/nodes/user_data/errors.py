"""The one fault of this package: user data that can't be written, or that EC2 would refuse."""

from __future__ import annotations

from multiarch.errors import MultiarchError
from multiarch.nodes.model import NodeGroupPlan


class UserDataError(MultiarchError):
    """A node group whose wishes its AMI family or its bootstrap case cannot carry out. ``group`` is its name."""

    def __init__(self, group: NodeGroupPlan, message: str, *, hint: str = "") -> None:
        """``message`` goes on after the group's name, as in ``has no …``."""
        super().__init__(f"Node group {group.name!r} {message}", hint=hint)
        self.group = group.name
