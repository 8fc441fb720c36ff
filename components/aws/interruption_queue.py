"""The queue from which Karpenter learns of interruptions, and the EventBridge rules that fill it."""

from __future__ import annotations

import pulumi
from pulumi_aws import cloudwatch, sqs

from multiarch.autoscaling.iam import (
    INTERRUPTION_EVENTS,
    build_event_pattern,
    build_interruption_queue_policy,
    format_policy,
)

from ..component import Child, Component

# Seconds: a spot instance ends two minutes after its warning, so older messages are useless.
_RETENTION = 300


class InterruptionQueue(Child):
    """An encrypted SQS queue to which only EventBridge may send, for these rules.

    ``resources`` are all its resources.
    """

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    resources: tuple[pulumi.Resource, ...]

    def __init__(self, name: str, owner: Component, queue_name: str) -> None:
        """Declare the queue, its policy, and a rule with its target for each kind of event."""
        super().__init__(name, owner)
        queue = sqs.Queue(
            "interruption",
            name=queue_name,
            message_retention_seconds=_RETENTION,
            sqs_managed_sse_enabled=True,
            tags=self.tags("interruption"),
            opts=self.child(),
        )
        # Known before the queue exists, so that a preview shows its policy.
        self.arn = self.account.arn("sqs", queue_name)
        self.name = queue.name
        # With the rules' prefixes, for the same reason.
        senders = [self.account.arn("events", f"rule/{self.prefix(event, 38)}*") for event in INTERRUPTION_EVENTS]
        policy = sqs.QueuePolicy(
            "interruption",
            queue_url=queue.url,
            policy=pulumi.Output.all(self.arn, *senders).apply(
                lambda arns: format_policy(build_interruption_queue_policy(arns[0], arns[1:]))
            ),
            opts=self.child(),
        )
        rules = [self._rule(event, queue) for event in INTERRUPTION_EVENTS]
        self.resources = (queue, policy, *(resource for pair in rules for resource in pair))
        self.register_outputs({"name": self.name, "arn": self.arn})

    def _rule(self, name: str, queue: sqs.Queue) -> tuple[cloudwatch.EventRule, cloudwatch.EventTarget]:
        _, detail_type = INTERRUPTION_EVENTS[name]
        rule = cloudwatch.EventRule(
            name,
            name_prefix=self.prefix(name, 38),
            description=f"{detail_type}, for Karpenter in {self.naming.cluster}",
            event_pattern=format_policy(build_event_pattern(name)),
            tags=self.tags(name),
            opts=self.child(),
        )
        target = cloudwatch.EventTarget(
            name,
            rule=rule.name,
            target_id="interruption-queue",
            arn=self.arn,
            opts=self.child(depends_on=[queue]),
        )
        return rule, target
