"""Changes that say nothing about a merge request. Each filter has a name and its reason, and what it takes is counted.

A filter never hides a finding: only steps that no finder reports are offered to the filters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from multiarch.observed.resources.paths import MISSING, get_value_at, is_below, split_path
from multiarch.review.acknowledged import list_acknowledged
from multiarch.review.model import Operation, StackChange, Step

_AUTO_SCALING_TAG = "aws:autoscaling/tag:Tag"
_GROUPS = frozenset({"aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/group:Group"})
_REPLACED = frozenset({Operation.CREATE, Operation.REPLACE, Operation.DELETE})
_PLAIN_TAG = re.compile(
    r"(?!.*(kubernetes\.io|k8s\.io|k8s\.aws|karpenter\.|amazonaws\.com|csi\.aws\.com|eks:|multiarch-eks/"
    r"|aws-node-termination-handler|backup|snapshot|schedule|retention|patch.?group)).*",
    re.DOTALL | re.IGNORECASE,
)
"""Tags that no controller, no backup plan or scheduler, and no IAM condition of this project reads."""
_SIZES = frozenset({"scalingConfig.desiredSize", "desiredCapacity"})
_STATUS = frozenset({"status", "metadata.resourceVersion", "metadata.generation", "metadata.managedFields"})
_PLUGIN = re.compile(r"using pulumi-\S+ from \$PATH at .*", re.DOTALL)
_POLICY = re.compile(r"policy (\S+) of ")
_RULE = re.compile(r"\[([a-z0-9-]+)\]\Z")


@dataclass(frozen=True, slots=True)
class NoiseFilter:
    """One kind of change that is omitted. ``reason`` says in one sentence why it does not matter."""

    name: str
    reason: str
    takes: Callable[[Step, AbstractSet[str]], bool] = lambda _step, _parents: False
    """Whether it takes a step. The set has the parents below which a node group is created, replaced or deleted."""


def list_omitted(steps: Sequence[Step], reported: AbstractSet[str]) -> tuple[list[Step], list[tuple[NoiseFilter, int]]]:
    """Return the changes that neither a finding reports (by URN) nor a filter takes, and how many each filter took."""
    parents = {step.parent for step in steps if step.type in _GROUPS and step.operation in _REPLACED and step.parent}
    others: list[Step] = []
    counts: Counter[str] = Counter()
    for step in steps:
        if step.operation in {Operation.SAME, Operation.READ} or step.urn in reported:
            continue
        found = next((each for each in FILTERS if each.takes(step, parents)), None)
        if found is None:
            others.append(step)
        else:
            counts[found.name] += 1
    return others, [(each, counts[each.name]) for each in FILTERS if counts[each.name]]


def list_new_warnings(change: StackChange) -> tuple[list[str], list[tuple[NoiseFilter, int]]]:
    """Return the preview's warnings but for those that a filter takes, and how many those are."""
    known = _known_rules(change)
    acknowledged = {each.rule for each in list_acknowledged(change)}
    kept, counts = [], Counter[str]()
    for text in change.preview.warnings:
        rule, policy = _RULE.search(text), _POLICY.match(text)
        if _PLUGIN.fullmatch(text):
            counts[PLUGIN_PATH.name] += 1
        elif rule is not None and rule[1] in known:
            counts[KNOWN_WARNING.name] += 1
        elif policy is not None and policy[1] in acknowledged:
            counts[ACKNOWLEDGED.name] += 1
        else:
            kept.append(text)
    return kept, [(each, counts[each.name]) for each in OF_WARNINGS if counts[each.name]]


def _known_rules(change: StackChange) -> AbstractSet[str]:
    """Return rules of ``stack check`` that warn of the same after the change as before it."""
    if not (change.before and change.before.plan and change.after and change.after.plan):
        return frozenset()
    before = {(each.rule, each.key, each.message) for each in change.before.plan.warnings}
    new = {each.rule for each in change.after.plan.warnings if (each.rule, each.key, each.message) not in before}
    return {rule for rule, _, _ in before} - new


def is_of_no_concern(step: Step) -> bool:
    """Return whether a filter takes a step for what changed in it alone, wherever it is."""
    return any(each.takes(step, frozenset()) for each in FILTERS)


def is_computed(step: Step, path: str) -> bool:
    """Return whether a path is not among the inputs: the provider reports it, and nobody declares it."""
    top = split_path(path)[0]
    return all(state is None or top not in state.inputs for state in (step.old, step.new))


def _of_paths(takes: Callable[[Step, str], bool]) -> Callable[[Step, AbstractSet[str]], bool]:
    """Return a filter that takes an update, or drift, all of whose changed properties it takes."""

    def of_step(step: Step, _: AbstractSet[str]) -> bool:
        return (
            step.operation in {Operation.UPDATE, Operation.DRIFT}
            and step.old is not None
            and step.new is not None
            and bool(step.changed)
            and all(takes(step, path) or is_computed(step, path) for path in step.changed)
        )

    return of_step


def _is_size_of_autoscaler(step: Step, path: str) -> bool:
    """Return whether the update leaves a number of nodes alone: with ignoreChanges, both inputs have the same."""
    old, new = (MISSING if state is None else get_value_at(state.inputs, path) for state in (step.old, step.new))
    return step.type in _GROUPS and path in _SIZES and (step.operation is Operation.DRIFT or old == new)


def _is_tag(step: Step, path: str) -> bool:
    first, *others = split_path(path)
    if first not in {"tags", "tagsAll"} or not step.type.startswith("aws:"):
        return False
    keys = others[:1] or sorted({*_keys(step, str(first))})
    return all(isinstance(key, str) and _PLAIN_TAG.fullmatch(key) is not None for key in keys)


def _keys(step: Step, name: str) -> Iterable[str]:
    for state in (step.old, step.new):
        found = state.inputs.get(name) if state is not None else None
        if isinstance(found, Mapping):
            yield from found


def _is_status(step: Step, path: str) -> bool:
    return step.type.startswith("kubernetes:") and is_below(path, _STATUS)


def _is_component(step: Step, _: AbstractSet[str]) -> bool:
    """A component groups other resources. AWS and Kubernetes resources, and providers, have an ID of their own."""
    package = step.type.partition(":")[0]
    return step.type == "pulumi:pulumi:Stack" or package == "multiarch-eks" or step.type.startswith("eks:index:")


PLUGIN_PATH = NoiseFilter("plugin-path", "warnings of the engine that name the file of a plugin")
KNOWN_WARNING = NoiseFilter("known-warning", "warnings of `stack check` that the stack file had before the change")
ACKNOWLEDGED = NoiseFilter("acknowledged-warning", "warnings of policies that the stack file acknowledges")
OF_WARNINGS = (PLUGIN_PATH, KNOWN_WARNING, ACKNOWLEDGED)
"""Filters of the preview's warnings."""
FILTERS = (
    NoiseFilter(
        "tags-follow-group",
        "tags of Auto Scaling groups that are created, replaced or deleted together with their node group",
        lambda step, parents: step.type == _AUTO_SCALING_TAG and step.operation in _REPLACED and step.parent in parents,
    ),
    NoiseFilter("components", "components only group resources; nothing in AWS or Kubernetes changes", _is_component),
    NoiseFilter(
        "computed-values",
        "values that the provider reports and nobody declares",
        _of_paths(lambda _step, _path: False),
    ),
    NoiseFilter(
        "desired-size",
        "the number of nodes that an autoscaler sets",
        _of_paths(_is_size_of_autoscaler),
    ),
    NoiseFilter("tags-only", "tags for people and bills, which no controller reads", _of_paths(_is_tag)),
    NoiseFilter(
        "status-only",
        "the status and the versions of Kubernetes objects, which the API server keeps",
        _of_paths(_is_status),
    ),
)
"""All filters. The first one that takes a step counts it."""
