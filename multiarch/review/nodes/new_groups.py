"""Groups that a change adds: what their nodes are, and which pods may use them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from multiarch.manifests.values import to_mapping
from multiarch.observed.resources.nodes import get_size_path
from multiarch.observed.resources.properties import to_integer
from multiarch.plurals import format_count
from multiarch.review.nodes.group_states import GroupChange, GroupKind, GroupState
from multiarch.review.nodes.taints import is_hard
from multiarch.review.properties import get_after
from multiarch.rules import Finding, make_finding


def find_new_groups(groups: Sequence[GroupChange]) -> Iterator[Finding]:
    """Yield a finding for each new group."""
    for group in groups:
        if group.before is None and group.after is not None:
            yield make_finding(
                "add-group", group.subject, _nodes(group, group.after), tuple(_pods(group.after)), group.urns
            )


def _nodes(group: GroupChange, state: GroupState) -> str:
    """Return what its nodes are: ``New: arm64 on-demand nodes, m7g.large; 1 node at first, 4 at most.``."""
    what = [" or ".join(state.architectures or ()), " or ".join(state.capacity_types or ()), "nodes"]
    text = f"New: {' '.join(each for each in what if each)}"
    if state.instance_types:
        text += f", {' or '.join(state.instance_types)}"
    return f"{text}{_sizes(group)}."


def _sizes(group: GroupChange) -> str:
    if group.step is None:
        return ""
    if group.kind is GroupKind.NODE_POOL:
        limits = to_mapping(get_after(group.step, "spec.limits"))
        named = ", ".join(f"{key} {value}" for key, value in sorted(limits.items()))
        return f"; {named} at most" if named else "; without a limit"
    paths = [get_size_path(group.step.type, name) for name in ("desiredSize", "maxSize")]
    first, most = (to_integer(get_after(group.step, path)) for path in paths)
    known = "" if first is None else f"; {format_count(first, 'node')} at first"
    return known if most is None else f"{known or ';'}{',' if known else ''} {most} at most"


def _pods(state: GroupState) -> Iterator[str]:
    if state.taints is not None:
        hard = ", ".join(str(taint) for taint in state.taints if is_hard(taint))
        yield f"Only pods that tolerate {hard} can be scheduled there." if hard else "Any pod can be scheduled there."
    if state.labels:
        yield f"Labels: {', '.join(f'{key}={value}' if value else key for key, value in state.labels)}."
