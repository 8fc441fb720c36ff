"""Policies for nodes: architecture, taint, image, access, metadata."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence

from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import ami_type, taint_settings
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import instance_type
from multiarch.facts.taints import UNTAINTED, Effect
from multiarch.policies.model import Policy, Resource, items, text, value

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
AUTO_SCALING_GROUP = "aws:autoscaling/group:Group"
INSTANCE = "aws:ec2/instance:Instance"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"

ARCHITECTURE_LABEL = "kubernetes.io/arch"
_CUSTOM = "CUSTOM"


def _agree(resource: Resource, everything: Sequence[Resource]) -> Iterator[str]:
    types = _instance_types(resource, everything)
    found: dict[Architecture, list[str]] = {}
    for name in types:
        try:
            found.setdefault(instance_type(name).architecture, []).append(name)
        except MultiarchError as error:
            yield f"{error.message} Its architecture can't be compared. {error.hint}"
    if len(found) > 1:
        listed = "; ".join(f"{architecture}: {', '.join(names)}" for architecture, names in sorted(found.items()))
        yield f"The instance types have two architectures ({listed})."
    declared = text(resource.properties, "amiType")
    if resource.type != NODE_GROUP or not declared or declared == _CUSTOM:
        return
    try:
        image = ami_type(declared).architecture
    except MultiarchError as error:
        yield f"{error.message} {error.hint}"
        return
    for architecture, names in sorted(found.items()):
        if image is not None and architecture is not image:
            be = "is" if len(names) == 1 else "are"
            yield f"amiType {declared} is {image}, but {', '.join(names)} {be} {architecture}."


def _instance_types(resource: Resource, everything: Sequence[Resource]) -> list[str]:
    """The instance types that a node group or an Auto Scaling group names, or else those of its launch template."""
    if resource.type == NODE_GROUP:
        named = [str(name) for name in items(resource.properties, "instanceTypes")]
    else:
        overrides = items(resource.properties, "mixedInstancesPolicy.launchTemplate.overrides")
        named = [name for override in overrides if (name := text(override, "instanceType"))]
    if named:
        return named
    found = templates(resource, everything)
    return [name for template in found if (name := text(template.properties, "instanceType"))]


def _tainted(resource: Resource, everything: Sequence[Resource]) -> Iterator[str]:
    if resource.type == NODE_POOL:
        yield from _tainted_pool(resource)
        return
    if _architectures(resource, everything) != {Architecture.ARM64} or _opted_out(resource):
        return
    if resource.type == NODE_GROUP:
        if not any(text(taint, "effect") in _EKS_EFFECTS for taint in items(resource.properties, "taints")):
            yield f"The arm64 node group has no taint: {_CONSEQUENCE}"
        return
    found = templates(resource, everything)
    if not found:
        yield "The launch template is not in this stack: whether its user data registers a taint can't be checked."
    elif not any(registers_a_taint(template) for template in found):
        yield f"The user data of the arm64 group registers no taint: {_CONSEQUENCE}"


_CONSEQUENCE = "pods whose image has no arm64 build will be scheduled to its nodes."
_EKS_EFFECTS = frozenset(effect.name for effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE))
_EFFECTS = frozenset({Effect.NO_SCHEDULE, Effect.NO_EXECUTE})


def _tainted_pool(resource: Resource) -> Iterator[str]:
    """A NodePool that can buy arm64 nodes alone; one that buys both prefers neither, and has no taint."""
    spec = value(resource.properties, "spec.template.spec") or {}
    allowed = _pool_architectures(items(spec, "requirements"))
    annotations = value(resource.properties, "metadata.annotations") or {}
    if allowed != {"arm64"} or UNTAINTED in annotations.items():
        return
    if not any(text(taint, "effect") in _EFFECTS for taint in items(spec, "taints")):
        yield f"The NodePool buys arm64 nodes without a taint: {_CONSEQUENCE}"


def _pool_architectures(requirements: Sequence[object]) -> set[str]:
    """The architectures that requirements leave (https://karpenter.sh/docs/concepts/nodepools/)."""
    left = {str(each) for each in Architecture}
    for requirement in requirements:
        if text(requirement, "key") == ARCHITECTURE_LABEL:
            named = {str(each) for each in items(requirement, "values")}
            operator = text(requirement, "operator")
            left = left & named if operator == "In" else left - named if operator == "NotIn" else left
    return left


def _architectures(resource: Resource, everything: Sequence[Resource]) -> set[Architecture]:
    """The architectures of a group's nodes, as far as the table of facts knows them."""
    declared = text(resource.properties, "amiType")
    found = set()
    for name in _instance_types(resource, everything):
        try:
            found.add(instance_type(name).architecture)
        except MultiarchError:
            continue  # policy-architecture says so
    if found or declared in ("", _CUSTOM):
        return found
    try:
        image = ami_type(declared).architecture
    except MultiarchError:
        return found
    return {image} if image else found


def _opted_out(resource: Resource) -> bool:
    tags = value(resource.properties, "tags")
    if isinstance(tags, list):
        tags = {text(tag, "key"): text(tag, "value") for tag in tags}
    return isinstance(tags, dict) and UNTAINTED in tags.items()


def templates(resource: Resource, everything: Sequence[Resource]) -> list[Resource]:
    """The launch templates of the stack that a group refers to."""
    return [each for each in everything if each.type == LAUNCH_TEMPLATE and each.urn in resource.dependencies]


def registers_a_taint(template: Resource) -> bool:
    """Whether the user data of a launch template registers a taint, in any AMI family's form."""
    encoded = text(template.properties, "userData")
    try:
        plain = base64.b64decode(encoded, validate=True).decode("utf-8", "replace")
    except binascii.Error:
        plain = encoded
    return any(setting in plain for setting in taint_settings())


def _without_ssh(resource: Resource, _: Sequence[Resource]) -> Iterator[str]:
    if resource.type == NODE_GROUP:
        if value(resource.properties, "remoteAccess"):
            yield "remoteAccess opens SSH to the nodes."
    elif key := text(resource.properties, "keyName"):
        yield f"keyName {key} installs an SSH key."


def _imdsv2(resource: Resource, _: Sequence[Resource]) -> Iterator[str]:
    if resource.type == NODE_GROUP:
        if value(resource.properties, "launchTemplate") is None:
            yield "A node group without a launch template can't require IMDSv2."
        return
    # Karpenter's default is `required`; EC2's depends on the account and the image.
    path = "spec.metadataOptions" if resource.type == NODE_CLASS else "metadataOptions"
    options = value(resource.properties, path)
    if options is None and resource.type == NODE_CLASS:
        return
    if text(options, "httpEndpoint") != "disabled" and text(options, "httpTokens") not in _tokens(resource):
        tokens = text(options, "httpTokens") or "not set"
        yield f"{path}.httpTokens is {tokens}: version 1 of the metadata service may answer."


def _tokens(resource: Resource) -> tuple[str, ...]:
    return ("required", "") if resource.type == NODE_CLASS else ("required",)


def _pinned(resource: Resource, everything: Sequence[Resource]) -> Iterator[str]:
    if resource.type == NODE_CLASS:
        for term in items(resource.properties, "spec.amiSelectorTerms"):
            if text(term, "alias").endswith("@latest"):
                yield f"amiSelectorTerms takes {text(term, 'alias')}: new releases replace nodes at any time."
        return
    if resource.type == NODE_GROUP and text(resource.properties, "releaseVersion"):
        return
    found = templates(resource, everything)
    if any(text(template.properties, "imageId") for template in found):
        return
    if found or (resource.type == NODE_GROUP and value(resource.properties, "launchTemplate") is None):
        yield "The image is not pinned: which release new nodes get depends on the day."
    else:
        yield "The launch template is not in this stack: whether it names an image can't be checked."


_GROUPS = frozenset({NODE_GROUP, AUTO_SCALING_GROUP})

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
        frozenset({NODE_GROUP, LAUNCH_TEMPLATE, INSTANCE}),
        _without_ssh,
    ),
    Policy(
        "policy-imdsv2",
        frozenset({NODE_GROUP, LAUNCH_TEMPLATE, INSTANCE, NODE_CLASS}),
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
