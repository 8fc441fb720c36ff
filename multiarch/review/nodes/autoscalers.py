"""What a change means for who adds nodes, and which are added first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from multiarch.autoscaling.model import Autoscaler
from multiarch.review.model import StackChange
from multiarch.review.nodes.group_states import list_group_changes
from multiarch.review.nodes.installed import list_autoscalers
from multiarch.review.nodes.preference import find_preference
from multiarch.rules import Finding, Risk, make_finding

_NAMES: Mapping[Autoscaler, str] = {
    Autoscaler.CLUSTER_AUTOSCALER: "the cluster autoscaler",
    Autoscaler.KARPENTER: "Karpenter",
    Autoscaler.AUTO_MODE: "EKS Auto Mode",
}

# The platform deletes NodePools while the controller is there to drain their nodes.
_LEFT: Mapping[Autoscaler, str] = {
    Autoscaler.CLUSTER_AUTOSCALER: "The nodes of the cluster autoscaler stay, and nothing removes them.",
    Autoscaler.KARPENTER: "The nodes of Karpenter end with its NodePools, whose deletion drains all of them at once.",
    Autoscaler.AUTO_MODE: "The nodes of EKS Auto Mode end with it: EKS terminates all of them.",
}


def find_autoscaler_changes(change: StackChange) -> Iterator[Finding]:
    """Yield findings about the autoscalers, then about the preference."""
    groups = list_group_changes(change)
    if not any(group.before for group in groups) or not any(group.after for group in groups):
        return
    yield from find_swap(change)
    yield from find_preference(change, groups)


def find_swap(change: StackChange) -> Iterator[Finding]:
    """Yield autoscalers that come or go."""
    old, new, urns = list_autoscalers(change)
    if old == new:
        return
    came, gone = sorted(new - old), sorted(old - new)
    named = {each: _NAMES[each] for each in (*came, *gone)}
    if came and gone:
        text, risk = f"{named[gone[0]]} is replaced by {named[came[0]]} at once, without a migration.", Risk.HIGH
        more = [_LEFT[gone[0]], "With migrateFrom both are kept for a while."]
    elif came and old:
        other = _NAMES[next(iter(old))]
        text, risk = f"{named[came[0]]} is installed beside {other}.", Risk.MEDIUM
        more = ["autoscaling.use in the stack file says which of them adds nodes first; the other one is the fallback."]
    elif came:
        text, risk = f"{named[came[0]]} is installed: from now on it adds and removes nodes.", Risk.MEDIUM
        more = []
    elif new:
        text, risk = f"{named[gone[0]]} is removed; {_NAMES[next(iter(new))]} remains.", Risk.MEDIUM
        more = ["Node groups keep their present number of nodes."] if Autoscaler.CLUSTER_AUTOSCALER in gone else []
    else:
        text, risk = f"{named[gone[0]]} is removed: nothing adds nodes for pods that wait for room.", Risk.HIGH
        more = []
    yield make_finding("swap-autoscaler", "autoscaler", f"{text[0].upper()}{text[1:]}", tuple(more), urns, risk)
