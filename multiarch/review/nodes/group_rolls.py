"""Which nodes of node groups are replaced, how many, at what pace, and for how long at most.

What makes a group replace its nodes is said in ``docs/reference/changes.md``. Sources of the limits: EKS user guide,
"Understand each phase of node updates"; EC2 Auto Scaling user
guide, "Understand the default values for an instance refresh".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil

from multiarch.observed.resources.nodes import AUTO_SCALING_GROUP, MANAGED_GROUP
from multiarch.observed.resources.properties import is_unknown, mapping, whole, whole_at
from multiarch.plurals import counted
from multiarch.review.model import Change, Operation, Step
from multiarch.review.nodes.group_ends import KEEP, ROLL, all_nodes, end_of, number_of_nodes, where_from
from multiarch.review.nodes.group_states import GroupKind
from multiarch.review.properties import after, before, changes_of, describe_change, resources
from multiarch.rules import Finding, Risk

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
)
"""Properties whose change replaces nodes, and their names in a sentence."""
_SHOWN = frozenset({"version", "releaseVersion", "imageId", "instanceType"})
"""Those that are named with both values."""


def find(change: Change, renamed: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about managed and self-managed node groups, in the order of the preview's steps.

    ``renamed`` says, by subject, what becomes of the removed groups that have successors.
    """
    steps = change.preview.steps
    templates = {step.old.id: step for step in resources(steps, _LAUNCH_TEMPLATE) if step.old and step.old.id}
    hooks = {
        str(name): step
        for step in resources(steps, _HOOK)
        if (name := before(step, "autoscalingGroupName")) is not None
    }
    for step in resources(steps, MANAGED_GROUP, AUTO_SCALING_GROUP):
        managed = step.type == MANAGED_GROUP
        subject = f"{GroupKind.MANAGED if managed else GroupKind.SELF_MANAGED} {step.name}"
        drain = _drain_of_hook(hooks.get(str(before(step, "name") or "")))
        parts = _parts(step, templates, hooks)
        for end in end_of(step, subject, drain, renamed.get(subject, "")):
            yield replace(end, urns=(*end.urns, *parts))
        causes = _causes(step, _MANAGED_CAUSES if managed else _SELF_MANAGED_CAUSES, templates)
        if step.operation is Operation.UPDATE and causes:
            found = _rolled(step, subject, causes) if managed else _refreshed(step, subject, causes, drain)
            yield replace(found, urns=(*found.urns, *parts))


def _parts(step: Step, templates: Mapping[str, Step], hooks: Mapping[str, Step]) -> tuple[str, ...]:
    """Return what changes together with a group: its launch template and its lifecycle hook."""
    found = (templates.get(_template_id(step)), hooks.get(str(before(step, "name") or "")))
    unchanged = (Operation.SAME, Operation.DRIFT)
    return tuple(each.urn for each in found if each is not None and each.operation not in unchanged)


def _rolled(step: Step, subject: str, causes: Sequence[str]) -> Finding:
    nodes = number_of_nodes(step)
    at_once, pace = _managed_pace(step, nodes)
    because = f"Reason: {'; '.join(causes)}."
    if nodes == 0:
        text = "The group has no nodes now; new ones get the new version."
        return Finding(ROLL, subject, text, (because,), (step.urn,), Risk.LOW)
    forced = after(step, "forceUpdateVersion") is True
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
    return Finding(ROLL, subject, text, (because, limit, started, *where_from(nodes)), (step.urn,))


def _managed_pace(step: Step, nodes: int | None) -> tuple[int | None, str]:
    """Return how many nodes EKS replaces at a time, by the new ``updateConfig``, and this in words.

    A percentage is rounded down here, because EKS does not document its rounding: the limit holds in either case.
    """
    config = mapping(after(step, "updateConfig") or before(step, "updateConfig"))
    percentage = whole_at(config, "maxUnavailablePercentage")
    if percentage is None:
        at_once = max(1, min(whole_at(config, "maxUnavailable") or 1, MOST_AT_ONCE))
        return at_once, f"{at_once} at a time"
    if nodes is None:
        return None, f"{percentage} % of them at a time"
    at_once = max(1, min(nodes * percentage // 100, MOST_AT_ONCE))
    return at_once, f"{at_once} at a time ({percentage} %)"


def _refreshed(step: Step, subject: str, causes: Sequence[str], drain: str) -> Finding:
    nodes = number_of_nodes(step)
    because = f"Reason: {'; '.join(causes)}."
    if not after(step, "instanceRefresh"):
        text = f"{all_nodes(nodes).capitalize()} keep the old configuration: the group has no instance refresh."
        return Finding(KEEP, subject, text, (because,), (step.urn,))
    if nodes == 0:
        text = "The group has no nodes now; new ones get the new configuration."
        return Finding(ROLL, subject, text, (because,), (step.urn,), Risk.LOW)
    healthy = whole(after(step, "instanceRefresh.preferences.minHealthyPercentage"))
    percentage = 90 if healthy is None else healthy
    pace = f"at least {percentage} % stay in service"
    if nodes is not None:  # at 100 % it is one at a time
        at_once = max(1, nodes - ceil(nodes * percentage / 100))
        pace = f"{at_once} at a time ({percentage} % stay in service)"
    how_many = "All nodes are" if nodes is None else _are_replaced(nodes)
    text = f"{how_many} replaced by an instance refresh, {pace}; for how long is unknown."
    return Finding(
        ROLL,
        subject,
        text,
        (
            because,
            "EC2 Auto Scaling states no limit for a whole refresh, and pulumi up does not wait for its end.",
            drain,
            *where_from(nodes),
        ),
        (step.urn,),
    )


def _drain_of_hook(hook: Step | None) -> str:
    if hook is None:
        return "Pods get SIGTERM with the instance: no lifecycle hook drains these nodes first."
    seconds = whole(after(hook, "heartbeatTimeout") or before(hook, "heartbeatTimeout"))
    if seconds is None:
        return "A lifecycle hook lets each node be drained first; its limit is unknown."
    return f"A lifecycle hook lets each node be drained for {counted(ceil(seconds / 60), 'minute')} at most."


def _causes(step: Step, rows: Sequence[tuple[str, str]], templates: Mapping[str, Step]) -> list[str]:
    found = []
    for path, name in rows:
        if changes_of(step, path):
            template = templates.get(_template_id(step)) if name == "launch template" else None
            parts = [each for each in _TEMPLATE_CAUSES if template and changes_of(template, each[0])]
            inner = ", ".join(_describe_part(template, *each) for each in parts if template)
            found.append(f"{name} ({inner})" if inner else _describe_cause(step, path, name))
    return found


def _describe_part(template: Step, path: str, name: str) -> str:
    """Return a changed part of a launch template. One that is not known yet may turn out to be the same."""
    is_late = template.new is not None and is_unknown(template.new.inputs, path)
    return f"{name}, known only during the update" if is_late else _describe_cause(template, path, name)


def _describe_cause(step: Step, path: str, name: str) -> str:
    if path in _SHOWN and before(step, path) and not after(step, path):
        return f"{name} (now {before(step, path)})"
    return describe_change(step, path, name) if path in _SHOWN else name


def _template_id(step: Step) -> str:
    path = "launchTemplate.id"
    if step.type == AUTO_SCALING_GROUP:
        specification = before(step, "mixedInstancesPolicy.launchTemplate.launchTemplateSpecification.launchTemplateId")
        return str(specification or before(step, path) or "")
    return str(before(step, path) or "")


def _are_replaced(nodes: int) -> str:
    return f"{counted(nodes, 'node')} {'is' if nodes == 1 else 'are'}"
