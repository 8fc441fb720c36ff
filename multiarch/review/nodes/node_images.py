"""Images of nodes that change: their releases, whether they are pinned, and families that have ended."""

from __future__ import annotations

import re
from collections.abc import Iterator

from multiarch.errors import UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts.ami_families import AmiFamily, get_ami_type
from multiarch.nodes.model import NodeGroupPlan
from multiarch.observed.resources.nodes import MANAGED_GROUP, NODE_CLASS, get_ami_alias
from multiarch.observed.resources.properties import get_value, is_unknown
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.properties import get_after, get_before, list_changes, list_resources
from multiarch.rules import Finding, Risk, make_finding

_DAY = re.compile(r"(20[0-9]{2})([0-9]{2})([0-9]{2})$")
_NUMBERS = re.compile(r"[0-9]+")
_HASH = re.compile(r"-[0-9a-f]{8}$")


def find_images(change: StackChange) -> Iterator[Finding]:
    """Yield findings of managed node groups and EC2NodeClasses, then what only the plans say: pinned or not."""
    for step in list_resources(change.preview.steps, MANAGED_GROUP, NODE_CLASS):
        if step.operation in (Operation.UPDATE, Operation.REPLACE):
            yield from _of_group(step) if step.type == MANAGED_GROUP else _of_class(step)
        elif step.operation is Operation.CREATE and step.type == MANAGED_GROUP:
            yield from _ended_family(step)
    if change.plans is not None:
        olds, news = ({group.name: group for group in plan.node_groups} for plan in change.plans)
        for name in (each for each in news if each in olds):
            yield from _of_plans(olds[name], news[name])


def _of_group(step: Step) -> Iterator[Finding]:
    subject = f"node group {step.name}"
    if list_changes(step, "releaseVersion") and not (step.new and is_unknown(step.new.inputs, "releaseVersion")):
        old, new = get_before(step, "releaseVersion"), get_after(step, "releaseVersion")
        pinned = step.old is not None and get_value(step.old.inputs, "releaseVersion") is not None
        if old == new:
            text = f"The image is pinned to {new}, which the nodes have already."
            yield make_finding("change-image", subject, text, (), (step.urn,), Risk.NONE)
        elif isinstance(new, str):
            yield _changed(subject, str(old or "unknown"), new, step)
        elif pinned and not _goes_to_template(step):
            yield _unpinned(subject, f"release {old}", step)
    if list_changes(step, "amiType") and isinstance(get_after(step, "amiType"), str):
        yield make_finding(
            "change-image",
            subject,
            f"amiType {get_before(step, 'amiType')} → {get_after(step, 'amiType')}.",
            (),
            (step.urn,),
        )
        yield from _ended_family(step)


def _goes_to_template(step: Step) -> bool:
    """Return whether the launch template names the image from now on: EKS rejects an amiType then."""
    before, after = (each and get_value(each.inputs, "amiType") for each in (step.old, step.new))
    return before is not None and after is None


def _changed(subject: str, old: str, new: str, step: Step | None) -> Finding:
    urns = (step.urn,) if step else ()
    if _older(new, old):
        return make_finding("old-image", subject, f"Its nodes get an older image: {old} → {new}.", (), urns)
    return make_finding("change-image", subject, f"Image {old} → {new}.", (), urns)


def _unpinned(subject: str, old: str, step: Step | None) -> Finding:
    text = f"The image is no longer pinned (before: {old}): AWS's newest release is taken at each change of the nodes."
    return make_finding("unpin-image", subject, text, (), (step.urn,) if step else ())


def _ended_family(step: Step) -> Iterator[Finding]:
    """Yield a new group of Amazon Linux 2, or one that changes to it."""
    name = get_after(step, "amiType")
    try:
        family = get_ami_type(name).family if isinstance(name, str) else None
    except UnknownFactError:
        return
    if family is AmiFamily.AL2:
        text = (
            f"{name}: Amazon Linux 2 reached its end on {kubernetes.AL2_END}, and its EKS images get no updates since "
            f"{kubernetes.AL2_IMAGES_END}; Kubernetes {kubernetes.LAST_AL2_VERSION} is the last with them."
        )
        yield make_finding("old-image", f"node group {step.name}", text, (), (step.urn,))


def _of_class(step: Step) -> Iterator[Finding]:
    if not list_changes(step, "spec.amiSelectorTerms"):
        return
    old, new = (get_ami_alias(state.inputs) if state else None for state in (step.old, step.new))
    subject = f"EC2NodeClass {step.name}"
    if old is None or new is None:
        yield make_finding("change-image", subject, "Other images: amiSelectorTerms change.", (), (step.urn,))
    elif new.endswith("@latest") and not old.endswith("@latest"):
        yield _unpinned(subject, old, step)
    else:
        yield _changed(subject, old, new, step)


def _of_plans(old: NodeGroupPlan, new: NodeGroupPlan) -> Iterator[Finding]:
    """Yield an image ID that is written, changed or removed. A release alone is a property of the group."""
    subject = f"node group {new.name}"
    if old.ami.id and not new.ami.pinned:
        yield _unpinned(subject, old.ami.id, None)
    elif new.ami.id and old.ami.id != new.ami.id:
        was, now = (each.ami.release or each.ami.id or "not pinned" for each in (old, new))
        yield _changed(subject, was, now, None)


def _older(new: str, old: str) -> bool:
    """Return whether a release is older than another one, by their numbers; False if they have not the same form."""
    if "ami-" in (new + old):
        return False
    one, other = _numbers(new), _numbers(old)
    return len(one) == len(other) and one < other


def _numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of ``1.35.4-20261106``, ``1.52.0-ae0b4a82`` (a hash at the end) or ``al2023@v20260715``."""
    text = release.partition("@")[2] or release
    return tuple(map(int, _NUMBERS.findall(text if _DAY.search(text) else _HASH.sub("", text))))
