"""Roles that CI assumes without stored credentials: previews, updates of each environment, pushing images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import iam

from ..component import Component, Naming
from ..iam import policies
from ..iam.roles import Role, give_access, give_inline
from . import permissions, trust
from .permissions import State
from .trust import Issuer

_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Environment:
    """Stacks that are updated together, such as all of ``prod``.

    ``policy_arns`` are what ``pulumi up`` needs; ``session_seconds`` must be longer than the longest update. Creating a
    cluster takes half an hour.
    """

    name: str
    policy_arns: Sequence[pulumi.Input[str]]
    session_seconds: int = 2 * _HOUR


@dataclass(frozen=True, slots=True)
class CiRolesArgs:
    """``naming.cluster`` is the first part of every role's name, which must be known when CI is configured.

    ``branch`` is the one that updates run from. ``clusters`` are names of existing clusters in the provider's region,
    whose objects previews read. ``repositories`` are names of repositories in Amazon ECR. ``permissions_boundary`` is
    the ARN of a policy that limits all these roles, whatever else is attached to them; ``path`` is theirs, such as
    ``/ci/``. ``required_boundary`` is the ARN of the permissions boundary that each role must have which an update
    creates, as ``iam.permissionsBoundary`` of the stacks names it.
    """

    naming: Naming
    issuers: Sequence[Issuer]
    environments: Sequence[Environment] = ()
    branch: str = "main"
    state: State = field(default_factory=State)
    clusters: Sequence[str] = ()
    repositories: Sequence[str] = ()
    permissions_boundary: pulumi.Input[str] | None = None
    path: str | None = None
    required_boundary: pulumi.Input[str] | None = None


class CiRoles(Component):
    """OIDC providers, and the roles that jobs assume: ``NAME-preview``, ``NAME-up-ENVIRONMENT``, ``NAME-images``.

    ``preview_role_arn`` reads what a preview with refresh reads, and nothing else. ``update_role_arns`` are by
    environment. ``images_role_arn`` may push to Amazon ECR; it is None without repositories.
    """

    preview_role_arn: pulumi.Output[str]
    update_role_arns: Mapping[str, pulumi.Output[str]]
    images_role_arn: pulumi.Output[str] | None

    def __init__(self, name: str, args: CiRolesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare them. Raises MultiarchError for a name that would widen the trust."""
        super().__init__(name, args.naming, opts)
        self._args = args
        branch = trust.check_branch(args.branch)
        self._issuers = [(issuer, self._arn_of(issuer)) for issuer in args.issuers]
        preview = self._role("preview", lambda issuer: issuer.previews(branch), _HOUR)
        give_inline(self, "preview", preview, permissions.preview(self.account, args.state))
        for cluster in args.clusters:
            self._entry(preview, cluster)
        self.preview_role_arn = pulumi.Output.from_input(preview.arn)
        self.update_role_arns = {
            each.name: pulumi.Output.from_input(self._update(each, branch).arn) for each in args.environments
        }
        self.images_role_arn = None
        if args.repositories:
            self.images_role_arn = pulumi.Output.from_input(self._images(branch).arn)
        self.register_outputs(
            {
                "previewRoleArn": self.preview_role_arn,
                "updateRoleArns": self.update_role_arns,
                "imagesRoleArn": self.images_role_arn,
            }
        )

    def _arn_of(self, issuer: Issuer) -> pulumi.Input[str]:
        """Return the ARN of the issuer's OIDC provider, of which an account has one for each URL."""
        if issuer.provider_arn is not None:
            return issuer.provider_arn
        name = type(issuer).__name__.lower()
        return iam.OpenIdConnectProvider(
            name,
            url=issuer.url,
            client_id_lists=[issuer.audience],
            tags=self.tags(name),
            opts=self.child(),
        ).arn

    def _entry(self, role: Role, cluster: str) -> None:
        """Let the role read the cluster's objects, Secrets included: Helm keeps its releases in them.

        AmazonEKSViewPolicy, which ``access.readers`` get, does not show Secrets. Source: EKS user guide, "Review access
        policy permissions".
        """
        give_access(self, f"preview-{cluster}", cluster, role, "", "AmazonEKSAdminViewPolicy", tag="preview")

    def _update(self, environment: Environment, branch: str) -> Role:
        name = f"up-{trust.check_environment(environment.name)}"
        role = self._role(name, lambda issuer: issuer.updates(environment.name, branch), environment.session_seconds)
        for number, policy in enumerate(environment.policy_arns):
            child = f"{name}-{number}"
            iam.RolePolicyAttachment(child, role=role.name, policy_arn=policy, opts=self.child())
        if state := self._args.state.access(self.account, write=True):
            give_inline(self, f"{name}-state", role, policies.document(state))
        if boundary := self._args.required_boundary:
            give_inline(self, f"{name}-boundary", role, permissions.require_boundary(boundary))
        return role

    def _images(self, branch: str) -> Role:
        role = self._role("images", lambda issuer: issuer.releases(branch), _HOUR)
        give_inline(self, "images", role, permissions.push_images(self.account, self._args.repositories))
        return role

    def _role(self, name: str, subjects: Callable[[Issuer], Sequence[str]], session_seconds: int) -> Role:
        trusted = [(issuer, provider, subjects(issuer)) for issuer, provider in self._issuers]
        made = iam.Role(
            name,
            name=f"{self.naming.cluster}-{name}",
            description=f"Assumed by CI: {name}",
            assume_role_policy=trust.assumed_by_jobs(trusted),
            max_session_duration=session_seconds,
            path=self._args.path,
            permissions_boundary=self._args.permissions_boundary,
            tags=self.tags(name),
            opts=self.child(),
        )
        return Role(made, made.arn, made.name)
