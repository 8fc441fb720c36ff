"""The plan of the CronJob that rebalances, with the stack file that its runs read."""

from __future__ import annotations

from multiarch.autoscaling import quiet_hours, syntax
from multiarch.facts.architectures import Architecture
from multiarch.nodes.report import ProblemReport
from multiarch.schema.rebalance import Rebalance, RebalancePlan
from multiarch.stack.checks.own_pods import OwnPods
from multiarch.stack.engine_config import NAMESPACE, REGION
from multiarch.stack.load import Stack
from multiarch.yaml_text.dump import dump_yaml

_SECTION = "rebalance"
_PODS = OwnPods(_SECTION, "the CronJob that rebalances", _SECTION)
# What a run does not need to know of its stack.
_OMITTED = {"access", "admission_webhook", "rebalance", "session"}


def plan_rebalance(
    stack: Stack, wanted: Rebalance, architectures: set[Architecture], report: ProblemReport
) -> RebalancePlan | None:
    """Plan the CronJob where it is enabled; ``architectures`` are those of the stack's groups and pools."""
    spec = stack.spec
    if not wanted.enabled:
        if wanted.written - {"enabled"} and "enabled" not in wanted.written:
            report("rebalance-not-used", (_SECTION,), "rebalance is off, and its settings have no effect.")
        return None
    # The webhook's own image is checked with the webhook.
    webhook = spec.admission_webhook
    inherited = webhook is not None and webhook.image is not None and wanted.image is None
    image = webhook.image if webhook is not None and inherited else wanted.image
    if webhook is None or not inherited or not webhook.enabled:
        _PODS.image(image, spec, report)
    _PODS.check_reachable(spec, report)
    _check_times(wanted, report)
    if missing := sorted(set(Architecture) - architectures):
        message = f"the stack has no {missing[0]} nodes: there is nothing to move."
        report("rebalance-one-architecture", (_SECTION, "enabled"), message)
    lists = {name: sorted(set(getattr(wanted, name))) for name in ("namespaces", "pull_secrets", "ecr_repositories")}
    own = {"image": image or "", "stack_file": _stack_file(stack)}
    return RebalancePlan.model_construct(**dict(wanted) | lists | own)


def _check_times(wanted: Rebalance, report: ProblemReport) -> None:
    rows = (
        ("rebalance-schedule", "schedule", quiet_hours.check_schedule(wanted.schedule)),
        ("rebalance-duration", "pace", syntax.check_grace_period(wanted.pace)),
    )
    for rule, key, fault in rows:
        if fault:
            report(rule, (_SECTION, key), f"{fault}.")
    if hours := wanted.quiet_hours:
        for key, fault in quiet_hours.find_faults(hours.schedule, hours.duration):
            report(f"rebalance-{key}", (_SECTION, "quietHours", key), f"{fault}.")


def _stack_file(stack: Stack) -> str:
    """Return the stack with the organisation's defaults, as a stack file that needs no other."""
    written = stack.spec.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude=_OMITTED)
    config = {f"{NAMESPACE}:{key}": value for key, value in written.items()}
    if stack.region:
        config[REGION] = stack.region
    return dump_yaml({"config": config})
