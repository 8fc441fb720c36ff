"""Policies for groups that an autoscaler changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, AUTO_SCALING_TAG, MANAGED_GROUP, get_size_path
from multiarch.observed.resources.paths import split_path
from multiarch.observed.resources.properties import require_items, require_text, require_value
from multiarch.observed.resources.user_data import UnreadableUserDataError
from multiarch.policies.model import Policy
from multiarch.policies.nodes import list_launch_templates, list_registered_taints

_PREFIX = "k8s.io/cluster-autoscaler/"
_TEMPLATE = f"{_PREFIX}node-template/"


def _scales_from_zero(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Iterator[str]:
    """Yield the tags that the cluster autoscaler reads of an empty group.

    Source: kubernetes/autoscaler, cluster-autoscaler/cloudprovider/aws/README.md. Groups without its discovery tags are
    not its business.
    """
    tags = _tags(resource, everything)
    least = require_text(resource.inputs, get_size_path(resource.type, "minSize"))
    if not any(key.startswith(_PREFIX) for key in tags) or least not in ("0", "0.0"):
        return
    wanted: dict[str, str] = {}
    if resource.type == MANAGED_GROUP:
        for taint in require_items(resource.inputs, "taints"):
            wanted[f"{_TEMPLATE}taint/{require_text(taint, 'key')}"] = f"taint {require_text(taint, 'key')}"
        for label in require_value(resource.inputs, "labels") or {}:
            wanted[f"{_TEMPLATE}label/{label}"] = f"label {label}"
    else:
        for template in list_launch_templates(resource, everything):
            try:
                wanted |= {
                    f"{_TEMPLATE}taint/{each.key}": f"taint {each.key}" for each in list_registered_taints(template)
                }
            except UnreadableUserDataError:
                # With any such tag somebody has thought of it.
                tagged = next((key for key in tags if key.startswith(f"{_TEMPLATE}taint/")), f"{_TEMPLATE}taint/")
                wanted[tagged] = "the taints of its user data, which can't be read"
    missing = [name for key, name in wanted.items() if key not in tags]
    if missing:
        names = ", ".join(missing)
        yield f"No node-template tag for {names}: the cluster autoscaler does not know of it while there are no nodes."


def _tags(resource: DeclaredResource, everything: Sequence[DeclaredResource]) -> Mapping[str, str]:
    """Return the tags of a group's Auto Scaling group: its own, and those of separate resources that refer to it."""
    found = {}
    if resource.type == AUTO_SCALING_GROUP:
        for tag in require_items(resource.inputs, "tags"):
            found[require_text(tag, "key")] = require_text(tag, "value")
    for each in everything:
        groups = each.references.get("autoscalingGroupName", each.dependencies)
        if each.type == AUTO_SCALING_TAG and resource.urn in groups:
            found[require_text(each.inputs, "tag.key")] = require_text(each.inputs, "tag.value")
    return found


def _ignores_size(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
    managed = resource.type == MANAGED_GROUP
    path = get_size_path(resource.type, "desiredSize")
    holder = require_value(resource.inputs, "scalingConfig") if managed else resource.inputs
    if require_text(holder, "minSize") == require_text(holder, "maxSize"):
        return
    root = path.partition(".")[0]
    # As the engine reads paths: scalingConfig["desiredSize"] is the same.
    ignored = {".".join(map(str, split_path(each))) for each in resource.ignore_changes}
    is_ignored = bool(ignored & {path, root, f"{root}.*", "*"})
    if (managed or require_value(resource.inputs, path) is not None) and not is_ignored:
        yield f"Changes of {path} are not ignored: an update undoes what the autoscaler chose."


_GROUPS = frozenset({MANAGED_GROUP, AUTO_SCALING_GROUP})

POLICIES = (
    Policy(
        "policy-scale-from-zero",
        _GROUPS,
        _scales_from_zero,
        whole_stack=True,
    ),
    Policy(
        "policy-desired-size",
        _GROUPS,
        _ignores_size,
    ),
)
"""The policies for groups that an autoscaler changes."""
