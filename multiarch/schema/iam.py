"""IAM roles in organisations with guard rails: boundary, path, roles that exist already, policies of nodes."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from multiarch.schema.base import NAME_KEY, Section, declare_form, reject_duplicates, take_form

_ROLE = declare_form(
    r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$",
    "the ARN of an IAM role, such as arn:aws:iam::111122223333:role/teams/nodes",
)
_POLICY = declare_form(
    r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9_+=,.@/-]+$",
    "the ARN of a managed policy, such as arn:aws:iam::111122223333:policy/boundary",
)
# Source: Amazon ECR API reference, CreateRepository, repositoryName; ``*`` as in IAM.
_REPOSITORY = take_form(
    r"^([a-z0-9*][a-z0-9._/*-]{0,255}|arn:[a-z-]+:ecr:[a-z0-9*-]+:[0-9*]+:repository/[a-z0-9._/*-]+)$",
    "names of repositories of Amazon ECR or their ARNs, such as k8s/*",
    "k8s/*",
)
# An action of every service is "*"; who wants that attaches AdministratorAccess, which shows in reviews.
_ACTION = declare_form(r"^[a-z0-9-]+:[A-Za-z0-9*?]+$", "an action of an AWS service, such as s3:GetObject or s3:List*")
_RESOURCE = declare_form(r"^(\*|arn:[^:]+:[^:]+:.+)$", "an ARN, or *")
# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
_OPERATOR = declare_form(
    r"^(ForAllValues:|ForAnyValue:)?((String(Not)?Equals(IgnoreCase)?|String(Not)?Like|Arn(Not)?(Equals|Like)|Bool|"
    r"(Numeric|Date)((Not)?Equals|(LessThan|GreaterThan)(Equals)?)|BinaryEquals|(Not)?IpAddress)(IfExists)?|Null)$",
    "a condition operator of IAM, such as StringEquals or ForAnyValue:StringLike",
)
_PATH = declare_form(r"^/([A-Za-z0-9_+=,.@-]+/)*$", "a path that begins and ends with a slash, such as /teams/shop/")
RoleArn = Annotated[str, Field(pattern=_ROLE)]
PolicyArn = Annotated[str, Field(pattern=_POLICY)]


def _reject_host(repository: str) -> str:
    """Return a repository without its registry's host: IAM would look for one of that name."""
    if re.match(r"[0-9]{12}\.dkr[.-]ecr[.-]", repository):
        name = repository.partition("/")[2] or "shop/*"
        raise ValueError(f"{repository} has the registry's host before the repository's name: write {name}")
    return repository


EcrRepository = Annotated[str, _REPOSITORY, AfterValidator(_reject_host)]


class PolicyStatement(Section):
    """One statement of an IAM policy. It allows its actions."""

    actions: Annotated[list[Annotated[str, Field(pattern=_ACTION)]], Field(min_length=1)]
    """Actions, such as ``s3:GetObject`` or ``s3:List*``."""
    resources: Annotated[list[Annotated[str, Field(pattern=_RESOURCE)]], Field(min_length=1)]
    """ARNs, possibly with ``*``."""
    conditions: dict[Annotated[str, Field(pattern=_OPERATOR)], dict[str, str | list[str]]] = {}
    """Conditions of IAM: operator, key, and a value or a list of values."""


class ServiceAccount(Section):
    """The IAM role of the pods of one service account."""

    namespace: str
    """The namespace of the service account."""
    name: str | None = None
    """The name of the service account. Default: the key. The stack does not create it."""
    policies: Annotated[list[PolicyArn], AfterValidator(reject_duplicates)] = []
    """ARNs of IAM policies of the role."""
    statements: list[PolicyStatement] = []
    """Statements of the role's own policy."""
    credentials: Literal["pod-identity", "irsa"] = "pod-identity"
    """How the pods get credentials. pod-identity: by the Pod Identity agent. irsa: by the cluster's OIDC provider, for
    pods on Fargate and old SDKs; the service account needs the annotation eks.amazonaws.com/role-arn with the ARN that
    the output serviceAccountRoles has.
    """


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
    pull_through_repositories: list[EcrRepository] = []
    """Repositories of pull-through caches in Amazon ECR that nodes and Fargate may create when they pull an image for
    the first time, where the stack creates their roles: names in the account and region of the stack, or ARNs, with
    ``*``.
    """
    service_accounts: dict[Annotated[str, Field(pattern=NAME_KEY)], ServiceAccount] = {}
    """Roles of workloads, one for each service account, by a name of your choice."""

    def get_role_path(self, name: str) -> str:
        """Return the path of the role ``name``: ``/`` without one."""
        if name not in self.roles:
            return self.path
        return f"{self.roles[name].partition(':role')[2].rpartition('/')[0]}/"
