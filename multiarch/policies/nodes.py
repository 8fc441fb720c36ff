"""Policies for nodes: architecture, taint, image, access, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import get_ami_type
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.taints import UNTAINTED, Taint, keeps_pods_away
from multiarch.observed.resources.nodes import (
    AUTO_SCALING_GROUP,
    INSTANCE,
    LAUNCH_TEMPLATE,
    MANAGED_GROUP,
    NODE_CLASS,
    NODE_POOL,
    POOL_TAINTS,
    find_architectures,
    find_pool_architectures,
    list_instance_types,
    read_taints,
)
from multiarch.observed.resources.properties import require_items, require_text, require_value
from multiarch.observed.resources.user_data import UnreadableUserDataError, read_user_data_taints
from multiarch.policies.model import DeclaredResource, Policy

_CUSTOM = "CUSTOM"


def _agree(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    types = _instance_types(resource, everything)
    found: dict[Architecture, list[str]] = {}
    for name in types:
        try:
            found.setdefault(get_instance_type(name).architecture, []).append(name)
        except MultiarchError as error:
            yield f"{error.message} Its architecture can't be compared. {error.hint}"
    if len(found) > 1:
        listed = "; ".join(f"{architecture}: {', '.join(names)}" for architecture, names in sorted(found.items()))
        yield f"The instance types have two architectures ({listed})."
    declared = require_text(resource.properties, "amiType")
    if resource.type != MANAGED_GROUP or not declared or declared == _CUSTOM:
        return
    try:
        image = get_ami_type(declared).architecture
    except MultiarchError as error:
        yield f"{error.message} {error.hint}"
        return
    for architecture, names in sorted(found.items()):
        if image is not None and architecture is not image:
            be = "is" if len(names) == 1 else "are"
            yield f"amiType {declared} is {image}, but {', '.join(names)} {be} {architecture}."


def _instance_types(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Sequence[str]:
    """Return the instance types that a node group or an Auto Scaling group names, or else its launch template's."""
    named = list_instance_types(resource.type, resource.properties)
    return named or [
        name
        for template in list_launch_templates(resource, everything)
        if (name := require_text(template.properties, "instanceType"))
    ]


def _tainted(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    """Yield why arm64 nodes lack a taint. A NodePool that can buy amd64 nodes too prefers neither, and needs none."""
    properties = resource.properties
    if resource.type == NODE_POOL:
        found = find_pool_architectures(properties)
    else:
        found = find_architectures(_instance_types(resource, everything), require_text(properties, "amiType"))
    if found != {Architecture.ARM64} or _opted_out(resource):
        return
    if resource.type == NODE_POOL:
        if not keeps_pods_away(read_taints(require_items(properties, POOL_TAINTS))):
            yield f"The NodePool buys arm64 nodes without a taint: {_CONSEQUENCE}"
    elif resource.type == MANAGED_GROUP:
        if not keeps_pods_away(read_taints(require_items(properties, "taints"))):
            yield f"The arm64 node group has no taint: {_CONSEQUENCE}"
    elif not (own := list_launch_templates(resource, everything)):
        yield "The launch template is not in this stack: whether its user data registers a taint can't be checked."
    else:
        try:
            tainted = any(keeps_pods_away(list_registered_taints(template)) for template in own)
        except UnreadableUserDataError as error:
            yield f"Whether the user data of the arm64 group registers a taint can't be checked: {error}"
            return
        if not tainted:
            yield f"The user data of the arm64 group registers no taint: {_CONSEQUENCE}"


_CONSEQUENCE = "pods whose image has no arm64 build will be scheduled to its nodes."


def _opted_out(resource: DeclaredResource) -> bool:
    tags = require_value(resource.properties, "metadata.annotations" if resource.type == NODE_POOL else "tags")
    if isinstance(tags, list):
        tags = {require_text(tag, "key"): require_text(tag, "value") for tag in tags}
    return isinstance(tags, dict) and UNTAINTED in tags.items()


def list_launch_templates(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> list[DeclaredResource]:
    """Return the launch templates of the stack that a group refers to."""
    return [each for each in everything if each.type == LAUNCH_TEMPLATE and each.urn in resource.dependencies]


def list_registered_taints(template: DeclaredResource) -> tuple[Taint, ...]:
    """Return the taints that a launch template's user data registers. Raises UnreadableUserDataError."""
    return read_user_data_taints(require_text(template.properties, "userData"))


def _without_ssh(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == MANAGED_GROUP:
        if require_value(resource.properties, "remoteAccess"):
            yield "remoteAccess opens SSH to the nodes."
    elif key := require_text(resource.properties, "keyName"):
        yield f"keyName {key} installs an SSH key."


def _imdsv2(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == MANAGED_GROUP:
        if require_value(resource.properties, "launchTemplate") is None:
            yield "A node group without a launch template can't require IMDSv2."
        return
    # Karpenter's default is `required`; EC2's depends on the account and the image.
    path = "spec.metadataOptions" if resource.type == NODE_CLASS else "metadataOptions"
    options = require_value(resource.properties, path)
    if options is None and resource.type == NODE_CLASS:
        return
    tokens = require_text(options, "httpTokens")
    if require_text(options, "httpEndpoint") != "disabled" and tokens not in _tokens(resource):
        yield f"{path}.httpTokens is {tokens or 'not set'}: version 1 of the metadata service may answer."


def _tokens(resource: DeclaredResource) -> tuple[str, ...]:
    return ("required", "") if resource.type == NODE_CLASS else ("required",)


def _pinned(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == NODE_CLASS:
        for term in require_items(resource.properties, "spec.amiSelectorTerms"):
            if require_text(term, "alias").endswith("@latest"):
                yield f"amiSelectorTerms takes {require_text(term, 'alias')}: new releases replace nodes at any time."
        return
    found = list_launch_templates(resource, everything)
    if any(require_text(template.properties, "imageId") for template in found):
        return
    without = resource.type == MANAGED_GROUP and require_value(resource.properties, "launchTemplate") is None
    if resource.type == MANAGED_GROUP and (release := require_text(resource.properties, "releaseVersion")):
        if not without:
            yield f"releaseVersion {release} is lost when the launch template changes: EKS then takes the newest."
    elif found or without:
        yield "The image is not pinned: which release new nodes get depends on the day."
    else:
        yield "The launch template is not in this stack: whether it names an image can't be checked."


_GROUPS = frozenset({MANAGED_GROUP, AUTO_SCALING_GROUP})

POLICIES = (
    Policy(
        "policy-architecture",
        _GROUPS,
        _agree,
        whole_stack=True,
    ),
    Policy(
        "policy-arm64-taint",
        _GROUPS | {NODE_POOL},
        _tainted,
        whole_stack=True,
    ),
    Policy(
        "policy-ssh-key",
        frozenset({MANAGED_GROUP, LAUNCH_TEMPLATE, INSTANCE}),
        _without_ssh,
    ),
    Policy(
        "policy-imdsv2",
        frozenset({MANAGED_GROUP, LAUNCH_TEMPLATE, INSTANCE, NODE_CLASS}),
        _imdsv2,
    ),
    Policy(
        "policy-ami-pinned",
        _GROUPS | {NODE_CLASS},
        _pinned,
        whole_stack=True,
    ),
)
"""The policies for nodes."""
