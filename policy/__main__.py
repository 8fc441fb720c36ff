#!/usr/bin/env -S python3 -u
"""The policy pack: ``pulumi preview --policy-pack policy``. The policies themselves are in ``multiarch/policies``.

Resource policies run before each resource is created or changed; policies of the whole stack run after all of them,
in a preview too. A value that is known only after the update is checked in the update.

It runs with ``-u``: pulumi-policy writes its port without a flush, and the engine waits for it.
"""

from __future__ import annotations

from dataclasses import replace

from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.deserialize import serialize_properties

from multiarch.observed.resources.declared import DeclaredResource
from multiarch.policies import build_policies
from multiarch.policies.model import Policy, check_policy
from multiarch.rules import Finding, Severity
from multiarch.runs.policies import judge_image

_LEVELS = {Severity.ERROR: EnforcementLevel.MANDATORY, Severity.WARNING: EnforcementLevel.ADVISORY}


def _resource(each: PolicyResource | ResourceValidationArgs) -> DeclaredResource:
    return DeclaredResource(
        urn=each.urn,
        parent="",  # no policy looks at it
        type=each.resource_type,
        name=each.name,
        # Without the proxies, which raise for values that are not known yet: the policies recognise those.
        inputs=serialize_properties(each.props),
        ignore_changes=tuple(each.opts.ignore_changes),
    )


def _with_dependencies(each: PolicyResource) -> DeclaredResource:
    return replace(
        _resource(each),
        dependencies=frozenset(other.urn for other in each.dependencies),
        references={
            key: frozenset(other.urn for other in others) for key, others in each.property_dependencies.items()
        },
    )


def _tell(violation: Finding, report: ReportViolation) -> None:
    report(f"{violation.text} {violation.rule.fix}", *violation.urns)


def _for_engine(policy: Policy) -> ResourceValidationPolicy | StackValidationPolicy:
    def of_resource(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for violation in check_policy(policy, [_resource(args)]):
            _tell(violation, report)

    def of_stack(args: StackValidationArgs, report: ReportViolation) -> None:
        for violation in check_policy(policy, map(_with_dependencies, args.resources)):
            _tell(violation, report)

    description = f"Rejects {policy.row.finds}."
    level = _LEVELS[policy.row.severity]
    if policy.whole_stack:
        return StackValidationPolicy(policy.rule, description, of_stack, level)
    return ResourceValidationPolicy(policy.rule, description, of_resource, level)


PolicyPack("multiarch-eks", [_for_engine(policy) for policy in build_policies(judge_image)])
