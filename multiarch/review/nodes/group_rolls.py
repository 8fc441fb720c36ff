"""Which nodes of node groups are replaced, how many, at what pace, and for how long at most.

What makes a group replace its nodes is said in ``docs/reference/changes.md``. Sources of the limits: EKS user guide,
"Understand each phase of node updates"; EC2 Auto Scaling user
guide, "Understand the default values for an instance refresh".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil

from multiarch.manifests.values import to_mapping
from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, MANAGED_GROUP
from multiarch.observed.resources.properties import get_integer_at, is_unknown, to_integer
from multiarch.plurals import format_count
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.nodes.group_ends import count_nodes, explain_count, find_end, format_nodes
from multiarch.review.nodes.group_states import GroupKind
from multiarch.review.properties import describe_change, get_after, get_before, list_changes, list_resources
from multiarch.rules import Finding, Risk, make_finding

EVICTION_MINUTES = 15
"""How long EKS tries to evict the pods of a node in an update: then it fails, or with force it deletes them."""
MOST_AT_ONCE = 100
"""The most nodes of a group that EKS updates at a time."""
_LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_HOOK = "aws:autoscaling/lifecycleHook:LifecycleHook"


_MANAGED_CAUSES = (
    ("version", "Kubernetes version"),
    ("releaseVersion", "AMI release"),
    ("launchTemplate", "launch template"),
)
_SELF_MANAGED_CAUSES = (
    ("mixedInstancesPolicy.launchTemplate.launchTemplateSpecification", "launch template"),
    ("mixedInstancesPolicy.launchTemplate.overrides", "instance types"),
    ("mixedInstancesPolicy.instancesDistribution", "capacity type"),
    ("launchTemplate", "launch template"),
    ("launchConfiguration", "launch configuration"),
)
_TEMPLATE_CAUSES = (
    ("imageId", "image"),
    ("userData", "user data"),
    ("blockDeviceMappings", "disks"),
    ("metadataOptions", "instance metadata options"),
    ("instanceType", "instance type"),
    ("tagSpecifications", "tags of instances and volumes"),
    ("vpcSecurityGroupIds", "security groups"),
    ("iamInstanceProfile", "instance profile"),
    ("capacityReservationSpecification", "capacity reservation"),
    ("placement", "placement group"),
    ("networkInterfaces", "network interfaces"),
)
"""Properties whose change replaces nodes, and their names in a sentence."""
_NEWEST = "EKS takes the newest AMI release too, whichever is pinned: the launch template names no image."
_SHOWN = frozenset({"version", "releaseVersion", "imageId", "instanceType"})
"""Those that are named with both values."""


def find_group_rolls(change: StackChange, renamed: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about managed and self-managed node groups, in the order of the preview's steps.

    ``renamed`` says, by subject, what becomes of the removed groups that have successors.
    """
    steps = change.preview.steps
    templates = {step.old.id: step for step in list_resources(steps, _LAUNCH_TEMPLATE) if step.old and step.old.id}
    hooks = {
        str(name): step
        for step in list_resources(steps, _HOOK)
        if (name := get_before(step, "autoscalingGroupName")) is not None
    }
    for step in list_resources(steps, MANAGED_GROUP, AUTO_SCALING_GROUP):
        managed = step.type == MANAGED_GROUP
        subject = f"{GroupKind.MANAGED if managed else GroupKind.SELF_MANAGED} {step.name}"
        drain = _drain_of_hook(hooks.get(str(get_before(step, "name") or "")))
        parts = _parts(step, templates, hooks)
        for end in find_end(step, subject, drain, renamed.get(subject, "")):
            yield replace(end, urns=(*end.urns, *parts))
        causes = _causes(step, _MANAGED_CAUSES if managed else _SELF_MANAGED_CAUSES, templates)
        if step.operation is Operation.UPDATE and causes:
            found = _rolled(step, subject, causes) if managed else _refreshed(step, subject, causes, drain)
            newest = (_NEWEST,) if managed and _takes_newest(step, templates) else ()
            yield replace(found, urns=(*found.urns, *parts), details=(*found.details, *newest))


def _parts(step: Step, templates: Mapping[str, Step], hooks: Mapping[str, Step]) -> tuple[str, ...]:
    """Return what changes together with a group: its launch template and its lifecycle hook."""
    found = (templates.get(_template_id(step)), hooks.get(str(get_before(step, "name") or "")))
    unchanged = (Operation.SAME, Operation.DRIFT)
    return tuple(each.urn for each in found if each is not None and each.operation not in unchanged)


def _takes_newest(step: Step, templates: Mapping[str, Step]) -> bool:
    """Return whether EKS chooses the release: an update sends one only if it changed, and a template may name an image.

    Source: terraform-provider-aws, ``internal/service/eks/node_group.go``, resourceNodeGroupUpdate.
    """
    template = templates.get(_template_id(step))
    if template is None or get_after(template, "imageId") or list_changes(step, "releaseVersion"):
        return False
    return bool(list_changes(step, "launchTemplate"))


def _rolled(step: Step, subject: str, causes: Sequence[str]) -> Finding:
    nodes = count_nodes(step)
    at_once, pace = _managed_pace(step, nodes)
    because = f"Reason: {'; '.join(causes)}."
    if nodes == 0:
        text = "The group has no nodes now; new ones get the new version."
        return make_finding("roll-nodes", subject, text, (because,), (step.urn,), Risk.LOW)
    forced = get_after(step, "forceUpdateVersion") is True
    if nodes is None or at_once is None:
        text = f"All nodes are replaced, {pace}; how many is unknown, because the state does not say it."
    else:
        minutes = ceil(nodes / at_once) * EVICTION_MINUTES
        text = f"{_are_replaced(nodes)} replaced, {pace}; evictions take {minutes} minutes at most."
    limit = (
        f"EKS evicts the pods of a node for {EVICTION_MINUTES} minutes, then deletes the remaining ones (force)."
        if forced
        else f"EKS evicts the pods of a node for {EVICTION_MINUTES} minutes; if a PodDisruptionBudget prevents one "
        "longer than that, the update fails and the remaining nodes stay as they are."
    )
    started = "The time that new nodes need to start is not included: EKS does not state a limit."
    return make_finding("roll-nodes", subject, text, (because, limit, started, *explain_count(nodes)), (step.urn,))


def _managed_pace(step: Step, nodes: int | None) -> tuple[int | None, str]:
    """Return how many nodes EKS replaces at a time, by the new ``updateConfig``, and this in words.

    A percentage is rounded down here, because EKS does not document its rounding: the limit holds in either case.
    """
    config = to_mapping(get_after(step, "updateConfig") or get_before(step, "updateConfig"))
    percentage = get_integer_at(config, "maxUnavailablePercentage")
    if percentage is None:
        at_once = max(1, min(get_integer_at(config, "maxUnavailable") or 1, MOST_AT_ONCE))
        return at_once, f"{at_once} at a time"
    if nodes is None:
        return None, f"{percentage} % of them at a time"
    at_once = max(1, min(nodes * percentage // 100, MOST_AT_ONCE))
    return at_once, f"{at_once} at a time ({percentage} %)"


def _refreshed(step: Step, subject: str, causes: Sequence[str], drain: str) -> Finding:
    nodes = count_nodes(step)
    because = f"Reason: {'; '.join(causes)}."
    if not get_after(step, "instanceRefresh"):
        text = f"{format_nodes(nodes).capitalize()} keep the old configuration: the group has no instance refresh."
        return make_finding("keep-old-nodes", subject, text, (because,), (step.urn,))
    if nodes == 0:
        text = "The group has no nodes now; new ones get the new configuration."
        return make_finding("roll-nodes", subject, text, (because,), (step.urn,), Risk.LOW)
    healthy = to_integer(get_after(step, "instanceRefresh.preferences.minHealthyPercentage"))
    percentage = 90 if healthy is None else healthy
    pace = f"at least {percentage} % stay in service"
    if nodes is not None:  # at 100 % it is one at a time
        at_once = max(1, nodes - ceil(nodes * percentage / 100))
        pace = f"{at_once} at a time ({percentage} % stay in service)"
    how_many = "All nodes are" if nodes is None else _are_replaced(nodes)
    text = f"{how_many} replaced by an instance refresh, {pace}; for how long is unknown."
    return make_finding(
        "roll-nodes",
        subject,
        text,
        (
            because,
            "EC2 Auto Scaling states no limit for a whole refresh, and pulumi up does not wait for its end.",
            drain,
            *explain_count(nodes),
        ),
        (step.urn,),
    )


def _drain_of_hook(hook: Step | None) -> str:
    if hook is None:
        return "Pods get SIGTERM with the instance: no lifecycle hook drains these nodes first."
    seconds = to_integer(get_after(hook, "heartbeatTimeout") or get_before(hook, "heartbeatTimeout"))
    if seconds is None:
        return "A lifecycle hook lets each node be drained first; its limit is unknown."
    return f"A lifecycle hook lets each node be drained for {format_count(ceil(seconds / 60), 'minute')} at most."


def _causes(step: Step, rows: Sequence[tuple[str, str]], templates: Mapping[str, Step]) -> list[str]:
    found = []
    for path, name in rows:
        if list_changes(step, path):
            template = templates.get(_template_id(step)) if name == "launch template" else None
            parts = [each for each in _TEMPLATE_CAUSES if template and list_changes(template, each[0])]
            inner = ", ".join(_describe_part(template, *each) for each in parts if template)
            found.append(f"{name} ({inner})" if inner else _describe_cause(step, path, name))
    return found


def _describe_part(template: Step, path: str, name: str) -> str:
    """Return a changed part of a launch template. One that is not known yet may turn out to be the same."""
    is_late = template.new is not None and is_unknown(template.new.inputs, path)
    return f"{name}, known only during the update" if is_late else _describe_cause(template, path, name)


def _describe_cause(step: Step, path: str, name: str) -> str:
    if path in _SHOWN and get_before(step, path) and not get_after(step, path):
        return f"{name} (now {get_before(step, path)})"
    return describe_change(step, path, name) if path in _SHOWN else name


def _template_id(step: Step) -> str:
    path = "launchTemplate.id"
    if step.type == AUTO_SCALING_GROUP:
        specification = get_before(
            step, "mixedInstancesPolicy.launchTemplate.launchTemplateSpecification.launchTemplateId"
        )
        return str(specification or get_before(step, path) or "")
    return str(get_before(step, path) or "")


def _are_replaced(nodes: int) -> str:
    return f"{format_count(nodes, 'node')} {'is' if nodes == 1 else 'are'}"
