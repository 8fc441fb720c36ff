"""The flags that the owner of an installed cluster autoscaler sets, and what is wrong with those that it has.

Source: autoscaler, ``cluster-autoscaler/FAQ.md`` ("What are the parameters to CA?") and
``cluster-autoscaler/cloudprovider/aws/README.md`` ("Auto-discovery setup").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multiarch.autoscaling.expander import CONFIG_MAP
from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.autoscaling.tags import ENABLED_TAG, get_cluster_tag

_NAMESPACE = "kube-system"
"""The default of ``--namespace``."""
_PROGRAM = "cluster-autoscaler"
_TRUE = frozenset({"", "true", "1", "t", "T", "TRUE", "True"})
"""What Go's flags read as true; a flag without a value is."""


def list_owner_flags(plan: ClusterAutoscalerPlan, cluster: str) -> tuple[str, ...]:
    """Return the flags that the autoscaler needs for the stack's priorities and groups."""
    return (
        "--expander=priority,least-waste",
        f"--namespace={plan.settings.namespace}",
        f"--node-group-auto-discovery=asg:tag={ENABLED_TAG},{get_cluster_tag(cluster)}",
        *(() if plan.balance_similar else ("--balance-similar-node-groups=false",)),
    )


def _read_flags(arguments: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the values of each flag, in their order: ``--name=value``, ``--name value`` or ``--name``."""
    flags: dict[str, list[str]] = {}
    for word, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        if word.startswith("-"):
            name, sign, value = word.lstrip("-").partition("=")
            flags.setdefault(name, []).append(value if sign or following.startswith("-") else following)
    return flags


def _get_namespace(flags: Mapping[str, Sequence[str]]) -> str:
    return flags.get("namespace", [_NAMESPACE])[-1]


def list_arguments(deployment: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield the arguments of each container of a Deployment that runs the cluster autoscaler."""
    for container in deployment["spec"]["template"]["spec"].get("containers") or ():
        words = [str(each) for key in ("command", "args") for each in container.get(key) or ()]
        if words and words[0].rpartition("/")[2] == _PROGRAM:
            yield words[1:]


def read_namespace(arguments: Sequence[str]) -> str:
    """Return the namespace in which an autoscaler with these arguments reads its priorities."""
    return _get_namespace(_read_flags(arguments))


def find_wrong_flags(arguments: Sequence[str], plan: ClusterAutoscalerPlan, cluster: str) -> Iterator[str]:
    """Yield a sentence for each flag of a running autoscaler with which the stack's settings have no effect."""
    flags = _read_flags(arguments)
    expander = flags.get("expander", ["not set"])[-1]
    if expander.split(",")[0] != "priority":
        yield f"--expander is {expander}: it does not try priority first, and the order of the stack has no effect"
    if (namespace := _get_namespace(flags)) != plan.settings.namespace:
        yield f"--namespace is {namespace}: it does not read the ConfigMap {CONFIG_MAP} in {plan.settings.namespace}"
    found = flags.get("node-group-auto-discovery", [])
    own = {ENABLED_TAG, get_cluster_tag(cluster)}
    # A key may be followed by the value that the tag must have.
    wanted = [{tag.partition("=")[0] for tag in each.partition("tag=")[2].split(",")} for each in found]
    if not any(tags and tags <= own for tags in wanted):
        seen = " and ".join(found) or "not set"
        yield f"--node-group-auto-discovery is {seen}: it does not find the stack's groups by {', '.join(sorted(own))}"
    if not plan.balance_similar and flags.get("balance-similar-node-groups", ["false"])[-1] in _TRUE:
        first, second = plan.not_balanced[0]
        yield f"--balance-similar-node-groups is on: {first} and {second}, of different priorities, share new nodes"
