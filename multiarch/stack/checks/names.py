"""Names and tags that AWS would reject."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from multiarch.errors import KeyPath
from multiarch.facts.limits import NameKind, check_name
from multiarch.nodes.model import NodeGroupPlan, Tags
from multiarch.nodes.report import ProblemReport
from multiarch.schema.stack import StackSpec

OWN_TAGS = ("team", "environment", "owner", "cost-center", "managed-by")
"""Tags that the plan writes itself."""
SUFFIX = 26
"""Characters that AWS resource names get after a prefix, so that a replacement has another name."""


def check_names(stack: str, spec: StackSpec, groups: Sequence[NodeGroupPlan], report: ProblemReport) -> None:
    """Report names that AWS would reject, the derived ones too, and names that mean two groups."""
    cluster = spec.cluster_name or stack
    path: KeyPath = ("clusterName",) if spec.cluster_name else ("team",)
    if spec.cluster is None and (fault := check_name(NameKind.CLUSTER, cluster)):
        report("cluster-name", path, f"{fault}.")
    for group in groups:
        check_group_name(group, report)
    halves = {f"{name}-{half}": name for name in spec.multi_architecture_groups for half in ("amd64", "arm64")}
    for name in sorted(set(spec.node_groups) & (set(halves) | set(spec.multi_architecture_groups))):
        whose = halves.get(name, name)
        report("duplicate-group", ("nodeGroups", name), f"{name} is also a name of multiArchitectureGroups.{whose}.")
    # Groups of one zone each have names of their own.
    first: dict[str, NodeGroupPlan] = {}
    for group in groups:
        other = first.setdefault(group.name, group)
        if other.path != group.path and group.name not in halves:
            report("duplicate-group", group.path, f"{other.key} also makes a group {group.name}.")


def check_group_name(group: NodeGroupPlan, report: ProblemReport) -> None:
    """Report a name that AWS would reject for the group."""
    path: KeyPath = group.path
    longest = 63 - SUFFIX - 1
    if fault := check_name(NameKind.NODE_GROUP, group.name):
        report("group-name", path, f"{fault}.")
    elif not re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", group.name):
        report(
            "group-name",
            path,
            f"{group.name!r} is not made of lower-case letters, digits and '-'; it becomes part of names that must be.",
        )
    elif len(group.name) > longest:
        report(
            "group-name",
            path,
            f"{group.name!r} has {len(group.name)} characters; with the suffix that AWS adds, "
            f"{longest} fit into a node group's name.",
            hint="Shorten it.",
        )


def check_tags(tags: Mapping[str, str], report: ProblemReport, *, own: Collection[str] = OWN_TAGS) -> None:
    """Tag keys and values that AWS would reject, and those that the plan writes itself, ``Name`` and ``own``."""
    for key, value in tags.items():
        path: KeyPath = ("tags", key)
        if key in own or key == "Name":
            report("own-tag", path, f"the tag {key} is written by the plan.")
        elif fault := check_name(NameKind.TAG_KEY, key) or check_name(NameKind.TAG_VALUE, value):
            report("tag", path, f"{fault}.")


def check_required_tags(keys: Sequence[str], tags: Tags, report: ProblemReport) -> None:
    """Report keys that the organisation requires, and that the stack's tags do not have."""
    if missing := sorted(set(keys) - dict(tags).keys()):
        report("required-tag", ("tags",), f"the tags lack {', '.join(missing)}, which requiredTags names.")


def check_owner(spec: StackSpec, report: ProblemReport) -> None:
    """Report an owner and a cost center that can't be the values of tags."""
    for name, value in (("owner", spec.owner), ("costCenter", spec.cost_center)):
        if not value.strip():
            report("tag", (name,), f"{name} is empty.", hint="Give it a value: it becomes a tag.")
        elif fault := check_name(NameKind.TAG_VALUE, value):
            report("tag", (name,), f"{fault}.")
