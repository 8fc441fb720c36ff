"""Policies in this process: over what the components declare for a plan, without the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from multiarch.cli.options import project
from multiarch.cli.stack.render import rendering
from multiarch.errors import Problem

if TYPE_CHECKING:
    from multiarch.images.model import Judgement
    from multiarch.stack.model import Plan


def violations(plan: Plan, file: str) -> list[Problem]:
    """What violates a policy among the resources of a plan. ``file`` is the stack's.

    Raises MultiarchError where Pulumi's packages or the components are missing.
    """
    from multiarch.policies import policies
    from multiarch.policies.model import Resource, check

    resources = [
        Resource(each.urn, each.type, each.name, each.inputs, each.ignore_changes, frozenset(each.dependencies))
        for each in rendering(project.root()).declare(plan).resources
    ]
    # `stack check` says it with the line of the file.
    said = {"policy-ami-pinned"} if any(each.rule == "ami-not-pinned" for each in plan.warnings) else set()
    return [
        Problem(found.rule.name, found.text, file=file, key=found.subject)
        for policy in policies(judgements)
        for found in check(policy, resources)
        if not found.undecided and found.rule.name not in said
    ]


def judgements(image: str) -> Sequence[Judgement]:
    """The verdicts of an image for both architectures, as its registry answers; docker's credentials are tried."""
    from multiarch.facts.architectures import Architecture
    from multiarch.images.model import Judgement, Verdict
    from multiarch.images.verdict import verdicts
    from multiarch.observed.images import RegistryAccess, use_registry
    from multiarch.registry.reference import InvalidReferenceError, parse_reference

    try:
        reference = parse_reference(image)
    except InvalidReferenceError as error:
        return [Judgement(architecture, Verdict.UNKNOWN, str(error), None) for architecture in Architecture]
    return use_registry(RegistryAccess(), lambda registry: verdicts(registry, reference, tuple(Architecture)))[0]
