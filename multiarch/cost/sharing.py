"""What pods cost of their nodes: each the largest share that it requests of a resource."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from multiarch.cost.model import LabelCost
from multiarch.cost.stack import NodePrices
from multiarch.prices.amounts import largest_first, share_of, total
from multiarch.prices.model import Amount
from multiarch.scheduling.resources import Resources
from multiarch.simulate.settled import NodeState


def share(wanted: Resources, allocatable: Resources) -> Decimal:
    """Return the largest share that a pod requests of a node's resources, 0 to 1."""
    here = {"pods": allocatable.pods, **dict(allocatable.items())}
    asked = {"pods": wanted.pods, **dict(wanted.items())}
    shares = [Decimal(amount) / here[name] for name, amount in asked.items() if here.get(name, 0) > 0]
    return min(max(shares, default=Decimal(0)), Decimal(1))


def costs_by_label(nodes: Iterable[NodeState], prices: NodePrices, label: str) -> tuple[LabelCost, ...]:
    """Return what the pods of each value of a label cost, the largest amount first, and what no pod requests.

    Where the pods of a node request more than all of it, by different resources, each pays its part of the node.
    """
    pods: dict[str | None, int] = {}
    amounts: dict[str | None, list[Amount]] = {}
    for node in nodes:
        month, taken = prices.month(node), Decimal(0)
        shares = [(dict(pod.labels).get(label, ""), share(pod.requests, node.shape.allocatable)) for pod in node.pods]
        whole = max(sum((part for _, part in shares), Decimal(0)), Decimal(1))
        for value, part in shares:
            taken += part / whole
            pods[value] = pods.get(value, 0) + 1
            amounts.setdefault(value, []).append(share_of(month, part / whole))
        amounts.setdefault(None, []).append(share_of(month, max(1 - taken, Decimal(0))))
    found = [LabelCost(value, pods.get(value, 0), total(each)) for value, each in amounts.items()]
    return tuple(sorted(found, key=lambda each: (*largest_first(each.monthly), each.value or "")))
