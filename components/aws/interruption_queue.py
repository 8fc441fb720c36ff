"""The queue from which Karpenter learns of interruptions, and the EventBridge rules that fill it."""

from __future__ import annotations

import pulumi
from pulumi_aws import cloudwatch, sqs

from multiarch.autoscaling.iam import INTERRUPTION_EVENTS, event_pattern, interruption_queue_policy, text

from ..account import Account
from ..component import Component, Naming

# Seconds: a spot instance ends two minutes after its warning, so older messages are useless.
_RETENTION = 300


class InterruptionQueue(Component):
    """An encrypted SQS queue to which only EventBridge may send, for these rules.

    ``resources`` are all its resources.
    """

    name: pulumi.Output[str]
    arn: pulumi.Output[str]
    resources: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        naming: Naming,
        account: Account,
        queue_name: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare the queue, its policy, and a rule with its target for each kind of event."""
        super().__init__("InterruptionQueue", name, naming, opts)
        queue = sqs.Queue(
            "interruption",
            name=queue_name,
            message_retention_seconds=_RETENTION,
            sqs_managed_sse_enabled=True,
            tags=self.tags("interruption"),
            opts=self.child("interruption"),
        )
        # Known before the queue exists, so that a preview shows its policy.
        self.arn = account.arn("sqs", queue_name)
        self.name = queue.name
        # With the rules' prefixes, for the same reason.
        senders = [account.arn("events", f"rule/{self._prefix(event)}*") for event in INTERRUPTION_EVENTS]
        policy = sqs.QueuePolicy(
            "interruption",
            queue_url=queue.url,
            policy=pulumi.Output.all(self.arn, *senders).apply(
                lambda arns: text(interruption_queue_policy(arns[0], arns[1:]))
            ),
            opts=self.child("interruption"),
        )
        rules = [self._rule(event, queue) for event in INTERRUPTION_EVENTS]
        self.resources = (queue, policy, *(resource for pair in rules for resource in pair))
        self.register_outputs({"name": self.name, "arn": self.arn})

    def _prefix(self, event: str) -> str:
        """The prefix of a rule's name."""
        return self.prefix(event, 38)

    def _rule(self, name: str, queue: sqs.Queue) -> tuple[cloudwatch.EventRule, cloudwatch.EventTarget]:
        _, detail_type = INTERRUPTION_EVENTS[name]
        rule = cloudwatch.EventRule(
            name,
            name_prefix=self._prefix(name),
            description=f"{detail_type}, for Karpenter in {self.naming.cluster}",
            event_pattern=text(event_pattern(name)),
            tags=self.tags(name),
            opts=self.child(name),
        )
        target = cloudwatch.EventTarget(
            name,
            rule=rule.name,
            target_id="interruption-queue",
            arn=self.arn,
            opts=self.child(name, depends_on=[queue]),
        )
        return rule, target
