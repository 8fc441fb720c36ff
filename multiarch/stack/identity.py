"""Whose identity Pulumi uses for AWS, as far as a stack's configuration says it.

The AWS provider reads ``aws:profile`` and ``aws:assumeRoles``. The Kubernetes provider does not: it gets a token from
``aws eks get-token``, which would use the environment's identity, so that the kubeconfig must name the same one.
Source: Pulumi registry, AWS provider, "Configuration reference"; AWS CLI reference, eks get-token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from multiarch.errors import Problem
from multiarch.frozen import dataclass
from multiarch.nodes.model import ClusterFacts
from multiarch.stack.engine_config import AWS
from multiarch.stack.origin import Origin

# `aws eks get-token` has nothing for these; all of them change whose identity the AWS provider uses.
_NOT_PASSED_ON = {
    "accessKey",
    "assumeRoleWithWebIdentity",
    "secretKey",
    "sharedConfigFiles",
    "sharedCredentialsFiles",
    "token",
}
_FORM = "Write aws:assumeRoles: [{roleArn: ARN}]."
# They change neither the role nor what access entries see.
_HARMLESS = {"roleArn", "duration", "sessionName"}


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """``profile`` is one of the AWS CLI's configuration, ``role_arn`` a role to assume; None: the environment's."""

    profile: str | None = None
    role_arn: str | None = None


OF_THE_ENVIRONMENT = AwsIdentity()


def read_identity(found: Mapping[str, Any], origin: Origin, problems: list[Problem]) -> AwsIdentity:
    """Read the AWS provider's settings; what the Kubernetes provider can't use is added to ``problems``.

    No value is repeated in a message: some are secrets.
    """

    def reject(message: str, *path: str | int, hint: str = "") -> None:
        problems.append(origin.problem("aws-identity", (f"{AWS}:{path[0]}", *path[1:]), message, hint=hint))

    for name in found.keys() & _NOT_PASSED_ON:
        reject(f"aws:{name} does not reach the Kubernetes provider.", name)
    if "assumeRole" in found:
        reject("aws:assumeRole is not read by the AWS provider.", "assumeRole", hint=_FORM)
    profile = str(found.get("profile") or "") or None
    roles, arn = _parsed(found.get("assumeRoles")), None
    if roles in (None, "", []):
        return AwsIdentity(profile)
    if not isinstance(roles, list) or not all(isinstance(role, Mapping) for role in roles):
        reject("aws:assumeRoles is not a list of mappings.", "assumeRoles", hint=_FORM)
    elif len(roles) > 1:
        reject("the Kubernetes provider assumes one role, not several in a chain.", "assumeRoles")
    else:
        for key in roles[0].keys() - _HARMLESS:
            reject(f"{key} of an assumed role does not reach the Kubernetes provider.", "assumeRoles", 0, key)
        if not (arn := roles[0].get("roleArn")):
            reject("the role has no roleArn.", "assumeRoles", hint=_FORM)
    return AwsIdentity(profile, str(arn) if arn else None)


def _parsed(written: object) -> object:
    """Return a list as a file has it, or as the engine hands it over: as JSON."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written) if written else None
    except (ValueError, RecursionError):
        return written


def format_kubeconfig(cluster: ClusterFacts, region: str, identity: AwsIdentity) -> str:
    """Return a kubeconfig as JSON (which is YAML) whose credential plugin requests a token from the AWS CLI.

    The token is ``identity``'s, the same that the AWS provider uses: as an option a profile goes before credentials in
    the environment, as it does there. Source: EKS user guide, "Connect kubectl to an EKS cluster by creating a
    kubeconfig file"; AWS CLI reference, eks get-token.
    """
    name = cluster.name
    profile = ["--profile", identity.profile] if identity.profile else []
    role = ["--role-arn", identity.role_arn] if identity.role_arn else []
    get_token = ["eks", "get-token", "--cluster-name", name, *role, "--output", "json"]
    command = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["--region", region, *profile, *get_token],
        "interactiveMode": "IfAvailable",
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": cluster.endpoint,
                    "certificate-authority-data": cluster.certificate_authority,
                },
            }
        ],
        "users": [{"name": name, "user": {"exec": command}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2, sort_keys=True)
