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
from multiarch.policies.model import DeclaredResource, check_policy
from multiarch.registry.reference import InvalidReferenceError, parse_reference
from multiarch.rules import Severity
from multiarch.runs.rendering import load_rendering
from multiarch.runs.stacks import CheckedStack, find_root
from multiarch.stack.model import Plan


def with_policies(checked: CheckedStack, project: Path | None = None) -> CheckedStack:
    """Return a checked stack with what violates a policy; one that violates an error's policy is invalid.

    Raises MultiarchError where Pulumi's packages or the components are missing.
    """
    if checked.plan is None:
        return checked
    found = find_violations(checked.plan, checked.file, project)
    fatal = any(problem.severity is Severity.ERROR for problem in found)
    checked = replace(checked, problems=(*checked.problems, *found))
    return replace(checked, plan=None, summary=None) if fatal else checked


_UNPINNED = ("ami-not-pinned", "ami-release-alone")


def find_violations(plan: Plan, file: str, project: Path | None = None) -> list[Problem]:
    """Return what violates a policy among the resources of a plan. Raises as :func:`with_policies` does."""
    resources = [
        DeclaredResource(each.urn, each.type, each.name, each.inputs, each.ignore_changes, frozenset(each.dependencies))
        for each in load_rendering(find_root(project)).declare(plan).resources
    ]
    # `stack check` says it with the line of the file.
    said = {"policy-ami-pinned"} if any(each.rule in _UNPINNED for each in plan.warnings) else set()
    return [
        Problem(found.rule.name, found.text, file=file, key=found.subject)
        for policy in build_policies(judge_image)
        for found in check_policy(policy, resources)
        if not found.undecided and found.rule.name not in said
    ]


def judge_image(image: str) -> Sequence[Judgement]:
    """Return the verdicts of an image for both architectures, as its registry says; docker's credentials are tried."""
    try:
        reference = parse_reference(image)
    except InvalidReferenceError as error:
        return [Judgement(architecture, Verdict.UNKNOWN, str(error), None) for architecture in Architecture]
    found, _ = use_registry(
        RegistryAccess(), lambda registry: judge_architectures(registry, reference, tuple(Architecture))
    )
    return found
