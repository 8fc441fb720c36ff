"""Steps made by hand, in the shapes that the real engine writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from multiarch.review.model import Operation, Preview, StackChange, State, Step
from multiarch.review.permissions import cluster, network, policies, settings

FINDERS = (
    *(each.find for each in (*policies.SOURCES, *cluster.SOURCES, *network.SOURCES)),
    settings.find_weaker_settings,
)
ROLE = "aws:iam/role:Role"
INLINE = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
POLICY = "aws:iam/policy:Policy"
GROUP, LIST = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/managedPrefixList:ManagedPrefixList"
QUEUE = "aws:sqs/queue:Queue"
TRUST = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}


def document(*statements: Mapping[str, Any], version: str = "2012-10-17") -> str:
    return json.dumps({"Version": version, "Statement": list(statements)})


def allow(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: Any, resource: Any = "*", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"Effect": "Deny", "Action": action, "Resource": resource, **more}


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:checkout-dev::multiarch-eks::{type_}::{name}"


def step(
    type_: str,
    name: str,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any] | None,
    *,
    operation: Operation | None = None,
    outputs: Mapping[str, Any] | None = None,
    depends: Mapping[str, str] | None = None,
    protect: tuple[bool, bool] = (False, False),
) -> Step:
    """``outputs`` are those before; ``depends`` are URNs by the property that comes from them."""
    inputs = old or new or {}
    of_stack = {"reports-1a2b": (ROLE, "reports"), "web-1a2b": (ROLE, "web"), "sg-1": (GROUP, "web")}
    of_stack |= {"sg-2": (GROUP, "workers"), "pl-1": (LIST, "offices"), "https://sqs/orders": (QUEUE, "orders")}
    known = {key: urn(*of_stack[str(each)]) for key, each in inputs.items() if str(each) in of_stack}
    sources = {key: [each] for key, each in {**known, **(depends or {})}.items()}
    if operation is None:
        operation = Operation.CREATE if old is None else Operation.DELETE if new is None else Operation.UPDATE
        operation = Operation.SAME if old == new and protect[0] is protect[1] else operation
    return Step(
        operation,
        urn(type_, name),
        type_,
        name,
        "",
        None if old is None else State(old, {**old, **(outputs or {})}, "id", protect[0], dependencies=sources),
        None if new is None else State(new, {}, "", protect[1], dependencies=sources),
    )


def role(name: str, **more: Any) -> Step:
    """A role that stays as it is."""
    inputs = {"name": f"{name}-1a2b", "assumeRolePolicy": document(TRUST), **more}
    return step(ROLE, name, inputs, inputs, outputs={"arn": f"arn:aws:iam::111122223333:role/{name}-1a2b"})


def change(*steps: Step) -> StackChange:
    preview = Preview("checkout-dev", "multiarch-eks", "preview.json", steps, (), (), succeeded=True)
    return StackChange(preview, None, None, date(2026, 11, 22))


def find(*steps: Step) -> list[str]:
    """All that is found: ``RISK rule: subject text``, then the details."""
    return [
        text
        for find in FINDERS
        for each in find(change(*steps))
        for text in (f"{each.level.name} {each.rule.name}: {each.subject} {each.text}", *each.details)
    ]
