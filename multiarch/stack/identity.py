"""Whose identity Pulumi uses for AWS, as far as a stack's configuration says it.

The AWS provider reads ``aws:profile`` and ``aws:assumeRoles``. The Kubernetes provider does not: it gets a token from
``aws eks get-token``, which would use the environment's identity, so that the kubeconfig must name the same one.
Source: Pulumi registry, AWS provider, "Configuration reference"; AWS CLI reference, eks get-token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from multiarch.errors import KeyPath, Problem
from multiarch.stack.engine_config import AWS
from multiarch.stack.origin import Origin

# `aws eks get-token` has nothing for these; all of them change whose identity the AWS provider uses.
_NOT_PASSED_ON = (
    "accessKey",
    "assumeRoleWithWebIdentity",
    "secretKey",
    "sharedConfigFiles",
    "sharedCredentialsFiles",
    "token",
)
_FORM = "Write aws:assumeRoles: [{roleArn: ARN}]."
# They change neither the role nor what access entries see.
_HARMLESS = {"roleArn", "duration", "sessionName"}


@dataclass(frozen=True, slots=True)
class AwsIdentity:
    """``profile`` is one of the AWS CLI's configuration, ``role_arn`` a role to assume; None: the environment's."""

    profile: str | None = None
    role_arn: str | None = None


OF_THE_ENVIRONMENT = AwsIdentity()


def identity_of(found: Mapping[str, Any], origin: Origin, problems: list[Problem]) -> AwsIdentity:
    """Read the AWS provider's settings; what the Kubernetes provider can't use is added to ``problems``.

    No value is repeated in a message: some are secrets.
    """
    problems.extend(
        _problem(origin, (f"{AWS}:{name}",), f"aws:{name} does not reach the Kubernetes provider.")
        for name in _NOT_PASSED_ON
        if name in found
    )
    if "assumeRole" in found:
        message = "aws:assumeRole is not read by the AWS provider."
        problems.append(_problem(origin, (f"{AWS}:assumeRole",), message, _FORM))
    profile = found.get("profile")
    return AwsIdentity(str(profile) if profile else None, _role(found.get("assumeRoles"), origin, problems))


def _role(written: object, origin: Origin, problems: list[Problem]) -> str | None:
    path = (f"{AWS}:assumeRoles",)
    roles = _parsed(written)
    if roles in (None, "", []):
        return None
    if not isinstance(roles, list) or not all(isinstance(role, Mapping) for role in roles):
        problems.append(_problem(origin, path, "aws:assumeRoles is not a list of mappings.", _FORM))
        return None
    if len(roles) > 1:
        problems.append(_problem(origin, path, "the Kubernetes provider assumes one role, not several in a chain."))
        return None
    (role,) = roles
    problems.extend(_unsupported(role, origin, path))
    arn = role.get("roleArn")
    if not arn:
        problems.append(_problem(origin, path, "the role has no roleArn.", _FORM))
        return None
    return str(arn)


def _unsupported(role: Mapping[str, Any], origin: Origin, path: KeyPath) -> Iterator[Problem]:
    for key in sorted(role.keys() - _HARMLESS):
        message = f"{key} of an assumed role does not reach the Kubernetes provider."
        yield _problem(origin, (*path, 0, key), message)


def _problem(origin: Origin, path: KeyPath, message: str, hint: str = "") -> Problem:
    return origin.problem("aws-identity", path, message, hint=hint)


def _parsed(written: object) -> object:
    """A list as a file has it, or as the engine hands it over: as JSON."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written) if written else None
    except (ValueError, RecursionError):
        return written
