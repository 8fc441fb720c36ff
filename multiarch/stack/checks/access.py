"""Who may use the Kubernetes API, and from where."""

from __future__ import annotations

import re
from ipaddress import IPv4Network

from multiarch.errors import KeyPath, Problem
from multiarch.nodes.report import ProblemReport
from multiarch.schema.cluster import Access
from multiarch.schema.network import ApiEndpoint
from multiarch.stack.network import read_cidr
from multiarch.stack.origin import Origin, format_key

_PRINCIPAL = re.compile(r"arn:(aws[a-z-]*):iam::\d{12}:(role|user)/[\w+=,.@/-]+", re.ASCII)
# Roles of IAM Identity Center always have a path, which an access entry keeps.
# Source: EKS user guide, "Create access entries"; IAM Identity Center user guide, "Referencing permission sets".
_NOT_THE_ROLE = re.compile(r":(assumed-role/|role/(?=AWSReservedSSO_))(?P<name>[^/]+)")
_WIDEST = 8
"""The shortest prefix: no organisation has more addresses than a /8."""
# RFC 5737. Examples are written with them, and such a stack still goes into the sandbox.
_DOCUMENTATION = tuple(IPv4Network(cidr) for cidr in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


def check_access(spec: Access, report: ProblemReport) -> None:
    """Report principals that are neither IAM roles nor users or have two entries, and entries that EKS rejects."""
    seen: dict[str, KeyPath] = {}
    for path, arn in spec.list_principals():
        if found := _NOT_THE_ROLE.search(arn):
            report(
                "principal",
                path,
                f"{arn} is {'a session, not a role' if 'assumed-role' in arn else 'a role without its path'}.",
                hint=f"`aws iam get-role --role-name {found['name']} --query Role.Arn` shows the role's ARN.",
            )
        elif not _PRINCIPAL.fullmatch(arn):
            report("principal", path, f"{arn!r} is not the ARN of an IAM role or user.")
        elif arn in seen:
            report(
                "principal-twice",
                path,
                f"{arn} is already in {format_key(seen[arn])}, and an access entry is one per principal.",
                hint="Remove it here or there.",
            )
        seen.setdefault(arn, path)
    for name, entry in spec.entries.items():
        if not entry.policies and not entry.groups:
            message = "an entry without policies and groups permits nothing."
            report("access-entry-empty", ("access", "entries", name), message)
        for index, group in enumerate(entry.groups):
            if not group or group.startswith("system:"):
                message = f"{group!r} is a group that EKS rejects."
                report("access-group", ("access", "entries", name, "groups", index), message)


def check_creator(spec: Access, creator: str, origin: Origin) -> Problem | None:
    """Report the entry of ``access`` that is ``creator``, the ARN of who is about to create the cluster, or None.

    EKS makes the creator an admin with an access entry of its own, and rejects a second one for the same principal.
    """
    wanted = identify_principal(creator)
    for path, arn in spec.list_principals():
        if identify_principal(arn) == wanted:
            message = f"{arn} runs Pulumi; whoever creates the cluster is its admin, and EKS rejects a second entry."
            return origin.problem("creator-in-access", path, message)
    return None


def identify_principal(arn: str) -> tuple[str, str, str]:
    """Return account, kind and name of a role or user, also of a role's session, whose ARN lacks the role's path.

    Within an account, names are unique whatever their path.
    Source: IAM user guide, "IAM identifiers"; AWS STS API reference, AssumedRoleUser.
    """
    account, resource = arn.split(":", 5)[4:]
    kind, _, path = resource.partition("/")
    if kind == "assumed-role":
        return account, "role", path.partition("/")[0]
    return account, kind, path.rpartition("/")[2]


def check_api_endpoint(spec: ApiEndpoint, report: ProblemReport) -> None:
    """Check who can reach the API server, nodes among them."""
    path: KeyPath = ("apiEndpoint",)
    if not spec.private:
        report(
            "endpoint-not-private",
            (*path, "private"),
            "without the private endpoint nodes would reach the API server over the internet, through publicCidrs.",
        )
    if spec.public and not spec.public_cidrs:
        report("public-without-cidrs", (*path, "public"), "the public endpoint would be open to every address.")
    if spec.public_cidrs and not spec.public:
        report("cidrs-without-public", (*path, "publicCidrs"), "publicCidrs without public has no effect.")
    _check_ranges(spec, report)


def _check_ranges(spec: ApiEndpoint, report: ProblemReport) -> None:
    for index, cidr in enumerate(spec.public_cidrs):
        path: KeyPath = ("apiEndpoint", "publicCidrs", index)
        network = read_cidr(cidr, path, "203.0.113.0/24", report)
        if network is None:
            continue
        if network.prefixlen == 0:
            report("open-to-all", path, "0.0.0.0/0 opens the API server to the whole internet.")
        elif network.prefixlen < _WIDEST:
            report("open-to-all", path, f"{cidr} opens the API server to 1/{2**network.prefixlen} of the internet.")
        elif any(network.subnet_of(example) for example in _DOCUMENTATION):
            message = f"{cidr} is reserved for documentation; no traffic comes from it."
            report("documentation-cidr", path, message)
