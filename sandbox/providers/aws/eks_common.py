"""What the EKS tables share."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.providers.aws.rows import Call, Tags
from sandbox.providers.values import Record


def tags_for(arn: Callable[[Call], str]) -> Tags:
    """Tags of an EKS resource, which go by its ARN."""
    return Tags(
        put=lambda call, tags: call.do("eks", "tag_resource", {"resourceArn": arn(call), "tags": tags}),
        take=lambda call, keys: call.do("eks", "untag_resource", {"resourceArn": arn(call), "tagKeys": keys}),
    )


def key(call: Call, name: str) -> Record:
    """The cluster's name and one more input, which together name most things of EKS."""
    return {"clusterName": call["clusterName"], name: call[name]}
