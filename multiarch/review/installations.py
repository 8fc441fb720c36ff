"""Settings of the admission webhook and of rebalancing, which decide about pods in all of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from multiarch.facts.admission import INSTALLATION_NAME as WEBHOOK
from multiarch.facts.admission import AdmissionMode
from multiarch.facts.rebalance import LEASE as REBALANCE
from multiarch.manifests.values import to_mapping
from multiarch.observed.resources.paths import MISSING, get_value_at, is_below, list_differences
from multiarch.observed.resources.properties import Properties, list_entries
from multiarch.review.model import Operation, StackChange, State
from multiarch.review.planned import RELEASE
from multiarch.review.properties import list_resources
from multiarch.review.values import format_from_to, limit_lines
from multiarch.rules import Finding, Risk, make_finding
from multiarch.schema.webhook_installation import InstallationValues
from multiarch.stack.load import merge_values

_CRON_JOB = "kubernetes:batch/v1:CronJob"
_TEMPLATE = "spec.jobTemplate.spec.template.spec.containers"
_HIGH = (
    "configuration.mode",
    "configuration.architectures",
    "configuration.taints",
    "configuration.registries",
    "excludedNamespaces",
    "image",
    "networkPolicy",
    "serviceAccountAnnotations",
    "certificates",
    "issuer",
    "extraVolumes",
    "extraVolumeMounts",
)
_LOW = (
    *("replicas", "maxReplicas", "cpuPercent", "resources", "serviceMonitor"),
    *("configuration.annotate", "configuration.warnings", "configuration.cache"),
)
"""Values of the chart that decide which pods change, or what the webhook reaches and trusts; and harmless ones."""


def find_installation_changes(change: StackChange) -> Iterator[Finding]:
    """Yield one finding for each of both that is installed or whose settings change, with the riskiest one first."""
    for step in list_resources(change.preview.steps, RELEASE, _CRON_JOB):
        of = _INSTALLATIONS.get((step.type, step.name))
        if of is None or step.new is None or step.operation in {Operation.SAME, Operation.DRIFT}:
            continue
        subject, rule, read, rate = of
        old, new = read(step.old), read(step.new)
        found = [(rate(path, *_both(path, old, new)), path) for path in _list_paths(old, new)]
        found.sort(key=lambda each: -each[0])
        lines = [_describe(path, *_both(path, old, new)) for _, path in found]
        if lines:
            verb = "It is installed" if step.old is None else "Its settings change"
            risk = found[0][0]
            yield make_finding(rule, subject, f"{verb}: {lines[0]}.", limit_lines(lines[1:]), (step.urn,), risk)


def _list_paths(old: Properties, new: Properties) -> Iterator[str]:
    """Yield what differs, of a list its own path."""
    yield from dict.fromkeys(path.partition("[")[0] for path in list_differences(old, new))


def _both(path: str, *sides: Properties) -> list[object]:
    return [get_value_at(side, path) for side in sides]


def _describe(path: str, old: object, new: object) -> str:
    values = format_from_to(old, new, path)
    return f"{path}: {values}" if values else path


def _read_webhook(state: State | None) -> Properties:
    """Return the values of the chart, with its defaults; of none there is, nothing is left alone by them."""
    values = to_mapping(state.inputs.get("values")) if state else {}
    defaults = InstallationValues.model_construct(image="").model_dump(by_alias=True)
    return merge_values(defaults, {"configuration": {"mode": AdmissionMode.OBSERVE}, **values}) if values else defaults


def _rate_webhook(path: str, _: object, new: object) -> Risk:
    if is_below(path, _LOW):
        return Risk.LOW
    if not is_below(path, _HIGH) or new == AdmissionMode.OBSERVE:
        return Risk.MEDIUM
    return Risk.HIGH


def _read_rebalance(state: State | None) -> Properties:
    """Return the schedule, the image and the options of a run: their values, true without one, lists if repeatable."""
    container = next(iter(list_entries(state.inputs, _TEMPLATE)), {}) if state else {}
    schedule = to_mapping(state.inputs.get("spec")).get("schedule") if state else None
    options: dict[str, object] = {"schedule": schedule, "image": container.get("image")} if state else {}
    namespaces: list[str] = []
    for text in map(str, container.get("args") or ()):
        name, _, value = text.partition("=")
        if name == "--namespace":
            namespaces.append(value)
        elif name.startswith("--"):
            options[name] = value or "on"
    return {**options, "--namespace": namespaces} if namespaces else options


def _rate_rebalance(path: str, old: object, new: object) -> Risk:
    if path in {"--apply", "--evict-single", "--delete-emptydir-data"}:
        return Risk.LOW if new is MISSING else Risk.HIGH
    if path == "--namespace":
        is_wider = new is MISSING or (isinstance(old, list) and isinstance(new, list) and not set(new) <= set(old))
        return Risk.HIGH if is_wider else Risk.LOW
    return Risk.HIGH if path == "image" and old is not MISSING else Risk.MEDIUM


_Read = Callable[[State | None], Properties]
_Rate = Callable[[str, object, object], Risk]
_INSTALLATIONS: Mapping[tuple[str, str], tuple[str, str, _Read, _Rate]] = {
    (RELEASE, WEBHOOK): ("admission webhook", "change-webhook", _read_webhook, _rate_webhook),
    (_CRON_JOB, REBALANCE): ("rebalancing", "change-rebalance", _read_rebalance, _rate_rebalance),
}
