"""Access to nodes: SSM Session Manager, with the stack's preferences and a log of sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import pulumi
from pulumi_aws import cloudwatch, ssm

from multiarch.stack.model import SessionPlan

from ..component import Child, Component


class Session(Child):
    """A session document and, where sessions are logged, their log group.

    ``document_name`` is for ``aws ssm start-session --document-name``. ``ready`` is what nodes write to.
    """

    document_name: pulumi.Output[str]
    ready: tuple[pulumi.Resource, ...]

    def __init__(self, name: str, owner: Component, plan: SessionPlan, key_arn: pulumi.Input[str] | None) -> None:
        """Declare document and log group; ``key_arn`` encrypts the group, and sessions where the plan says so.

        It is None only where the plan needs no key.
        """
        super().__init__(name, owner)
        ready: Sequence[pulumi.Resource] = ()
        if plan.log_group_name:
            ready = [
                cloudwatch.LogGroup(
                    "sessions",
                    name=plan.log_group_name,
                    retention_in_days=plan.settings.log_retention_days,
                    kms_key_id=key_arn,
                    tags=self.tags("sessions"),
                    opts=self.child(),
                )
            ]
        document = ssm.Document(
            "preferences",
            name=plan.document_name,
            document_type="Session",
            document_format="JSON",
            content=pulumi.Output.from_input(key_arn).apply(partial(preferences, plan, self.naming.cluster))
            if plan.settings.encrypt and key_arn is not None
            else preferences(plan, self.naming.cluster, ""),
            tags=self.tags("sessions"),
            opts=self.child(depends_on=ready),
        )
        self.document_name = document.name
        self.ready = tuple(ready)
        self.register_outputs({"documentName": self.document_name})


def preferences(plan: SessionPlan, cluster: str, key_arn: str) -> str:
    """Return the session document as JSON with sorted keys; an empty string, also as ``key_arn``, means "not set".

    Source: Systems Manager user guide, "Session document schema".
    """
    settings = plan.settings
    inputs: dict[str, str | bool | dict[str, str]] = {
        "cloudWatchEncryptionEnabled": plan.log_group_name is not None,
        "cloudWatchLogGroupName": plan.log_group_name or "",
        "cloudWatchStreamingEnabled": plan.log_group_name is not None,
        "idleSessionTimeout": str(settings.idle_timeout_minutes),
        "kmsKeyId": key_arn,
        "maxSessionDuration": "" if settings.max_duration_minutes is None else str(settings.max_duration_minutes),
        "runAsDefaultUser": settings.run_as_user or "",
        "runAsEnabled": settings.run_as_user is not None,
        "s3BucketName": "",
        "s3EncryptionEnabled": True,
        "s3KeyPrefix": "",
        "shellProfile": {"linux": "", "windows": ""},
    }
    return json.dumps(
        {
            "schemaVersion": "1.0",
            "description": f"Sessions on nodes of {cluster}",
            "sessionType": "Standard_Stream",
            "inputs": inputs,
        },
        indent=2,
        sort_keys=True,
    )
