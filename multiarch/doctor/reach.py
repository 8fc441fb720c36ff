"""What must answer from here: where charts are loaded from, and the Kubernetes API; and what Helm says of releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from multiarch.autoscaling.model import Autoscaler
from multiarch.doctor.model import CheckResult, judge_faults, judge_found
from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.facts.autoscalers import CLUSTER_AUTOSCALER_REPOSITORY, DEVICE_PLUGIN_CHARTS, PUBLIC_REGISTRY
from multiarch.manifests.values import to_mapping
from multiarch.stack.model import Plan

_REDIRECT_HOSTS = ("https://github.com", "https://release-assets.githubusercontent.com")
"""Where the index of the cluster autoscaler's repository leads to."""


def list_charts(plan: Plan) -> Mapping[str, Sequence[str]]:
    """Return the Helm releases that a stack declares, each with the addresses that its chart is loaded from.

    With another status of a release than deployed, `pulumi up` fails. Charts of this project lie in a folder.
    """
    own = plan.autoscaling.own
    found: dict[str, Sequence[str]] = {}
    if Autoscaler.CLUSTER_AUTOSCALER in own:
        found["cluster-autoscaler"] = (CLUSTER_AUTOSCALER_REPOSITORY, *_REDIRECT_HOSTS)
    if Autoscaler.KARPENTER in own:
        found |= dict.fromkeys(("karpenter", "karpenter-crd"), (PUBLIC_REGISTRY,))
    for each in plan.own_daemons:
        found[each.name] = (DEVICE_PLUGIN_CHARTS.get(each.name, (PUBLIC_REGISTRY,))[0],)
    if plan.admission_webhook:
        found[INSTALLATION_NAME] = ()
    return found


def list_chart_hosts(plan: Plan) -> tuple[str, ...]:
    """Return the hosts that a preview loads charts from, sorted."""
    used = {plan.chart_registry or address for addresses in list_charts(plan).values() for address in addresses}
    return tuple(sorted(address.partition("://")[2].partition("/")[0] for address in used))


def needs_api(plan: Plan) -> bool:
    """Return whether a plan has anything that Pulumi declares through the Kubernetes API."""
    own = (plan.storage_class, plan.own_daemons, plan.admission_webhook, plan.rebalance)
    return any(own) or bool(plan.autoscaling.cluster_autoscaler or plan.autoscaling.pool_owner)


def judge_hosts(silent: Mapping[str, str]) -> CheckResult:
    """Judge whether the hosts of charts answer; ``silent`` has why one does not, empty where it does."""
    lacking = ", ".join(f"{host} can't be reached: {reason}" for host, reason in silent.items() if reason)
    fix = "Every preview loads the charts: allow the hosts, or set charts.registry to a copy that can be reached."
    return judge_found("charts", "" if lacking else f"{', '.join(silent)}: answered", lacking, fix)


def judge_api(endpoint: str, reason: str, *, needed: bool) -> CheckResult:
    """Judge whether the Kubernetes API answers; ``reason`` says why not."""
    fix = "Run Pulumi where the API can be reached: a private endpoint answers only in networks that reach the VPC."
    found, lacking = f"{endpoint} answers", f"{endpoint} can't be reached: {reason}"
    return judge_found("kubernetes api", "" if reason else found, lacking, fix, needed=needed)


def explain_release(name: str, namespace: str, status: str, revision: int) -> tuple[str, str]:
    """Return what is wrong with a Helm release that is not deployed, and the fix.

    A rollback to the same revision installs it again, whatever its status. After one to the revision before, values
    that the failed one added are missing, and no preview shows it: the provider adds what is live to the state.
    Source: pulumi-kubernetes, provider/pkg/provider/helm_release.go, setReleaseAttributes.
    """
    return (
        f"{namespace}/{name} is {status} (revision {revision}), not deployed",
        (
            f"Fix the cause: `helm status {name} --namespace {namespace}`. Then, directly after the run that failed, "
            f"run `pulumi up --refresh=false`; later `helm rollback {name} {revision} --namespace {namespace} --wait` "
            "and `pulumi up`."
        ),
    )


def judge_releases(secrets: Iterable[Mapping[str, object]], own: AbstractSet[str]) -> Iterator[CheckResult]:
    """Yield a row for each of the stack's ``own`` Helm releases that is not deployed, or one that all are.

    ``secrets`` are the metadata of Helm's Secrets, one for each revision of a release.
    Source: helm/helm, pkg/storage/driver/secrets.go, newSecretsObject.
    """
    latest: dict[tuple[str, str], tuple[int, str]] = {}
    for each in secrets:
        labels = to_mapping(each.get("labels"))
        if labels.get("name") in own:
            key = (str(labels["name"]), str(each.get("namespace")))
            kept = (int(str(labels.get("version"))), str(labels.get("status")))
            latest[key] = max(latest.get(key, kept), kept)
    faults = (
        explain_release(name, namespace, status, revision)
        for (name, namespace), (revision, status) in sorted(latest.items())
        if status != "deployed"
    )
    return judge_faults("helm release", f"{len(latest)} of {len(own)} are installed, and none has failed", faults)
