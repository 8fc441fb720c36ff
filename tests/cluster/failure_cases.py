"""Generated cases of capacity, the same in every run: a stack, workloads dealt like cards, and what fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from multiarch.capacity.model import CapacityFailure
from multiarch.scheduling.pods import Pod, read_pods
from sandbox.cluster.kube import Object
from tests.cluster.failure_stacks import STACKS, FailingStack
from tests.cluster.failure_workloads import PRIORITY_CLASSES, TRAITS, Ask, Trait

_TIGHT = (1930, 965, 643, 482, 386)
"""Millicores that divide an empty node of two vCPUs without rest."""
_SIZES = (*range(50, 500, 10), *range(500, 1900, 30))
_MEMORY = (128, 256, 512, 1024, 2048)
_TIGHT_SHARE = 0.4
_MOST_WORKLOADS, _MOST_REPLICAS = 8, 7


@dataclass(frozen=True, slots=True)
class Case:
    """Workloads in a namespace of their own, on the nodes of ``stack``, and what fails."""

    name: str
    namespace: str
    stack: FailingStack
    manifests: tuple[Object, ...]
    failure: CapacityFailure

    def of_kind(self, *kinds: str) -> list[Object]:
        """The manifests of these kinds."""
        return [each for each in self.manifests if each["kind"] in kinds]

    def pods(self) -> Iterator[Pod]:
        """The pods as the model reads them, with one for each DaemonSet."""
        return read_pods((*PRIORITY_CLASSES, *self.manifests))


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield ``count`` cases: stacks in turn, each kind of workload again and again among others."""
    chance = Random(seed)  # noqa: S311 (the same in every run is what is wanted)
    deck: list[Trait] = []
    for number in range(count):
        stack = STACKS[number % len(STACKS)]
        yield _case(number, stack, deck, chance)


def _case(number: int, stack: FailingStack, deck: list[Trait], chance: Random) -> Case:
    namespace = f"case-{number}"
    left = int(stack.millicores * chance.uniform(0.6, 1.2))
    most = chance.randint(2, _MOST_WORKLOADS)
    manifests: list[Object] = []
    names: list[str] = []
    while left > 0 and len(names) < most:
        if not deck:
            deck.extend(chance.sample(TRAITS, len(TRAITS)))
        trait = deck.pop()
        cpu = chance.choice(_TIGHT) if chance.random() < _TIGHT_SHARE else chance.choice(_SIZES)
        replicas = chance.randint(1, max(1, min(_MOST_REPLICAS, left // cpu)))
        other = f"w{(len(names) + chance.randint(1, most - 1)) % most}"
        ask = Ask(f"w{len(names)}", namespace, cpu, chance.choice(_MEMORY), replicas, other)
        manifests += trait.make(ask)
        names.append(trait.name)
        left -= cpu * replicas
    failure = stack.failure(chance)
    return Case(
        name=f"{stack.name}, {failure}: {' + '.join(names)}",
        namespace=namespace,
        stack=stack,
        manifests=tuple(manifests),
        failure=failure,
    )
