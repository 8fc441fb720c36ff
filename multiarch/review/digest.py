"""All that a reviewer has to know of some stacks' changes, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from multiarch.errors import MultiarchError
from multiarch.observed.resources.paths import UNKNOWN
from multiarch.observed.resources.secrets import mask_secrets
from multiarch.prices.model import UnknownPrice
from multiarch.review import cost, drift, failed_previews, installations, noise, replacements, stack_files
from multiarch.review.acknowledged import AcknowledgedRule, list_acknowledged
from multiarch.review.cost import CostDifference
from multiarch.review.model import Finder, Operation, StackChange, Step
from multiarch.review.nodes import autoscalers, node_rolls, placement, versions_support, workloads
from multiarch.review.noise import NoiseFilter
from multiarch.review.permissions import cluster, network, policies, settings
from multiarch.review.planned import replace_planned_urns, with_planned_steps
from multiarch.rules import REVIEW_RULES, REVIEW_TOPICS, Finding, Risk

_FINDERS: tuple[tuple[str, Finder], ...] = (
    ("Breaks", failed_previews.find_failed_preview),
    ("Breaks", stack_files.find_stack_file_changes),
    ("Breaks", workloads.find_affected_workloads),
    ("Rolls", node_rolls.find_node_rolls),
    ("Moves pods", placement.find_placement_changes),
    ("Moves pods", autoscalers.find_autoscaler_changes),
    ("Versions", versions_support.find_version_changes),
    ("Drift", drift.find_drift),
)
"""Every module that finds something in a change, below its topic; :mod:`cost` says more than its findings."""
_OF_STEPS: tuple[tuple[str, Finder], ...] = (
    ("Breaks", replacements.find_replacements),
    *(("Widens", each.find) for each in (*policies.SOURCES, *cluster.SOURCES, *network.SOURCES)),
    ("Widens", settings.find_weaker_settings),
    ("Moves pods", installations.find_installation_changes),
)
"""Modules that look at steps alone: where the preview does not show them, at those that the plans declare."""
_UNEXPECTED = (ArithmeticError, AttributeError, LookupError, MultiarchError, RecursionError, TypeError, ValueError)
"""What a module raises where a preview has values of another type, or deeper, than their provider declares."""


@dataclass(frozen=True, slots=True)
class StackReview:
    """One stack: ``entries`` worst first, ``others`` are changes that nothing is to be said about.

    ``warnings`` are the preview's. ``omitted`` has each noise filter that took changes or warnings, with their number.
    ``cost`` is what the change costs per month.
    """

    change: StackChange
    entries: tuple[Finding, ...]
    others: tuple[Step, ...]
    warnings: tuple[str, ...]
    omitted: tuple[tuple[NoiseFilter, int], ...]
    cost: CostDifference

    @property
    def name(self) -> str:
        """The stack's."""
        return self.change.preview.stack

    @property
    def acknowledged(self) -> tuple[AcknowledgedRule, ...]:
        """Warnings that the stack file acknowledges."""
        return list_acknowledged(self.change)

    @property
    def risk(self) -> Risk:
        """That of the worst finding; LOW for other changes alone."""
        worst = max((entry.level for entry in self.entries), default=Risk.NONE)
        return max(worst, Risk.LOW) if self.others else worst

    @property
    def operations(self) -> Mapping[Operation, int]:
        """How many resources each operation concerns, without SAME."""
        found = Counter(step.operation for step in self.change.preview.steps)
        return {
            operation: found[operation] for operation in Operation if found[operation] and operation != Operation.SAME
        }


@dataclass(frozen=True, slots=True)
class ReviewDigest:
    """All stacks, the worst first."""

    stacks: tuple[StackReview, ...]

    @property
    def risk(self) -> Risk:
        """That of the worst stack."""
        return max((stack.risk for stack in self.stacks), default=Risk.NONE)


def build_digest(changes: Iterable[StackChange]) -> ReviewDigest:
    """Review some stacks' changes."""
    found = [_reviewed(change) for change in changes]
    return ReviewDigest(tuple(sorted(found, key=lambda review: (-review.risk, review.name))))


def _reviewed(change: StackChange) -> StackReview:
    costs, entries = _costs(change)
    entries += [entry for topic, find in _FINDERS for entry in _entries(topic, find, change)]
    planned = with_planned_steps(change)
    entries += [entry for topic, find in _OF_STEPS for entry in _entries(topic, find, planned)]
    topics, names = [*REVIEW_TOPICS], [*REVIEW_RULES]
    entries.sort(key=lambda each: (-each.level, topics.index(each.rule.topic), names.index(each.rule.name)))
    others, omitted = noise.list_omitted(change.preview.steps, {urn for entry in entries for urn in entry.urns})
    warnings, dropped = noise.list_new_warnings(change)
    return StackReview(
        change,
        tuple(entries),
        tuple(others),
        tuple(" ".join(mask_secrets(text).split()) for text in warnings),
        (*omitted, *dropped),
        costs,
    )


def _entries(topic: str, find: Finder, change: StackChange) -> Iterator[Finding]:
    """Yield what a module finds. Values of an unexpected type end its search, and no other's: that is a finding too."""
    try:
        for finding in replace_planned_urns(find(change)):
            yield _clean(finding)
    except _UNEXPECTED as error:
        yield _unreadable(topic, error)


def _costs(change: StackChange) -> tuple[CostDifference, list[Finding]]:
    """Return what the change costs, and the findings about it."""
    try:
        found = cost.compare_costs(change)
    except _UNEXPECTED as error:
        reason = "a value in the preview is not of the type that its provider declares"
        unknown = CostDifference((), UnknownPrice(reason), (reason,), "")
        return unknown, [_unreadable("Costs", error)]
    increase = cost.find_increase(found, change.preview.stack, change.cost_threshold)
    return found, [*map(_clean, increase)]


def _unreadable(topic: str, error: Exception) -> Finding:
    rule = replace(REVIEW_RULES["unreadable-value"], topic=topic)
    said = str(error) if isinstance(error, MultiarchError) else f"{type(error).__name__}: {error}"
    text = "A value in the preview is not of the type that its provider declares: the findings are incomplete."
    return _clean(Finding(rule, f"rules of the topic {topic.lower()}", text, (said,)))


def _clean(finding: Finding) -> Finding:
    """Return the finding without what is of no use to a person, or must not be shown, in all that a finder quotes."""
    texts = (finding.subject, finding.text, *finding.details)
    subject, text, *details = (mask_secrets(each.replace(UNKNOWN, "known after the update")) for each in texts)
    return replace(finding, subject=subject, text=text, details=tuple(details))
