"""Policies for nodes: architecture, taint, image, access, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import get_ami_type
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.taints import UNTAINTED, Taint, keeps_pods_away
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.nodes import (
    AUTO_SCALING_GROUP,
    INSTANCE,
    LAUNCH_CONFIGURATION,
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
from multiarch.policies.model import Policy

_CUSTOM = "CUSTOM"
_LAUNCHES = frozenset({LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION})
_LATEST = ("/recommended", "/latest")


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
    declared = require_text(resource.inputs, "amiType")
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
    named = list_instance_types(resource.type, resource.inputs)
    return named or [
        name
        for template in list_launch_templates(resource, everything)
        if (name := require_text(template.inputs, "instanceType"))
    ]


def _tainted(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    """Yield why arm64 nodes lack a taint. A NodePool that can buy amd64 nodes too prefers neither, and needs none."""
    properties = resource.inputs
    if resource.type == NODE_POOL:
        found = find_pool_architectures(properties)
    else:
        found = find_architectures(_instance_types(resource, everything), require_text(properties, "amiType"))
    if found != {Architecture.ARM64} or _opted_out(resource):
        return
    if keeps_pods_away(read_taints(require_items(properties, POOL_TAINTS if resource.type == NODE_POOL else "taints"))):
        return
    own = list_launch_templates(resource, everything)
    if resource.type == AUTO_SCALING_GROUP and not own:
        yield "The launch template is not in this stack: whether its user data registers a taint can't be checked."
        return
    try:
        tainted = any(keeps_pods_away(list_registered_taints(template)) for template in own)
    except UnreadableUserDataError as error:
        yield f"Whether the user data of the arm64 group registers a taint can't be checked: {error}"
        return
    if not tainted:
        yield f"{_WITHOUT_TAINT[resource.type]}: {_CONSEQUENCE}"


_WITHOUT_TAINT = {
    NODE_POOL: "The NodePool buys arm64 nodes without a taint",
    MANAGED_GROUP: "The arm64 node group has no taint",
    AUTO_SCALING_GROUP: "The user data of the arm64 group registers no taint",
}
_CONSEQUENCE = "pods whose image has no arm64 build will be scheduled to its nodes."


def _opted_out(resource: DeclaredResource) -> bool:
    tags = require_value(resource.inputs, "metadata.annotations" if resource.type == NODE_POOL else "tags")
    if isinstance(tags, list):
        tags = {require_text(tag, "key"): require_text(tag, "value") for tag in tags}
    return isinstance(tags, dict) and UNTAINTED in tags.items()


def list_launch_templates(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> list[DeclaredResource]:
    """Return the launch templates, or the launch configuration, of the stack that a group refers to."""
    return [each for each in everything if each.type in _LAUNCHES and each.urn in resource.dependencies]


def list_registered_taints(template: DeclaredResource) -> tuple[Taint, ...]:
    """Return the taints that a launch template's user data registers. Raises UnreadableUserDataError."""
    paths = ("userData", "userDataBase64")
    return read_user_data_taints(next(filter(None, (require_text(template.inputs, each) for each in paths)), ""))


def _without_ssh(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == MANAGED_GROUP:
        if require_value(resource.inputs, "remoteAccess"):
            yield "remoteAccess opens SSH to the nodes."
    elif key := require_text(resource.inputs, "keyName"):
        yield f"keyName {key} installs an SSH key."


def _imdsv2(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == MANAGED_GROUP:
        if require_value(resource.inputs, "launchTemplate") is None:
            yield "A node group without a launch template can't require IMDSv2."
        return
    # Karpenter's default is `required`; EC2's depends on the account and the image.
    path = "spec.metadataOptions" if resource.type == NODE_CLASS else "metadataOptions"
    options = require_value(resource.inputs, path)
    if options is None and resource.type == NODE_CLASS:
        return
    tokens = require_text(options, "httpTokens")
    if require_text(options, "httpEndpoint") != "disabled" and tokens not in _tokens(resource):
        yield f"{path}.httpTokens is {tokens or 'not set'}: version 1 of the metadata service may answer."


def _tokens(resource: DeclaredResource) -> tuple[str, ...]:
    return ("required", "") if resource.type == NODE_CLASS else ("required",)


def _pinned(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    if resource.type == NODE_CLASS:
        for term in require_items(resource.inputs, "spec.amiSelectorTerms"):
            if image := _find_moving_image(term):
                yield f"amiSelectorTerms takes {image}: new releases replace nodes at any time."
        return
    found = list_launch_templates(resource, everything)
    images = list(filter(None, (require_text(template.inputs, "imageId") for template in found)))
    if moving := [image for image in images if image.startswith(_PARAMETER) and _moves(image)]:
        yield f"imageId takes {moving[0]}, without a version: which image new nodes get depends on the day."
    if images:
        return
    without = resource.type == MANAGED_GROUP and require_value(resource.inputs, "launchTemplate") is None
    if resource.type == MANAGED_GROUP and (release := require_text(resource.inputs, "releaseVersion")):
        if not without:
            yield f"releaseVersion {release} is lost when the launch template changes: EKS then takes the newest."
    elif found or without:
        yield "The image is not pinned: which release new nodes get depends on the day."
    else:
        yield "The launch template is not in this stack: whether it names an image can't be checked."


_PARAMETER = "resolve:ssm:"


def _moves(parameter: str) -> bool:
    """Return whether the value of an SSM parameter may change: one of a release, or with a version, does not.

    Source: EC2 user guide, "Use a Systems Manager parameter instead of an AMI ID"; EKS user guide, "Retrieve
    recommended Amazon Linux AMI IDs".
    """
    name, _, version = parameter.removeprefix(_PARAMETER).partition(":")
    is_release = name.startswith("/aws/service/") and not any(each in name for each in _LATEST)
    return not is_release and not version.isdigit()


def _find_moving_image(term: object) -> str:
    """Return what a term of an EC2NodeClass takes, if it is another image after a release of AWS; or else "".

    Source: https://karpenter.sh/docs/concepts/nodeclasses/#specamiselectorterms
    """
    alias, parameter, name = (require_text(term, each) for each in ("alias", "ssmParameter", "name"))
    if alias.endswith("@latest"):
        return alias
    if parameter and _moves(parameter):
        return parameter
    return name if "*" in name and require_text(term, "owner") in {"", "amazon"} else ""


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
        frozenset({MANAGED_GROUP, INSTANCE}) | _LAUNCHES,
        _without_ssh,
    ),
    Policy(
        "policy-imdsv2",
        frozenset({MANAGED_GROUP, INSTANCE, NODE_CLASS}) | _LAUNCHES,
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
