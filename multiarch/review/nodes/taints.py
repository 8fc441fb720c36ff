"""What a change of a group's taints means for pods."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.review.nodes.group_states import GroupChange, GroupKind, GroupState
from multiarch.review.properties import list_changes
from multiarch.rules import Finding, Risk, make_finding

_GAINED = {
    Effect.NO_SCHEDULE: "pods without the toleration can't be scheduled there; running pods stay",
    Effect.NO_EXECUTE: "pods without the toleration can't be scheduled there, and running ones are evicted",
    Effect.PREFER_NO_SCHEDULE: "pods without the toleration are scheduled there only if no other node has room",
}
_CHANGED = {
    Effect.NO_SCHEDULE: "pods that tolerate only the old value can't be scheduled there; running pods stay",
    Effect.NO_EXECUTE: "pods that tolerate only the old value can't be scheduled there, and running ones are evicted",
    Effect.PREFER_NO_SCHEDULE: "pods that tolerate only the old value are kept away where other nodes have room",
}
_LOST = {
    Effect.NO_SCHEDULE: "pods without the toleration can be scheduled there from now on",
    Effect.NO_EXECUTE: "pods without the toleration can be scheduled there from now on, and stay",
    Effect.PREFER_NO_SCHEDULE: "pods without the toleration are no longer kept away from them",
}


def find_taints(group: GroupChange) -> Iterator[Finding]:
    """Yield taints that the nodes of a group get or lose."""
    if group.before is None or group.after is None or group.before.taints is None or group.after.taints is None:
        return
    gained, lost = (
        set(group.after.taints) - set(group.before.taints),
        set(group.before.taints) - set(group.after.taints),
    )
    # Kubernetes allows one taint per key and effect, so another value is a change of the same taint.
    was = {(taint.key, taint.effect): taint for taint in lost}
    for taint in sorted(gained):
        risk = Risk.HIGH if taint.effect is Effect.NO_EXECUTE else None
        if (old := was.pop((taint.key, taint.effect), None)) is not None:
            text = f"The taint {old} of its nodes becomes {taint}: {_CHANGED[taint.effect]}."
        else:
            text = f"Its nodes get the taint {taint}: {_GAINED[taint.effect]}."
        yield _finding(group, text, risk)
    others = [str(taint) for taint in group.after.taints if is_hard(taint)]
    for taint in sorted(was.values()):
        risk = Risk.LOW if taint.effect is Effect.PREFER_NO_SCHEDULE or others else None
        effect = _LOST[taint.effect]
        if others and is_hard(taint):
            effect = f"pods there still have to tolerate {', '.join(others)}"
        yield _finding(group, f"Its nodes lose the taint {taint}: {effect}.", risk)


def _finding(group: GroupChange, text: str, risk: Risk | None) -> Finding:
    return make_finding("change-taints", group.subject, text, (_when(group),), group.urns, risk)


def _when(group: GroupChange) -> str:
    rolls = group.step is not None and bool(list_changes(group.step, "launchTemplate"))
    if group.kind is GroupKind.MANAGED and not rolls:
        return "EKS changes the taints of running nodes in place."
    return "Running nodes keep their taints until they are replaced."


def find_open_arm64(group: GroupChange) -> Iterator[Finding]:
    """Yield nodes of arm64 alone that are new, or were tainted, and now take any pod."""
    if group.after is None or not _is_open(group.after):
        return
    if group.before is not None and (group.before.taints is None or _is_open(group.before)):
        return
    yield make_finding(
        "open-arm64",
        group.subject,
        "Any pod can be scheduled on these arm64 nodes: one whose image is only for amd64 fails with "
        "`exec format error`.",
        (),
        group.urns,
    )


def _is_open(state: GroupState) -> bool:
    if state.taints is None or state.architectures != (Architecture.ARM64,):
        return False
    return not any(map(is_hard, state.taints))


def is_hard(taint: Taint) -> bool:
    """Return whether a taint keeps pods without a toleration off a node."""
    return taint.effect is not Effect.PREFER_NO_SCHEDULE
