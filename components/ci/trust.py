"""Who may assume the roles of CI: jobs of one GitHub repository or GitLab project, by their OpenID Connect tokens.

IAM compares two claims of a token: ``aud``, which the job requests, and ``sub``, which GitHub or GitLab fills.
Source: GitHub documentation, "OpenID Connect reference"; GitLab documentation, "ID token authentication"; IAM user
guide, "Create a role for OpenID Connect federation".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from multiarch.errors import MultiarchError

from ..iam import policies

_REPOSITORY = re.compile(r"[\w.-]+(@\d+)?/[\w.-]+(@\d+)?")
_PROJECT = re.compile(r"[\w.-]+(/[\w.-]+)+")
_BRANCH = re.compile(r"[\w./-]+")
_ENVIRONMENT = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class GitHub:
    """A repository on GitHub.

    ``repository`` is ``OWNER/NAME``. Repositories with immutable subject claims (those created since July 2026) need
    ``OWNER@OWNER-ID/NAME@ID``, as the repository's OIDC settings show it. ``provider_arn`` is that of an OIDC provider
    that the account has already; without it, one is created. ``audience`` is what jobs request: the default is that of
    aws-actions/configure-aws-credentials. Raises MultiarchError for a repository that is not of this form.
    """

    repository: str
    url: str = "https://token.actions.githubusercontent.com"
    audience: str = "sts.amazonaws.com"
    provider_arn: pulumi.Input[str] | None = None

    def __post_init__(self) -> None:
        """Reject what would widen the trust: ``*`` and ``?`` have a meaning in IAM's conditions."""
        _check("repository", self.repository, _REPOSITORY, "OWNER/NAME")

    def previews(self, branch: str) -> list[str]:
        """Return subjects of pull requests from the repository itself, and of the nightly runs on ``branch``.

        GitHub issues no token to the pull request of a fork.
        """
        return [f"repo:{self.repository}:pull_request", f"repo:{self.repository}:ref:refs/heads/{branch}"]

    def updates(self, environment: str, _branch: str) -> list[str]:
        """Name the subject of jobs in ``environment``: its protection rules say who approves and which branches run."""
        return [f"repo:{self.repository}:environment:{environment}"]

    def releases(self, branch: str) -> list[str]:
        """Return subjects of ``branch`` and of every tag."""
        return [f"repo:{self.repository}:ref:refs/heads/{branch}", f"repo:{self.repository}:ref:refs/tags/*"]


@dataclass(frozen=True, slots=True)
class GitLab:
    """A project on GitLab.

    ``project`` is its path, such as ``group/subgroup/name``; the rest is as for :class:`GitHub`. Protect the branch for
    updates: the subject names no environment, and only the branch keeps a job from the roles for updates.
    """

    project: str
    url: str = "https://gitlab.com"
    audience: str = "https://gitlab.com"
    provider_arn: pulumi.Input[str] | None = None

    def __post_init__(self) -> None:
        """Reject what would widen the trust."""
        _check("project", self.project, _PROJECT, "GROUP/NAME")

    def previews(self, _branch: str) -> list[str]:
        """Return the subject of all branches of the project: that of a merge request is its source branch.

        A merge request of a fork runs in the fork, whose subject has another project. So it has if a member runs it in
        this project, since GitLab 18.2.2; before, such a job had this project's subject, with the fork's branch.
        """
        return [f"project_path:{self.project}:ref_type:branch:ref:*"]

    def updates(self, _environment: str, branch: str) -> list[str]:
        """Return the subject of ``branch``."""
        return [f"project_path:{self.project}:ref_type:branch:ref:{branch}"]

    def releases(self, branch: str) -> list[str]:
        """Return subjects of ``branch`` and of every tag."""
        return [f"project_path:{self.project}:ref_type:{kind}" for kind in (f"branch:ref:{branch}", "tag:ref:*")]


Issuer = GitHub | GitLab


def check_branch(name: str) -> str:
    """Return the name of a branch. Raises MultiarchError for one with other characters."""
    return _check("branch", name, _BRANCH, "letters, digits and . _ / -")


def check_environment(name: str) -> str:
    """Return the name of an environment, which is also part of a role's. Raises MultiarchError for other characters."""
    return _check("environment", name, _ENVIRONMENT, "letters, digits and . _ -")


def _check(what: str, value: str, form: re.Pattern[str], shown: str) -> str:
    if not form.fullmatch(value):
        raise MultiarchError(
            f"{what} {value!r} is invalid in a trust policy.", hint=f"Write {shown}, without wildcards."
        )
    return value


def assumed_by_jobs(trusted: Sequence[tuple[Issuer, pulumi.Input[str], Sequence[str]]]) -> pulumi.Output[str]:
    """Trust policy for jobs; each issuer comes with its provider's ARN and the subjects it is trusted for."""
    return policies.document([_statement(*each) for each in trusted])


def _statement(issuer: Issuer, provider_arn: pulumi.Input[str], subjects: Sequence[str]) -> policies.Statement:
    host = issuer.url.removeprefix("https://").rstrip("/")
    audience, subject = {f"{host}:aud": issuer.audience}, {f"{host}:sub": list(subjects)}
    condition: policies.Statement = (
        {"StringEquals": audience, "StringLike": subject}
        if any("*" in each for each in subjects)
        else {"StringEquals": {**audience, **subject}}
    )
    principal = {"Federated": provider_arn}
    return policies.trust(type(issuer).__name__, principal, "sts:AssumeRoleWithWebIdentity", condition)
