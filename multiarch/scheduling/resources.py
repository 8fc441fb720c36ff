"""Amounts of CPU, memory and the rest: what a pod requests, what a node can give, what is left of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from multiarch.manifests.quantities import format_bytes, format_cpu, round_up, round_up_to_millis

_IN_BYTES = ("memory", "ephemeral-storage", "hugepages-")


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource of which there is too little: ``wanted`` and ``available`` in the resource's own unit."""

    resource: str
    wanted: int
    available: int

    def __str__(self) -> str:
        """``cpu: 4 requested, 1.5 available, 2.5 short``."""
        wanted, available, short = (
            format_amount(self.resource, amount)
            for amount in (self.wanted, self.available, self.wanted - self.available)
        )
        return f"{self.resource}: {wanted} requested, {available} available, {short} short"


@dataclass(frozen=True, slots=True)
class ResourceAmounts:
    """Amounts by resource; what is left of a node may be negative.

    ``cpu`` in millicores, ``memory`` and ``ephemeral_storage`` in bytes, ``pods`` a number; ``extended`` holds all
    other resources (``nvidia.com/gpu``, ``hugepages-2Mi`` in bytes) as sorted pairs without zeros.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    pods: int = 0
    extended: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, Fraction]) -> ResourceAmounts:
        """Take exact quantities by resource name, rounded up as Kubernetes does."""
        whole = {name: round_up(amount) for name, amount in amounts.items() if name != "cpu"}
        return cls.whole({"cpu": round_up_to_millis(amounts.get("cpu", Fraction(0))), **whole})

    @classmethod
    def whole(cls, amounts: Mapping[str, int]) -> ResourceAmounts:
        """Take whole amounts by resource name, ``cpu`` in millicores."""
        others = dict(amounts)
        return cls(
            cpu=others.pop("cpu", 0),
            memory=others.pop("memory", 0),
            ephemeral_storage=others.pop("ephemeral-storage", 0),
            pods=others.pop("pods", 0),
            extended=_pairs(others),
        )

    def __add__(self, other: ResourceAmounts) -> ResourceAmounts:
        """Both together."""
        return self._with(other, 1)

    def __sub__(self, other: ResourceAmounts) -> ResourceAmounts:
        """What is left of this when ``other`` is taken away."""
        return self._with(other, -1)

    def less(self, other: ResourceAmounts, times: int) -> ResourceAmounts:
        """Return what is left of this when ``other`` is taken away so many times."""
        return self._with(other, -times)

    def times(self, wanted: ResourceAmounts) -> int:
        """Return how many times ``wanted``, which requests a pod slot, can be taken from this."""
        # Requested as often as covers: no calls but for resources that few pods request.
        most = self.pods // wanted.pods
        if wanted.cpu > 0 and (room := self.cpu // wanted.cpu) < most:
            most = room
        if wanted.memory > 0 and (room := self.memory // wanted.memory) < most:
            most = room
        if wanted.ephemeral_storage > 0:
            most = min(most, self.ephemeral_storage // wanted.ephemeral_storage)
        if wanted.extended:
            here = dict(self.extended)
            most = min(most, *(here.get(name, 0) // amount for name, amount in wanted.extended))
        return max(most, 0)

    def count_beside(self, each: ResourceAmounts, wanted: ResourceAmounts) -> int:
        """Return how many times ``each`` can be taken from this before it does not cover ``wanted``.

        At most the number of pod slots; 0 also where ``wanted`` has no room without them.
        """
        rows = [
            (self.cpu, each.cpu, wanted.cpu),
            (self.memory, each.memory, wanted.memory),
            (self.ephemeral_storage, each.ephemeral_storage, wanted.ephemeral_storage),
            (self.pods, each.pods, wanted.pods),
        ]
        if wanted.extended:
            others, taken = dict(self.extended), dict(each.extended)
            rows += [(others.get(name, 0), taken.get(name, 0), amount) for name, amount in wanted.extended]
        most = self.pods
        for here, one, needed in rows:
            if needed > 0 and here - needed < one * most:
                most = (here - needed) // one if one > 0 and here >= needed else 0
        return max(most, 0)

    def _with(self, other: ResourceAmounts, sign: int) -> ResourceAmounts:
        extended = self.extended
        if other.extended:
            sums = dict(extended)
            for name, amount in other.extended:
                sums[name] = sums.get(name, 0) + sign * amount
            extended = _pairs(sums)
        return ResourceAmounts(
            self.cpu + sign * other.cpu,
            self.memory + sign * other.memory,
            self.ephemeral_storage + sign * other.ephemeral_storage,
            self.pods + sign * other.pods,
            extended,
        )

    def items(self) -> Iterator[tuple[str, int]]:
        """Name and amount of every resource but pods, Kubernetes' names."""
        yield "cpu", self.cpu
        yield "memory", self.memory
        yield "ephemeral-storage", self.ephemeral_storage
        yield from self.extended

    def covers(self, wanted: ResourceAmounts) -> bool:
        """Say whether nothing that ``wanted`` requests is missing here; requesting none is never too much."""
        # Requested every pod and node: no calls here.
        if (
            (wanted.cpu > self.cpu and wanted.cpu > 0)
            or (wanted.memory > self.memory and wanted.memory > 0)
            or (wanted.ephemeral_storage > self.ephemeral_storage and wanted.ephemeral_storage > 0)
            or (wanted.pods > self.pods and wanted.pods > 0)
        ):
            return False
        if not wanted.extended:
            return True
        here = dict(self.extended)
        return all(amount <= here.get(name, 0) for name, amount in wanted.extended)

    def shortages(self, wanted: ResourceAmounts) -> tuple[Shortage, ...]:
        """List what is missing here for ``wanted``, pods aside.

        Source: kube-scheduler, plugin NodeResourcesFit; a request of zero fits a node that is over-committed.
        """
        here = dict(self.items())
        return tuple(
            Shortage(name, amount, here.get(name, 0))
            for name, amount in wanted.items()
            if amount > 0 and amount > here.get(name, 0)
        )


def format_amount(resource: str, amount: int) -> str:
    """Return ``250m`` of CPU, ``2Gi`` of memory, ``3`` of anything that is counted."""
    if resource == "cpu":
        return format_cpu(amount)
    return format_bytes(amount) if resource.startswith(_IN_BYTES) else str(amount)


def _pairs(amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, amount) for name, amount in amounts.items() if amount))
