"""What a change means for where pods run: taints, labels, architectures, capacity types and sizes, group by group."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import CapacityType
from multiarch.observed.resources.nodes import get_size_path
from multiarch.observed.resources.properties import get_integer_at, to_integer
from multiarch.plurals import format_count
from multiarch.review.merging import merge_findings
from multiarch.review.model import Operation, Preview, StackChange
from multiarch.review.nodes.cluster_version import CLUSTER
from multiarch.review.nodes.group_states import GroupChange, GroupKind, list_group_changes
from multiarch.review.nodes.new_groups import find_new_groups
from multiarch.review.nodes.taints import find_open_arm64, find_taints
from multiarch.review.properties import get_after, get_before, list_changes
from multiarch.rules import Finding, Risk, make_finding


def find_placement_changes(change: StackChange) -> Iterator[Finding]:
    """Yield findings about each node group and NodePool, by name; then about new ones."""
    groups = list_group_changes(change)
    # A new cluster has no pods yet, and one without groups none any more.
    is_new = not any(group.before for group in groups) and not _has_cluster(change.preview)
    if is_new or not any(group.after for group in groups):
        return
    subjects = (find_architecture, find_capacity_type, find_taints, find_open_arm64, find_labels, find_size)
    yield from merge_findings(finding for group in groups for subject in subjects for finding in subject(group))
    yield from merge_findings(find_new_groups(groups))


def _has_cluster(preview: Preview) -> bool:
    """Return whether there is a cluster already; one that is not in the stack is, if anything of the stack is there."""
    clusters = [step for step in preview.steps if step.type == CLUSTER]
    ours = [step for step in preview.steps if not step.type.startswith("pulumi:")]
    return any(step.old is not None for step in clusters or ours)


def find_architecture(group: GroupChange) -> Iterator[Finding]:
    """Yield a group whose new nodes have other architectures."""
    old = group.before.architectures if group.before else None
    new = group.after.architectures if group.after else None
    if old is None or new is None or old == new:
        return
    gone, came = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    parts = [f"pods that need {_either(gone)} can't be scheduled there any more"] if gone else []
    parts += [f"images must also exist for {_either(came)}"] if came else []
    yield make_finding(
        "change-architecture",
        group.subject,
        f"Its new nodes are {_either(new)} instead of {_either(old)}: {'; '.join(parts)}.",
        (),
        group.urns,
        None if gone else Risk.MEDIUM,
    )


def _either(architectures: tuple[Architecture, ...] | list[Architecture]) -> str:
    return " or ".join(architectures)


def find_capacity_type(group: GroupChange) -> Iterator[Finding]:
    """Yield a group whose new nodes are bought in another way."""
    old = group.before.capacity_types if group.before else None
    new = group.after.capacity_types if group.after else None
    if old is None or new is None or old == new:
        return
    spot = CapacityType.SPOT in new and CapacityType.SPOT not in old
    text = f"Its new nodes are bought as {' or '.join(new)} instead of {' or '.join(old)}"
    text += ": EC2 may take a spot node back with two minutes' notice." if spot else "."
    yield make_finding("change-capacity-type", group.subject, text, (), group.urns, None if spot else Risk.LOW)


def find_labels(group: GroupChange) -> Iterator[Finding]:
    """Yield labels that the nodes of a group get or lose, in one finding."""
    if group.before is None or group.after is None or group.before.labels is None or group.after.labels is None:
        return
    old, new = dict(group.before.labels), dict(group.after.labels)
    changed = [f"{key}: {old[key]} → {new[key]}" for key in sorted(old.keys() & new.keys()) if old[key] != new[key]]
    lost = [_label(key, old[key]) for key in sorted(old.keys() - new.keys())]
    gained = [_label(key, new[key]) for key in sorted(new.keys() - old.keys())]
    if changed or lost:
        parts = [f"lose the labels {', '.join(lost)}"] if lost else []
        parts += [f"change the labels {', '.join(changed)}"] if changed else []
        text = f"Its nodes {' and '.join(parts)}: pods that request the old values can't be scheduled there."
        more = (f"New labels: {', '.join(gained)}.",) if gained else ()
        yield make_finding("change-labels", group.subject, text, (*more, _IGNORED), group.urns)
    elif gained:
        yield make_finding(
            "change-labels", group.subject, f"Its nodes get the labels {', '.join(gained)}.", (), group.urns, Risk.LOW
        )


_IGNORED = "Running pods stay: a node selector and node affinity count only when a pod is scheduled."


def _label(key: str, value: str) -> str:
    return f"{key}={value}" if value else key


def _known(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def find_size(group: GroupChange) -> Iterator[Finding]:
    """Yield other limits of a group's size, and limits that AWS rejects at its present size.

    Source: EKS API, UpdateNodegroupConfig, and EC2 Auto Scaling API, UpdateAutoScalingGroup: min <= desired <= max.
    """
    step = group.step
    if step is None or step.operation is not Operation.UPDATE or group.kind is GroupKind.NODE_POOL:
        return
    paths = {name: get_size_path(step.type, name) for name in ("minSize", "maxSize")}
    desired = get_size_path(step.type, "desiredSize")
    names = [name for name, path in paths.items() if list_changes(step, path)]
    declared = to_integer(get_after(step, desired))
    # With ignoreChanges the engine keeps the old value in the new inputs.
    is_set = step.old is not None and declared not in (None, get_integer_at(step.old.inputs, desired))
    old = {name: to_integer(get_before(step, path)) for name, path in paths.items()}
    new = {name: to_integer(get_after(step, path)) for name, path in paths.items()}
    now = to_integer(get_before(step, desired))
    if not names and not is_set:
        return
    changed = ", ".join(f"{name} {_known(old[name])} → {_known(new[name])}" for name in names)
    low, high, wanted = new["minSize"], new["maxSize"], declared if is_set else now
    if wanted is not None and ((low is not None and wanted < low) or (high is not None and wanted > high)):
        sizes = f"desiredSize {wanted}, minSize {_known(low)}, maxSize {_known(high)}"
        why = f"({sizes})" if is_set else f"({changed}) while the group has {format_count(wanted, 'node')}"
        yield make_finding("refused-size", group.subject, f"AWS rejects the new sizes {why}.", (), group.urns)
        return
    if is_set and declared != now:
        sizes = f"desiredSize {_known(now)} → {declared}" + (f", {changed}" if changed else "")
        fewer = now is None or (declared is not None and declared < now)
        ends = f", {format_count(now - declared, 'node')} fewer" if fewer and now and declared is not None else ""
        text = f"The update sets the number of nodes{ends} ({sizes})."
        details = (f"With ignoreChanges for {desired} an update leaves the number to the autoscaler.",)
        yield make_finding("change-size", group.subject, text, details, group.urns, Risk.HIGH if fewer else None)
        return
    stays = f"; the number of nodes stays {now}" if now is not None else ""
    if names:
        yield make_finding("change-size", group.subject, f"{changed}{stays}.", (), group.urns)
