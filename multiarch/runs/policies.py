"""The policies over what the components declare for a plan, without Pulumi's engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from multiarch.errors import Problem
from multiarch.facts.architectures import Architecture
from multiarch.images.model import Judgement, Verdict
from multiarch.images.verdict import judge_architectures
from multiarch.observed.images import RegistryAccess, use_registry
from multiarch.policies import build_policies
from multiarch.policies.model import check_policy
from multiarch.registry.reference import InvalidReferenceError, parse_reference
from multiarch.rules import Severity
from multiarch.rules.policies import POLICIES
from multiarch.runs.rendering import load_rendering
from multiarch.runs.stacks import CheckedStack, find_root
from multiarch.stack.acknowledged import describe_unused, mark_warnings
from multiarch.stack.model import Plan


def with_policies(checked: CheckedStack, project: Path | None = None) -> CheckedStack:
    """Return a checked stack with what violates a policy; one that violates an error's policy is invalid.

    Raises MultiarchError where Pulumi's packages or the components are missing.
    """
    if checked.plan is None:
        return checked
    found = mark_warnings(find_violations(checked.plan, checked.file, project), checked.plan.acknowledged)
    seen = {each.rule for each in (*found, *checked.problems)} | {
        _PINNED for each in checked.problems if _is_said(each)
    }
    found += [
        replace(describe_unused(name), file=checked.file, key=f"acknowledge.{name}")
        for name, _ in checked.plan.acknowledged
        if name in _NAMES and name not in seen
    ]
    fatal = any(problem.severity is Severity.ERROR for problem in found)
    checked = replace(checked, problems=(*checked.problems, *found))
    return replace(checked, plan=None, summary=None) if fatal else checked


_PINNED, _UNPINNED = "policy-ami-pinned", ("ami-not-pinned", "ami-release-alone")
_NAMES = frozenset(rule.name for rule in POLICIES)


def _is_said(problem: Problem) -> bool:
    """Return whether `stack check` says with the line of the file what a policy finds too."""
    return problem.rule in _UNPINNED


def find_violations(plan: Plan, file: str, project: Path | None = None) -> list[Problem]:
    """Return what violates a policy among the resources of a plan. Raises as :func:`with_policies` does."""
    resources = load_rendering(find_root(project)).declare(plan).resources
    said = {_PINNED for each in plan.warnings if _is_said(each)}
    return [
        Problem(found.rule.name, found.text, file=file, key=found.subject)
        for policy in build_policies(judge_image)
        for found in check_policy(policy, resources)
        if found.rule.name not in said
    ]


def judge_image(image: str) -> Sequence[Judgement]:
    """Return the verdicts of an image for both architectures, as its registry says; docker's credentials are tried."""
    try:
        reference = parse_reference(image)
    except InvalidReferenceError as error:
        return [Judgement(architecture, Verdict.UNKNOWN, str(error), None) for architecture in Architecture]
    return use_registry(
        RegistryAccess(), lambda registry: judge_architectures(registry, reference, tuple(Architecture))
    )
