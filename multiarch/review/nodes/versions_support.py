"""Versions that change: Kubernetes, the images of nodes, add-ons and charts, with the dates of their support."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import product

from multiarch.errors import UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts.autoscalers import parse_chart_version
from multiarch.observed.resources.properties import get_value, is_unknown
from multiarch.review.model import Operation, StackChange, Step
from multiarch.review.nodes.cluster_version import CLUSTER, VersionChange, get_version_change
from multiarch.review.nodes.node_images import find_images
from multiarch.review.planned import ADD_ON as ADD_ON_TYPE
from multiarch.review.planned import RELEASE, with_planned_steps
from multiarch.review.properties import describe_change, get_after, get_before, list_changes, list_resources
from multiarch.rules import Finding, Risk, make_finding

_IMAGES = ("values.image.repository", "values.controller.image.repository")
"""Where the values of charts here name the repository of an image."""


def find_version_changes(change: StackChange) -> Iterator[Finding]:
    """Yield findings about the cluster, then its nodes' images, then add-ons and charts."""
    if (versions := get_version_change(change)) is not None:
        yield from find_kubernetes(versions, change.today)
    yield from find_control_plane(with_planned_steps(change))
    yield from find_images(change)
    yield from find_add_ons(with_planned_steps(change))


def find_kubernetes(versions: VersionChange, today: date) -> Iterator[Finding]:
    """Yield the step from one minor to another, and the support of the new one.

    Sources: EKS user guide, "Update existing cluster to new Kubernetes version" (one minor at a time, and no way back),
    and "Understand the Kubernetes version lifecycle on EKS".
    """
    old, new, subject = versions.before, versions.after, "Kubernetes"
    try:
        apart = _minors(new) - _minors(old)
    except UnknownFactError as error:
        yield make_finding("change-kubernetes", subject, f"{old} → {new}: {error.message}", (), versions.urns)
        return
    if apart < 0:
        yield make_finding(
            "refused-kubernetes", subject, f"{old} → {new}: EKS can't downgrade a cluster.", (), versions.urns
        )
    elif apart > 1:
        text = f"{old} → {new}: EKS upgrades one minor at a time, so it rejects this; {_next(old)} comes next."
        yield make_finding("refused-kubernetes", subject, text, (), versions.urns)
    else:
        text = f"{old} → {new}; {_support(new, today)}. It can't be undone: EKS can't downgrade a cluster."
        details = (f"Before: {_support(old, today)}.", "The control plane is upgraded in place, then the nodes roll.")
        yield make_finding("change-kubernetes", subject, text, details, versions.urns)
    yield from _poor_support(new, today, versions.urns)


def _poor_support(version: str, today: date, urns: tuple[str, ...]) -> Iterator[Finding]:
    try:
        tier = kubernetes.get_support_status(version, today).tier
    except UnknownFactError:
        return
    if tier in ("extended", "unsupported"):
        risk = None if tier == "unsupported" else Risk.MEDIUM
        yield make_finding(
            "kubernetes-support", "Kubernetes", f"{version}: {_support(version, today)}.", (), urns, risk
        )


def _support(version: str, today: date) -> str:
    """Return the support of a minor in words, with its dates."""
    try:
        status = kubernetes.get_support_status(version, today)
    except UnknownFactError:
        return "its support dates are unknown: they are not in the table of facts"
    release = kubernetes.get_release(version)
    if status.tier == "unsupported":
        return f"EKS support ended on {status.ends}"
    if status.tier == "extended":
        return f"extended support, which costs more per cluster hour, until {status.ends}"
    if status.tier == "unconfirmed":
        return "its support dates are unknown: AWS's calendar had none when the table of facts was written"
    return (
        f"standard support until {status.ends}, then extended support, which costs more, until {release.extended_ends}"
    )


_SETTINGS = (
    ("upgradePolicy.supportType", "EXTENDED", "upgradePolicy", "what EKS does at the end of standard support"),
    ("zonalShiftConfig.enabled", False, "zonalShift", "whether traffic can be shifted away from an impaired zone"),
    ("controlPlaneScalingConfig.tier", "standard", "controlPlaneTier", "its capacity, and its price per hour"),
)
_OMITTED = {
    "upgradePolicy": "keeps it",
    # The provider sends nothing for the other keys, but of this one an empty mapping.
    "zonalShift": "rejects the update",
    "controlPlaneTier": "keeps the tier, and bills it,",
}
"""What EKS does where a key is only removed."""


def find_control_plane(change: StackChange) -> Iterator[Finding]:
    """Yield settings that change while the cluster stays; with upgradePolicy STANDARD, when EKS upgrades it."""
    for step, (path, default, name, meaning) in product(list_resources(change.preview.steps, CLUSTER), _SETTINGS):
        old, new = get_before(step, path) or default, get_after(step, path)
        declared = step.old and get_value(step.old.inputs, path)
        omitted = new is None and declared not in (None, default)
        if step.operation is not Operation.UPDATE or (new in (None, old) and not omitted):
            continue
        version = get_after(step, "version")
        details: tuple[str, ...] = ()
        if new == "STANDARD" and isinstance(version, str):
            details = (f"At its end EKS upgrades the cluster by itself; {version}: {_support(version, change.today)}.",)
        text = f"{name} {_in_words(old)} → {'not set' if omitted else _in_words(new)}: {meaning}."
        if omitted:
            text += f" Write {name}: {_in_words(default)}; EKS {_OMITTED[name]} otherwise."
        yield make_finding("change-control-plane", "EKS cluster", text, details, (step.urn,))


def _in_words(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _minors(version: str) -> int:
    major, minor = kubernetes.parse_version(version)
    return major * 1000 + minor


def _next(version: str) -> str:
    major, minor = kubernetes.parse_version(version)
    return f"{major}.{minor + 1}"


def find_add_ons(change: StackChange) -> Iterator[Finding]:
    """Yield add-ons and charts that get another version; an older one is worth a look."""
    for step in list_resources(change.preview.steps, ADD_ON_TYPE, RELEASE):
        if step.operation is not Operation.UPDATE:
            continue
        path = "addonVersion" if step.type == ADD_ON_TYPE else "version"
        subject = f"{'add-on' if step.type == ADD_ON_TYPE else 'Helm release'} {step.name}"
        for place in _list_moved(step):
            what = "chart" if place == "chart" else "image"
            text = f"{describe_change(step, place, f'Its {what} comes from another place')}."
            yield make_finding("change-add-on", subject, text, (), (step.urn,), Risk.MEDIUM)
        if not list_changes(step, path):
            continue
        if step.new is not None and is_unknown(step.new.inputs, path):
            continue
        yield _add_on(step, subject, get_before(step, path), get_after(step, path))


def _list_moved(step: Step) -> Iterator[str]:
    """Yield what a Helm release takes from another place from now on: its chart, images of its values."""
    if list_changes(step, "chart", "repositoryOpts"):
        yield "chart"
    for path in _IMAGES:
        new = step.new.inputs if step.new else {}
        if step.old and get_value(step.old.inputs, path) != get_value(new, path) and not is_unknown(new, path):
            yield path


def _add_on(step: Step, subject: str, old: object, new: object) -> Finding:
    if not isinstance(new, str):
        text = f"The version is no longer pinned (now {old}): EKS's default is used at the next update."
        return make_finding("change-add-on", subject, text, (), (step.urn,), Risk.MEDIUM)
    if not isinstance(old, str):
        return make_finding("change-add-on", subject, f"The version is {new} from now on.", (), (step.urn,))
    older = _numbers(new) < _numbers(old)
    text = f"{old} → {new}" + (": an older version." if older else ".")
    return make_finding("change-add-on", subject, text, (), (step.urn,), Risk.MEDIUM if older else None)


def _numbers(version: str) -> tuple[tuple[int, ...], int]:
    """Return ``v1.21.1-eksbuild.3`` or ``9.59.0`` as numbers; what can't be read compares as equal to itself alone."""
    release, _, build = version.removeprefix("v").partition("-eksbuild.")
    try:
        return parse_chart_version(release), int(build) if build.isdigit() else 0
    except UnknownFactError:
        return (), 0
