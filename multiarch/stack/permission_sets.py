"""The IAM roles that IAM Identity Center makes of permission sets. The client is the caller's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from multiarch.errors import OutsideError

_PATH = "/aws-reserved/sso.amazonaws.com/"
# Source: IAM Identity Center user guide, "Referencing permission sets in resource policies, Amazon EKS cluster config
# maps, and AWS KMS key policies".
_NAME = re.compile(r"AWSReservedSSO_(?P<permission_set>.+)_[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class PermissionSetRole:
    """The role of a permission set in one account; ``arn`` has the role's path, as access entries need it."""

    permission_set: str
    arn: str


def find_permission_set_roles(name: str, client: Any) -> tuple[PermissionSetRole, ...]:  # noqa: ANN401  (boto3)
    """Query IAM for the roles of the permission set ``name`` in the client's account.

    Raises OutsideError with the names that there are if none has this one; botocore's own errors pass through.
    """
    pages = client.get_paginator("list_roles").paginate(PathPrefix=_PATH)
    roles = sorted((role["RoleName"], str(role["Arn"])) for page in pages for role in page["Roles"])
    known = [PermissionSetRole(match["permission_set"], arn) for role, arn in roles if (match := _NAME.fullmatch(role))]
    if found := tuple(each for each in known if each.permission_set == name):
        return found
    names = ", ".join(dict.fromkeys(each.permission_set for each in known))
    raise OutsideError(
        f"This account has no role of a permission set {name}.",
        hint=f"It has roles of: {names}."
        if names
        else "Assign the permission set to this account in IAM Identity Center, or use credentials of another account.",
    )
