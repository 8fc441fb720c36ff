"""The admission webhook's plan: its configuration follows from the stack's taint, groups and pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from multiarch.autoscaling.model import AutoscalingPlan
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.schema.admission_webhook import AdmissionWebhook
from multiarch.schema.stack import StackSpec
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.schema.webhook_faults import find_faults
from multiarch.schema.webhook_installation import InstallationValues
from multiarch.stack.checks.own_pods import OwnPods
from multiarch.stack.model import AdmissionWebhookPlan

_SECTION = "admissionWebhook"
_CONFIGURATION = (_SECTION, "configuration")
_PODS = OwnPods(_SECTION, "the admission webhook", "webhook")


def plan_webhook(
    spec: StackSpec,
    webhook: AdmissionWebhook,
    arm64_taint: Taint | None,
    groups: Sequence[NodeGroupPlan],
    autoscaling: AutoscalingPlan | None,
    report: ProblemReport,
) -> AdmissionWebhookPlan | None:
    """Plan the webhook where it is enabled; ``autoscaling`` None has problems of its own."""
    if not webhook.enabled:
        if webhook.written - {"enabled"} and "enabled" not in webhook.written:
            report("webhook-not-used", (_SECTION,), "the admission webhook is off, and its settings have no effect.")
        return None
    image = _PODS.image(webhook.image, spec, report)
    _PODS.check_reachable(spec, report)
    for path, problem in find_faults(webhook.configuration):
        report.take((*_CONFIGURATION, *path), problem)
    if image is None or autoscaling is None:
        return None
    configuration = _configuration(webhook.configuration, arm64_taint, group_taints(groups, autoscaling), report)
    written = {
        name: getattr(webhook, name) for name in webhook.model_fields_set & InstallationValues.model_fields.keys()
    }
    return AdmissionWebhookPlan(
        values=InstallationValues(**written | {"configuration": configuration}),
        ecr_repositories=tuple(sorted(set(webhook.ecr_repositories))) if webhook.configuration.registries.ecr else (),
    )


def group_taints(
    groups: Sequence[NodeGroupPlan], autoscaling: AutoscalingPlan
) -> Mapping[Architecture, frozenset[Taint]]:
    """Return the architectures of the stack's nodes, and the taints on nodes of each."""
    found: dict[Architecture, frozenset[Taint]] = {}
    pools = autoscaling.pools
    made = [
        *((group.architecture, group.taints) for group in groups),
        *((capacity.architecture, pool.taints) for pool in pools for capacity in pool.capacities),
    ]
    for architecture, taints in made:
        found[architecture] = found.get(architecture, frozenset()) | frozenset(taints)
    return found


def _configuration(
    written: WebhookConfiguration,
    arm64_taint: Taint | None,
    nodes: Mapping[Architecture, frozenset[Taint]],
    report: ProblemReport,
) -> WebhookConfiguration:
    """Return the configuration with the stack's taints and architectures where the file names none."""
    changed: dict[str, object] = {}
    if "taints" in written.written:
        _check_taints(written.taints, nodes, report)
    elif arm64_taint is None:
        report("webhook-without-taint", (_SECTION, "enabled"), "no taint keeps pods off arm64 nodes.")
    else:
        changed["taints"] = [str(arm64_taint)]
        if not any(arm64_taint in taints for taints in nodes.values()):
            _report_unused(arm64_taint, (_SECTION, "enabled"), report)
    if "architectures" not in written.written:
        changed["architectures"] = sorted(map(str, nodes)) or written.architectures
    elif missing := sorted(set(nodes) - set(written.architectures)):
        report(
            "webhook-architecture",
            (*_CONFIGURATION, "architectures"),
            f"the stack also has {' and '.join(missing)} nodes, which images of a pod need not support.",
        )
    return written.model_copy(update=changed)


def _check_taints(taints: Sequence[str], nodes: Mapping[Architecture, frozenset[Taint]], report: ProblemReport) -> None:
    for index, text in enumerate(taints):
        with suppress(TaintSyntaxError):  # a fault that is reported already
            taint = parse_taint(text)
            if not any(taint in found for found in nodes.values()):
                _report_unused(taint, (*_CONFIGURATION, "taints", index), report)


def _report_unused(taint: Taint, path: tuple[str | int, ...], report: ProblemReport) -> None:
    report("webhook-taint-unused", path, f"no group or pool has the taint {taint}.")
