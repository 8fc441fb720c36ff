"""All objects of the CronJob, in the order in which to apply them."""

from __future__ import annotations

from collections.abc import Iterator

from multiarch.facts.rebalance import LEASE, LEASE_NAMESPACE, PLACEHOLDER_NAMESPACE
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import make_toleration
from multiarch.manifests import restricted
from multiarch.rebalance.install import policy
from multiarch.rebalance.install.policy import LABELS, NAME, NAMESPACE, Object, build_metadata
from multiarch.schema.rebalance import RebalancePlan

_STACK_FOLDER = "/etc/multiarch/stack"
_LONGEST_RUN = 4 * 3600
"""Seconds after which a run is ended; what is left is for the next one."""
_GRACE = 120
"""Seconds in which a run that is ended uncordons its node, also if the API server is away for a while."""

_POD_IDENTITY_AGENT = ("169.254.170.23/32", "fd00:ec2::23/128")
"""EKS user guide, "EKS Pod Identity agent": it answers on port 80 of these addresses of each node."""

_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["nodes", "pods", "replicationcontrollers"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["replicasets", "statefulsets"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["daemonsets"], "verbs": ["list"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list"]},
    # They name the pull secrets of their pods' images.
    {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["list"]},
]
_NAMESPACES: list[Object] = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]
"""To reject a namespace that does not exist."""
_NODES: list[Object] = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}]
_LEASE: list[Object] = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [LEASE],
        "verbs": ["get", "patch"],
    },
]
"""RBAC can't limit ``create`` to a name: :mod:`multiarch.rebalance.install.policy` does."""
_PLACEHOLDERS: list[Object] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete"]}]
_EVICTIONS: list[Object] = [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}]


def build_objects(plan: RebalancePlan, stack: str, arm64_taint: Taint | None) -> list[Object]:
    """Return the objects, the Namespace first; ``stack`` is ``TEAM-ENV``. The same arguments give the same objects."""
    return [
        build_namespace(),
        restricted.build_service_account(build_metadata()),
        *_roles(plan),
        *policy.build_admission_policies(),
        *([_network_policy(plan)] if plan.network_policy else []),
        _config_map(plan, stack),
        _cron_job(plan, stack, arm64_taint),
    ]


def build_namespace() -> Object:
    """Return the Namespace, whose pods must meet Pod Security ``restricted``."""
    own = {"name": NAMESPACE, "labels": {**LABELS, **restricted.list_enforced_labels()}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": own}


def build_arguments(plan: RebalancePlan, stack: str) -> list[str]:
    """Return the arguments of ``multiarch`` for one run."""
    found = ["rebalance", f"{_STACK_FOLDER}/{_file(stack)}", "--no-cache", f"--max-pods={plan.max_pods}"]
    found += [f"--pace={plan.pace}", *(f"--namespace={each}" for each in plan.namespaces)]
    if plan.quiet_hours:
        found.append(f"--quiet-hours={plan.quiet_hours.schedule} {plan.quiet_hours.duration}")
    flags = {
        "--evict-single": plan.evict_single,
        "--delete-emptydir-data": plan.delete_empty_dir_data,
        "--apply": not plan.dry_run,
    }
    return [*found, *(flag for flag, on in flags.items() if on)]


def _file(stack: str) -> str:
    return f"Pulumi.{stack}.yaml"


def _config_map(plan: RebalancePlan, stack: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": build_metadata(),
        "data": {_file(stack): plan.stack_file},
    }


def _network_policy(plan: RebalancePlan) -> Object:
    egress: list[Object] = [
        {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]},
        {"ports": [{"protocol": "TCP", "port": 443}]},
    ]
    if plan.ecr_repositories:
        blocks = [{"ipBlock": {"cidr": cidr}} for cidr in _POD_IDENTITY_AGENT]
        egress.append({"ports": [{"protocol": "TCP", "port": 80}], "to": blocks})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": build_metadata(),
        "spec": {"podSelector": {"matchLabels": LABELS}, "policyTypes": ["Ingress", "Egress"], "egress": egress},
    }


def _cron_job(plan: RebalancePlan, stack: str, arm64_taint: Taint | None) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": build_metadata(),
        "spec": {
            "schedule": plan.schedule,
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            # After a pause of the controller one run is enough.
            "startingDeadlineSeconds": 300,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 3,
            "jobTemplate": {
                "metadata": {"labels": LABELS},
                "spec": {
                    # The next run clears up after one that failed.
                    "backoffLimit": 0,
                    "activeDeadlineSeconds": _LONGEST_RUN,
                    "template": _template(plan, stack, arm64_taint),
                },
            },
        },
    }


def _template(plan: RebalancePlan, stack: str, arm64_taint: Taint | None) -> Object:
    memory = f"{plan.memory_mib}Mi"
    container = {
        "name": "rebalance",
        "image": plan.image,
        "args": build_arguments(plan, stack),
        "resources": {"requests": {"cpu": "100m", "memory": memory}, "limits": {"memory": memory}},
        "securityContext": restricted.build_container_security(),
        "volumeMounts": [{"name": "stack", "mountPath": _STACK_FOLDER, "readOnly": True}],
    }
    spec: Object = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": restricted.build_pod_security(),
        "containers": [container],
        "volumes": [{"name": "stack", "configMap": {"name": NAME}}],
    }
    if arm64_taint:
        spec["tolerations"] = [make_toleration(arm64_taint).as_dict()]
    if plan.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": each.name} for each in plan.image_pull_secrets]
    # A run has its end: no autoscaler takes its node away meanwhile.
    kept = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
    return {"metadata": {"labels": LABELS, "annotations": kept}, "spec": spec}


def _roles(plan: RebalancePlan) -> Iterator[Object]:
    """Yield roles and bindings: evictions only in the plan's namespaces, Secrets only those that it names."""
    everywhere = [*_RULES, *(_NAMESPACES if plan.namespaces else []), *([] if plan.dry_run else _NODES)]
    if not plan.dry_run and not plan.namespaces:
        everywhere += _EVICTIONS
    yield from _granted(NAME, None, everywhere)
    if not plan.dry_run:
        yield from _granted(NAME, LEASE_NAMESPACE, _LEASE)
        yield from _granted(f"{NAME}-placeholders", PLACEHOLDER_NAMESPACE, _PLACEHOLDERS)
    for each in () if plan.dry_run else plan.namespaces:
        yield from _granted(f"{NAME}-evictions", each, _EVICTIONS)
    by_namespace: dict[str, list[str]] = {}
    for secret in plan.pull_secrets:
        place, _, name = secret.partition("/")
        by_namespace.setdefault(place, []).append(name)
    for place, names in by_namespace.items():
        rule = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}
        yield from _granted(f"{NAME}-pull-secrets", place, [rule])


def _granted(name: str, namespace: str | None, rules: list[Object]) -> Iterator[Object]:
    return restricted.grant_role(build_metadata(name, namespace), rules, NAME, NAMESPACE)
