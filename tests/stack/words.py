"""Stacks for tests: the smallest that is accepted, and what a test changes in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import ValidationError

from multiarch.errors import Problem, StackError
from multiarch.rules import Severity
from multiarch.schema.stack import StackSpec
from multiarch.stack.load import Stack
from multiarch.stack.model import Plan
from multiarch.stack.origin import Origin
from multiarch.stack.plan import make_plan
from multiarch.stack.wording import describe_problems

TODAY = date(2026, 11, 21)
SMALLEST: Mapping[str, Any] = {
    "team": "shop",
    "environment": "dev",
    "owner": "shop@example.com",
    "costCenter": "4711",
    "nodeGroups": {
        "web": {"instanceTypes": ["m7i.large"]},
        "web-arm": {"instanceTypes": ["m7g.large"]},
    },
}


AUTO_MODE: Mapping[str, Any] = {"nodeGroups": None, "autoscaling": {"use": "auto-mode"}}
"""Makes the smallest stack one with EKS Auto Mode alone."""

EXISTING_CLUSTER: Mapping[str, Any] = {
    "kubernetesVersion": "1.35",
    "cluster": {
        "existing": "shop-prod",
        "subnets": {"eu-west-1a": ["subnet-0aaaaaaaaaaaaaaa1"], "eu-west-1b": ["subnet-0aaaaaaaaaaaaaaa2"]},
        "authenticationMode": "API",
        "ipFamily": "ipv4",
    },
}
"""Puts the nodes of the smallest stack into a cluster that is there already."""


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7386: mappings merge, None removes, everything else replaces."""
    result = dict(base)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            below = result.get(key)
            result[key] = merged(below if isinstance(below, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def stack(change: Mapping[str, Any] | None = None, *, region: str | None = "eu-west-1") -> Stack:
    """The smallest stack with ``change`` merged into it."""
    written = merged(SMALLEST, change or {})
    try:
        words = StackSpec.model_validate(written)
    except ValidationError as error:
        raise StackError(describe_problems(error.errors(include_url=False), Origin(values=written))) from error
    return Stack(f"{words.team}-{words.environment}", words, region, Origin())


def plan(change: Mapping[str, Any] | None = None, *, today: date = TODAY, region: str = "eu-west-1") -> Plan:
    """The plan of the smallest stack with ``change`` merged into it."""
    return make_plan(stack(change, region=region), today=today)


def problems(change: Mapping[str, Any], *, today: date = TODAY) -> tuple[Problem, ...]:
    """All problems of a stack, whether it is rejected or not."""
    try:
        warnings = plan(change, today=today).warnings
    except StackError as error:
        return error.problems
    assert {each.severity for each in warnings} <= {Severity.WARNING}, "a stack with an error is accepted"
    return warnings


Case = tuple[str, dict[str, Any], str, str]
"""A rule, a change of the smallest stack that breaks it, the key that is told, and words of the message or hint.

Several keys are separated by a comma and a space.
"""


def check_contradiction(rule: str, change: Mapping[str, Any], key: str, says: str) -> None:
    """A stack with ``change`` has problems of the rule at just these keys, one of them with these words and a hint."""
    found = [each for each in problems(change) if each.rule == rule]
    assert {each.key for each in found} == set(key.split(", ")), found
    assert [each for each in found if says in str(each) and each.hint], found
