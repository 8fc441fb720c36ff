"""What must answer from here: where charts are loaded from, and the Kubernetes API; and what Helm says of releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from multiarch.doctor.model import CheckResult, CheckState
from multiarch.facts.addon_daemon_sets import TERMINATION_HANDLER
from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.facts.autoscalers import CLUSTER_AUTOSCALER_REPOSITORY, PUBLIC_REGISTRY
from multiarch.stack.model import Plan

_REDIRECT_HOSTS = ("https://github.com", "https://release-assets.githubusercontent.com")
"""Where the index of the cluster autoscaler's repository leads to."""


def list_chart_hosts(plan: Plan) -> tuple[str, ...]:
    """Return the hosts that a preview loads charts from, sorted. Charts of this project lie in a folder."""
    public = plan.autoscaling.karpenter is not None or plan.termination_handler
    addresses = [
        *((CLUSTER_AUTOSCALER_REPOSITORY, *_REDIRECT_HOSTS) if plan.autoscaling.cluster_autoscaler else ()),
        *((PUBLIC_REGISTRY,) if public else ()),
    ]
    used = {plan.chart_registry or address for address in addresses}
    return tuple(sorted(address.partition("://")[2].partition("/")[0] for address in used))


def needs_api(plan: Plan) -> bool:
    """Return whether a plan has anything that Pulumi declares through the Kubernetes API."""
    own = (plan.storage_class, plan.termination_handler, plan.admission_webhook, plan.rebalance)
    return any(own) or bool(plan.autoscaling.cluster_autoscaler or plan.autoscaling.karpenter)


def list_releases(plan: Plan) -> frozenset[str]:
    """Return the Helm releases that a stack declares: with another status than deployed, `pulumi up` fails."""
    autoscaling = plan.autoscaling
    return frozenset(
        {
            *(("cluster-autoscaler",) if autoscaling.cluster_autoscaler else ()),
            *(("karpenter", "karpenter-crd") if autoscaling.karpenter else ()),
            *((TERMINATION_HANDLER.name,) if plan.termination_handler else ()),
            *((INSTALLATION_NAME,) if plan.admission_webhook else ()),
        }
    )


def judge_hosts(silent: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield a row for each host of charts; ``silent`` has why it does not answer, empty where it does."""
    for host, reason in silent.items():
        text = f"{host} can't be reached: {reason}" if reason else f"{host} answers"
        fix = "Every preview loads the charts: allow the host, or set charts.registry to a copy that can be reached."
        yield CheckResult("charts", CheckState.FAILED if reason else CheckState.OK, text, fix if reason else "")


def judge_api(endpoint: str, reason: str, *, needed: bool) -> CheckResult:
    """Judge whether the Kubernetes API answers; ``reason`` says why not."""
    if not reason:
        return CheckResult("kubernetes api", CheckState.OK, f"{endpoint} answers")
    fix = "Run Pulumi where the API can be reached: a private endpoint answers only in networks that reach the VPC."
    state = CheckState.FAILED if needed else CheckState.WARNING
    return CheckResult("kubernetes api", state, f"{endpoint} can't be reached: {reason}", fix)


def judge_releases(secrets: Iterable[Mapping[str, object]], own: AbstractSet[str]) -> Iterator[CheckResult]:
    """Yield a row for each Helm release that is not deployed, or one that all are.

    ``secrets`` are the metadata of Helm's Secrets, one for each revision of a release; ``own`` names the stack's.
    Source: helm/helm, pkg/storage/driver/secrets.go, newSecretsObject.
    """
    latest: dict[tuple[str, str], tuple[int, str]] = {}
    for each in secrets:
        labels = each.get("labels")
        if isinstance(labels, Mapping):
            key = (str(each.get("namespace")), str(labels.get("name")))
            number = str(labels.get("version"))
            kept = (int(number) if number.isdecimal() else 0, str(labels.get("status")))
            latest[key] = max(latest.get(key, kept), kept)
    failed = {key: found for key, found in sorted(latest.items()) if found[1] != "deployed"}
    for (namespace, name), (revision, status) in failed.items():
        state, fix = CheckState.WARNING, f"`helm status {name} --namespace {namespace}`."
        if name in own:
            state, fix = (
                CheckState.FAILED,
                (
                    f"`pulumi up --refresh=false` directly after the run that failed; later `helm rollback {name} "
                    f"{revision} --namespace {namespace} --wait` and `pulumi up`."
                ),
            )
        text = f"{namespace}/{name} is {status} (revision {revision}), not deployed"
        yield CheckResult("helm release", state, text, fix)
    if not failed:
        count = len(latest)
        yield CheckResult("helm release", CheckState.OK, f"{count} deployed" if count else "there is none")
