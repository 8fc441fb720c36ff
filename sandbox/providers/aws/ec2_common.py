"""What the EC2 tables share: looking things up by identity, tags, reading one thing by its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox.providers import IDENTITY_TAG
from sandbox.providers.aws.rows import Call, Tags, pairs, unpairs
from sandbox.providers.values import Record

TAGS = Tags(
    put=lambda call, tags: call.do("ec2", "create_tags", {"Resources": [call.id], "Tags": pairs(tags)}),
    take=lambda call, keys: call.do(
        "ec2", "delete_tags", {"Resources": [call.id], "Tags": [{"Key": key} for key in keys]}
    ),
)


def specification(call: Call, kind: str) -> Record:
    """The TagSpecifications argument for one resource."""
    return {"TagSpecifications": [{"ResourceType": kind, "Tags": call.tag_rows()}]}


def adopted(call: Call, operation: str, path: str, key: str, filters: str = "Filters") -> str | None:
    """Id of the thing that carries this resource's identity, left by a run that was killed.

    The answer is looked through again, because moto passes over a tag filter of some operations.
    """
    answer = call.do("ec2", operation, {filters: [{"Name": f"tag:{IDENTITY_TAG}", "Values": [call.identity]}]})
    for row in answer[path]:
        living = row.get("State", row.get("Status")) not in ("deleted", "deleting")
        if living and unpairs(row.get("Tags")).get(IDENTITY_TAG) == call.identity:
            return str(row[key])
    return None


def maker(
    kind: str,
    create: str,
    path: str,
    describe: str,
    listed: str,
    key: str,
    *names: str,
    filters: str = "Filters",
    aliases: Mapping[str, str] | None = None,
) -> Callable[[Call], str]:
    """A create function: adopt by identity, or create with the named inputs and tags. ``path`` finds the id."""

    def run(call: Call) -> str:
        found = adopted(call, describe, listed, key, filters)
        if found is not None:
            return found
        answer: Any = call.do("ec2", create, {**call.pick(*names), **specification(call, kind)}, aliases)
        for part in path.split("."):
            answer = answer[part]
        return str(answer)

    return run


def described(call: Call, operation: str, argument: str, path: str) -> Record | None:
    """The thing with the call's id, or ``None``; deleted things that EC2 still shows count as gone."""
    row: Record | None = call.find("ec2", operation, path, {argument: [call.id]})
    if row is not None and row.get("State") in ("deleted", "deleting"):
        return None
    return row


def attribute(call: Call, operation: str, key: str, names: Mapping[str, str]) -> None:
    """One Modify…Attribute call per changed boolean input; EC2 takes one attribute at a time."""
    for name, member in names.items():
        if name in call.news and call.news.get(name) != call.olds.get(name):
            call.do("ec2", operation, {key: call.id, member: {"Value": call.news[name]}})


def deleter(operation: str, key: str) -> Callable[[Call], Any]:
    """A delete function: one operation with the id; what is gone already is fine."""
    return lambda call: call.quietly("ec2", operation, {key: call.id})
