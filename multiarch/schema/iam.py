"""IAM roles in organisations with guard rails: boundary, path, roles that exist already, policies of nodes."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from multiarch.schema.base import NAME_KEY, Section, reject_duplicates

_ROLE = r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$"
_POLICY = r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9_+=,.@/-]+$"
_PATH = r"^/([A-Za-z0-9_+=,.@-]+/)*$"
IAM_FORMS: Mapping[str, str] = {
    _ROLE: "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/teams/nodes",
    _POLICY: "the ARN of a managed policy, such as arn:aws:iam::111122223333:policy/boundary",
    _PATH: "a path that begins and ends with a slash, such as /teams/shop/",
}
"""What strings with a pattern take, in words, for messages."""
RoleArn = Annotated[str, Field(pattern=_ROLE)]
PolicyArn = Annotated[str, Field(pattern=_POLICY)]


class Iam(Section):
    """The IAM roles of the stack.

    Boundary and ``nodePolicies`` change in place. Another path or role replaces what uses it: the cluster, node groups.
    """

    permissions_boundary: PolicyArn | None = None
    """The ARN of the policy that limits every role that the stack creates. Default: none."""
    path: Annotated[str, Field(pattern=_PATH, max_length=512)] = "/"
    """The path of roles, instance profiles and policies that the stack creates, such as ``/teams/shop/``."""
    roles: dict[Annotated[str, Field(pattern=NAME_KEY)], RoleArn] = {}
    """Existing roles, in place of those that the stack would create: ARNs by the role's name in the stack, such as
    cluster, managed-nodes, karpenter. The stack attaches no policies to them. ``multiarch stack explain`` shows the
    names.
    """
    node_policies: Annotated[list[PolicyArn], Field(max_length=16), AfterValidator(reject_duplicates)] = []
    """ARNs of managed policies that the roles of nodes get in addition, where the stack creates these roles."""

    def get_role_path(self, name: str) -> str:
        """Return the path of the role ``name``: ``/`` without one."""
        if name not in self.roles:
            return self.path
        return f"{self.roles[name].partition(':role')[2].rpartition('/')[0]}/"
