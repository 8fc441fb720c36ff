"""moto's EKS with the sandbox's operations in front, found by a table of HTTP routes."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from moto.core.request import Request
from moto.eks import models, urls

from sandbox.aws.eks_access import EksAccess
from sandbox.aws.eks_base import invalid
from sandbox.aws.eks_clusters import EksClusters
from sandbox.aws.eks_nodegroups import EksNodegroups

_C = r"/clusters/(?P<name>[^/]+)"
_G = rf"{_C}/node-groups/(?P<nodegroupName>[^/]+)"
_E = rf"{_C}/access-entries/(?P<principalArn>.+?)"
_P = rf"{_C}/pod-identity-associations"
_A = rf"{_C}/addons"

# (HTTP method, path, operation); an ARN in a path holds slashes, so the longer path comes first.
ROUTES: Final = (
    ("POST", rf"{_A}", "CreateAddon"),
    ("GET", rf"{_A}", "ListAddons"),
    ("GET", rf"{_A}/(?P<addonName>[^/]+)", "DescribeAddon"),
    ("DELETE", rf"{_A}/(?P<addonName>[^/]+)", "DeleteAddon"),
    ("POST", rf"{_A}/(?P<addonName>[^/]+)/update", "UpdateAddon"),
    ("GET", r"/addons/supported-versions", "DescribeAddonVersions"),
    ("POST", rf"{_C}/access-entries", "CreateAccessEntry"),
    ("GET", rf"{_C}/access-entries", "ListAccessEntries"),
    ("DELETE", rf"{_E}/access-policies/(?P<policyArn>.+)", "DisassociateAccessPolicy"),
    ("POST", rf"{_E}/access-policies", "AssociateAccessPolicy"),
    ("GET", rf"{_E}/access-policies", "ListAssociatedAccessPolicies"),
    ("GET", _E, "DescribeAccessEntry"),
    ("DELETE", _E, "DeleteAccessEntry"),
    ("POST", _P, "CreatePodIdentityAssociation"),
    ("GET", _P, "ListPodIdentityAssociations"),
    ("GET", rf"{_P}/(?P<associationId>[^/]+)", "DescribePodIdentityAssociation"),
    ("POST", rf"{_P}/(?P<associationId>[^/]+)", "UpdatePodIdentityAssociation"),
    ("DELETE", rf"{_P}/(?P<associationId>[^/]+)", "DeletePodIdentityAssociation"),
    ("POST", rf"{_G}/update-version", "UpdateNodegroupVersion"),
    ("POST", rf"{_C}/updates", "UpdateClusterVersion"),
    ("POST", rf"{_C}/encryption-config/associate", "AssociateEncryptionConfig"),
)


class SandboxEks(EksClusters, EksNodegroups, EksAccess):
    """The sandbox's EKS: moto's operations, with the gaps filled."""

    def _get_action_from_method_and_request_uri(self, request: Request) -> str:
        path = unquote(request.path).rstrip("/")
        for method, pattern, operation in ROUTES:
            match = re.fullmatch(pattern, path) if request.method == method else None
            if match:
                self.uri_match = match.groupdict()
                return operation
        return super()._get_action_from_method_and_request_uri(request)


def check_role_arn(arn: str) -> None:
    """Refuse anything but a role's ARN. moto's own check loads all AWS endpoints at every call."""
    if not re.fullmatch(r"arn:aws[a-z-]*:iam::\d{12}:role/.+", arn):
        raise invalid(f"Invalid Role Arn: '{arn}'")


def install() -> None:
    """Route every EKS path, moto's and the table's, to :class:`SandboxEks`. Calling it twice changes nothing."""
    vars(models)["validate_role_arn"] = check_role_arn
    ours = {"{0}" + re.sub(r"\(\?P<(\w+)>\.\+\??\)", r"(?P<\1>.+)", pattern) + "$" for _, pattern, _ in ROUTES}
    for path in sorted(ours | set(urls.url_paths), key=len, reverse=True):
        urls.url_paths[path] = SandboxEks.dispatch
