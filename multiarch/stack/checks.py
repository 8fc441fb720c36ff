"""What a stack may not be, beyond its node groups and network: contradictions that are refused before any AWS call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from ipaddress import IPv4Network

from multiarch.errors import Severity, UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts.limits import MAX_TAGS_PER_RESOURCE, RULES, NameKind, check_name
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import Path, Report
from multiarch.stack.schema import Access, Addons, ApiEndpoint, StackWords

PRODUCTION = frozenset({"live", "prod", "production"})
OWN_TAGS = ("team", "environment", "owner", "cost-center", "managed-by")
"""Tags that the plan writes itself."""
SUFFIX = 26
"""Characters that AWS resource names get after a prefix, so that a replacement has another name."""
_SOON = timedelta(days=60)
_PRINCIPAL = re.compile(r"arn:(aws[a-z-]*):iam::\d{12}:(role|user)/[\w+=,.@/-]+", re.ASCII)
_KMS_KEY = re.compile(r"arn:(aws[a-z-]*):kms:([a-z0-9-]+):\d{12}:key/[\w-]+", re.ASCII)
_ADDON_VERSION = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+")
_MAX_PUBLIC_CIDRS = 40
# RFC 5737. Examples are written with them, and such a stack still goes into the sandbox.
_DOCUMENTATION = tuple(IPv4Network(cidr) for cidr in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


def check_kubernetes(words: StackWords, today: date, report: Report) -> bool:
    """Report a version that EKS does not support; say whether the version is known at all."""
    path: Path = ("kubernetesVersion",)
    version = words.kubernetes_version
    try:
        status = kubernetes.support(version, today)
    except UnknownFactError as error:
        report("kubernetes-version", path, error.message, hint=error.hint, value=version)
        return False
    if status.tier == "unsupported":
        report(
            "kubernetes-unsupported",
            path,
            f"EKS support for Kubernetes {version} ended on {status.ends}.",
            hint=f"Use {kubernetes.DEFAULT_VERSION}; an existing cluster is upgraded one minor at a time.",
            value=version,
        )
    elif status.tier == "extended" and status.ends is not None and status.ends - today <= _SOON:
        report(
            "kubernetes-forced-upgrade",
            path,
            f"support for Kubernetes {version} ends on {status.ends}; then EKS upgrades the cluster by itself.",
            hint="Upgrade now, at a time of your choosing.",
            value=version,
            severity=Severity.WARNING,
        )
    elif status.tier == "extended":
        report(
            "kubernetes-extended",
            path,
            f"Kubernetes {version} is in extended support, which costs more per cluster hour, until {status.ends}.",
            hint="Plan the upgrade.",
            value=version,
            severity=Severity.WARNING,
        )
    elif status.tier == "unconfirmed":
        report(
            "kubernetes-unconfirmed",
            path,
            f"the support dates of Kubernetes {version} on EKS are not in the table of facts.",
            hint="Check the EKS release calendar.",
            value=version,
            severity=Severity.WARNING,
        )
    elif status.ends is not None and status.ends - today <= _SOON:
        report(
            "kubernetes-ends-soon",
            path,
            f"standard support for Kubernetes {version} ends on {status.ends}; after that the cluster "
            "costs more per hour.",
            hint="Plan the upgrade.",
            value=version,
            severity=Severity.WARNING,
        )
    return True


def check_names(stack: str, words: StackWords, groups: Sequence[NodeGroupPlan], report: Report) -> None:
    """Names that AWS would refuse, the derived ones too, and names that mean two groups."""
    cluster = words.cluster_name or stack
    path: Path = ("clusterName",) if words.cluster_name else ("team",)
    if fault := check_name(NameKind.CLUSTER, cluster):
        report("cluster-name", path, f"{fault}.", hint="Set clusterName.", value=cluster)
    for group in groups:
        _check_group_name(group, report)
    halves = {f"{name}-{half}": name for name in words.multi_architecture_groups for half in ("amd64", "arm64")}
    for name in sorted(set(words.node_groups) & (set(halves) | set(words.multi_architecture_groups))):
        whose = halves.get(name, name)
        report(
            "duplicate-group",
            ("nodeGroups", name),
            f"{name} is also a name of multiArchitectureGroups.{whose}.",
            hint="Rename one of them.",
            value=name,
        )


def _check_group_name(group: NodeGroupPlan, report: Report) -> None:
    path: Path = group.path
    longest = 63 - SUFFIX - 1
    if fault := check_name(NameKind.NODE_GROUP, group.name):
        report("group-name", path, f"{fault}.", hint="Rename the group.", value=group.name)
    elif not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", group.name):
        report(
            "group-name",
            path,
            f"{group.name!r} is not made of lower-case letters, digits and '-'; it becomes part of names that must be.",
            hint="Rename the group.",
            value=group.name,
        )
    elif len(group.name) > longest:
        report(
            "group-name",
            path,
            f"{group.name!r} has {len(group.name)} characters; with the suffix that AWS adds, "
            f"{longest} fit into a node group's name.",
            hint="Shorten it.",
            value=group.name,
        )
    for kind, prefix in (
        (NameKind.LAUNCH_TEMPLATE, group.launch_template_prefix),
        (NameKind.AUTO_SCALING_GROUP, group.name_prefix),
    ):
        # Other faults of the two names have been told where they stand.
        if len(prefix) + SUFFIX > (longest := RULES[kind].longest):
            report(
                "derived-name",
                path,
                f"with the suffix that AWS adds, {prefix!r} passes {longest} characters, the most for a {kind}.",
                hint="Shorten the group's or the cluster's name.",
                value=group.name,
            )


def check_zones(words: StackWords, report: Report) -> None:
    """In production the zones are named: a list that AWS changes would move subnets, and with them all nodes."""
    network = words.network
    if words.environment in PRODUCTION and network.vpc_id is None and not isinstance(network.zones, list):
        report(
            "zones-not-named",
            ("network", "zones"),
            f"the zones of {words.environment} are the region's first ones of the day; where AWS's list changes, "
            "subnets and nodes would be replaced.",
            hint="Name them in network.zones, such as [eu-west-1a, eu-west-1b, eu-west-1c].",
            value=network.zones,
            severity=Severity.WARNING,
        )


def check_tags(words: StackWords, report: Report) -> None:
    """Tag keys and values that AWS would refuse, and those that the plan writes itself."""
    for key, value in words.tags.items():
        path: Path = ("tags", key)
        if key in OWN_TAGS or key == "Name":
            report(
                "own-tag",
                path,
                f"the tag {key} is written by the plan.",
                hint="Use the stack's own keys (team, environment, owner, costCenter).",
                value=value,
            )
        elif fault := check_name(NameKind.TAG_KEY, key) or check_name(NameKind.TAG_VALUE, value):
            report("tag", path, f"{fault}.", hint="Rewrite it.", value=value)
    for name, value in (("owner", words.owner), ("costCenter", words.cost_center)):
        if not value.strip():
            report("tag", (name,), f"{name} is empty.", hint="Say it: it becomes a tag.", value=value)
        elif fault := check_name(NameKind.TAG_VALUE, value):
            report("tag", (name,), f"{fault}.", hint="Rewrite it.", value=value)
    # Name and the cluster's discovery tags come on top.
    if len(words.tags) + len(OWN_TAGS) > MAX_TAGS_PER_RESOURCE - 5:
        report(
            "too-many-tags",
            ("tags",),
            f"{len(words.tags)} tags; AWS takes {MAX_TAGS_PER_RESOURCE} to a resource, and the plan adds its own.",
            hint="Use fewer.",
            value=len(words.tags),
        )


def check_access(words: Access, report: Report) -> None:
    """Access entries take IAM roles and users."""
    for key, principals in (("admins", words.admins), ("readers", words.readers)):
        for index, arn in enumerate(principals):
            path: Path = ("access", key, index)
            if ":assumed-role/" in arn:
                report(
                    "principal",
                    path,
                    f"{arn} is a session, not a role.",
                    hint="Write the role's ARN, arn:aws:iam::ACCOUNT:role/NAME.",
                    value=arn,
                )
            elif not _PRINCIPAL.fullmatch(arn):
                report(
                    "principal",
                    path,
                    f"{arn!r} is no ARN of an IAM role or user.",
                    hint="Write arn:aws:iam::ACCOUNT:role/NAME.",
                    value=arn,
                )
            elif arn in principals[:index]:
                report("principal-twice", path, f"{arn} is named twice.", hint="Remove one.", value=arn)
            elif key == "readers" and arn in words.admins:
                report(
                    "principal-twice",
                    path,
                    f"{arn} is already an admin, and an access entry is one per principal.",
                    hint="Remove it here or there.",
                    value=arn,
                )


def check_api_endpoint(words: ApiEndpoint, report: Report) -> None:
    """Who can reach the API server, nodes among them."""
    path: Path = ("apiEndpoint",)
    if not words.private:
        report(
            "endpoint-not-private",
            (*path, "private"),
            "without the private endpoint nodes would reach the API server over the internet, through publicCidrs.",
            hint="Leave private on; public can be on beside it.",
            value=False,
        )
    if words.public and not words.public_cidrs:
        report(
            "public-without-cidrs",
            (*path, "public"),
            "the public endpoint would be open to every address.",
            hint="Name apiEndpoint.publicCidrs, such as the office's range.",
            value=True,
        )
    if words.public_cidrs and not words.public:
        report(
            "cidrs-without-public",
            (*path, "publicCidrs"),
            "publicCidrs without public has no effect.",
            hint="Set public: true, or remove publicCidrs.",
            value=words.public_cidrs,
        )
    if len(words.public_cidrs) > _MAX_PUBLIC_CIDRS:
        report(
            "too-many-cidrs",
            (*path, "publicCidrs"),
            f"{len(words.public_cidrs)} ranges; EKS takes {_MAX_PUBLIC_CIDRS}.",
            hint="Merge some.",
            value=len(words.public_cidrs),
        )
    for index, cidr in enumerate(words.public_cidrs):
        try:
            network = IPv4Network(cidr)
        except ValueError as error:
            report(
                "cidr",
                (*path, "publicCidrs", index),
                f"{cidr!r} is no IPv4 range ({error}).",
                hint="Write a range such as 203.0.113.0/24.",
                value=cidr,
            )
            continue
        if network.prefixlen == 0:
            report(
                "open-to-all",
                (*path, "publicCidrs", index),
                "0.0.0.0/0 opens the API server to the whole internet.",
                hint="Name the ranges that need it.",
                value=cidr,
                severity=Severity.WARNING,
            )
        elif any(network.subnet_of(example) for example in _DOCUMENTATION):
            report(
                "documentation-cidr",
                (*path, "publicCidrs", index),
                f"{cidr} is a range for documentation; nobody comes from there.",
                hint="Write the public address that you leave through.",
                value=cidr,
                severity=Severity.WARNING,
            )
        elif network.is_private:
            report(
                "private-public-cidr",
                (*path, "publicCidrs", index),
                f"{cidr} is a private range; the public endpoint never sees such an address.",
                hint="Write the public address that you leave through.",
                value=cidr,
            )


def check_encryption(words: StackWords, region: str | None, report: Report) -> None:
    """A key that is an ARN, and no key without encryption."""
    encryption, path = words.secrets_encryption, ("secretsEncryption", "kmsKeyArn")
    if encryption.kms_key_arn is None:
        return
    if not encryption.enabled:
        report(
            "key-without-encryption",
            path,
            "kmsKeyArn is given and encryption is off.",
            hint="Turn it on, or remove the key.",
            value=encryption.kms_key_arn,
        )
    elif not _KMS_KEY.fullmatch(encryption.kms_key_arn):
        report(
            "kms-key",
            path,
            f"{encryption.kms_key_arn!r} is no KMS key ARN.",
            hint="Write arn:aws:kms:REGION:ACCOUNT:key/ID (no alias).",
            value=encryption.kms_key_arn,
        )
    elif region is not None and (of := encryption.kms_key_arn.split(":")[3]) != region:
        report(
            "kms-key-region",
            path,
            f"the key is in {of} and the stack in {region}; EKS takes a key of its own region.",
            hint=f"Name a key of {region}.",
            value=encryption.kms_key_arn,
        )


def check_addon_versions(words: Addons, report: Report) -> None:
    """Versions as EKS writes them."""
    for key, addon in (
        ("vpcCni", words.vpc_cni),
        ("coredns", words.coredns),
        ("kubeProxy", words.kube_proxy),
        ("ebsCsi", words.ebs_csi),
        ("podIdentityAgent", words.pod_identity_agent),
    ):
        if addon.version is not None and not _ADDON_VERSION.fullmatch(addon.version):
            report(
                "addon-version",
                ("addons", key, "version"),
                f"{addon.version!r} is no EKS add-on version.",
                hint="It looks like v1.12.4-eksbuild.1.",
                value=addon.version,
            )


def deletion_protection(words: StackWords, report: Report) -> bool:
    """Return what was written, or true in production."""
    production = words.environment in PRODUCTION
    if words.deletion_protection is None:
        return production
    if production and not words.deletion_protection:
        report(
            "prod-unprotected",
            ("deletionProtection",),
            f"{words.environment} without deletion protection.",
            hint="Remove the line: production is protected by default.",
            value=False,
            severity=Severity.WARNING,
        )
    return words.deletion_protection


def reachable(words: StackWords) -> bool:
    """Whether Pulumi can reach the Kubernetes API on the first run: a new private VPC has nobody inside."""
    return words.api_endpoint.public or words.network.vpc_id is not None


def check_autoscaler_reachable(words: StackWords, report: Report) -> None:
    """An autoscaler is installed through the Kubernetes API."""
    if words.autoscaling.use != "none" and not reachable(words):
        report(
            "autoscaler-unreachable",
            ("autoscaling", "use"),
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't install "
            f"{words.autoscaling.use} unless Pulumi reaches the VPC.",
            hint="Begin with autoscaling.use none, or open apiEndpoint.public to your address.",
            value=words.autoscaling.use,
            severity=Severity.WARNING,
        )


def storage_class(words: StackWords, report: Report) -> bool:
    """Return what was written, or whether the EBS CSI driver is there to serve it and Pulumi can reach the API.

    A new VPC has nobody inside when its cluster is created: with a private endpoint alone, nothing can be declared in
    the cluster on the first run.
    """
    if words.storage_class is None:
        return words.addons.ebs_csi.enabled and reachable(words)
    if words.storage_class and not reachable(words):
        report(
            "storage-class-unreachable",
            ("storageClass",),
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't declare "
            "a StorageClass unless Pulumi reaches the VPC.",
            hint="Turn it on once a build agent or a VPN is in the VPC, or open apiEndpoint.public to your address.",
            value=True,
            severity=Severity.WARNING,
        )
    if words.storage_class and not words.addons.ebs_csi.enabled:
        report(
            "storage-class",
            ("storageClass",),
            "the StorageClass needs the EBS CSI driver, which is turned off.",
            hint="Turn on addons.ebsCsi, or remove storageClass.",
            value=True,
        )
    return words.storage_class


def check_session(words: StackWords, report: Report) -> None:
    """A session can't end before it may idle; its user is a Linux name."""
    session = words.session
    if session.max_duration_minutes is not None and session.max_duration_minutes < session.idle_timeout_minutes:
        report(
            "session-times",
            ("session", "maxDurationMinutes"),
            f"maxDurationMinutes {session.max_duration_minutes} is below idleTimeoutMinutes "
            f"{session.idle_timeout_minutes}.",
            hint="Raise it, or lower the idle time.",
            value=session.max_duration_minutes,
        )
    if session.run_as_user is not None and not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", session.run_as_user):
        report(
            "session-user",
            ("session", "runAsUser"),
            f"{session.run_as_user!r} is no Linux user name.",
            hint="Such as ec2-user.",
            value=session.run_as_user,
        )
