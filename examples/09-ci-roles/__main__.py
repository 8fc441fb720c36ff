"""Creates the roles that CI assumes: for previews, for updates of each environment, for pushing images."""

from __future__ import annotations

from typing import Any

import pulumi
from multiarch_eks.ci import CiRoles, CiRolesArgs, Environment, GitHub, GitLab, State
from multiarch_eks.component import Naming

config = pulumi.Config()


def setting(name: str, default: object) -> Any:  # noqa: ANN401 (what Pulumi read from YAML)
    """Return a value of the stack's file."""
    found = config.get_object(name)
    return default if found is None else found


github, gitlab = setting("github", {}), setting("gitlab", {})
issuers = [
    *([GitHub(github["repository"], provider_arn=github.get("providerArn"))] if github else []),
    *([GitLab(gitlab["project"], provider_arn=gitlab.get("providerArn"))] if gitlab else []),
]
environments = [
    Environment(name, row["policies"], session_seconds=int(row.get("sessionSeconds", 7200)))
    for name, row in sorted(setting("environments", {}).items())
]
roles = CiRoles(
    "ci-roles",
    CiRolesArgs(
        naming=Naming(cluster=config.get("name") or "eks-ci", tags=()),
        issuers=issuers,
        environments=environments,
        branch=config.get("branch") or "main",
        state=State(bucket=config.get("stateBucket"), key_arns=setting("stateKeys", [])),
        clusters=setting("clusters", []),
        repositories=setting("repositories", []),
        permissions_boundary=config.get("permissionsBoundary"),
    ),
)
pulumi.export("previewRoleArn", roles.preview_role_arn)
pulumi.export("updateRoleArns", roles.update_role_arns)
pulumi.export("imagesRoleArn", roles.images_role_arn)
