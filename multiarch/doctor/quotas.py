"""EC2's and VPC's quotas against what a stack starts with, and what it may grow to.

Source of the codes: EC2 documentation, "Amazon EC2 instance type quotas"; VPC user guide, "Amazon VPC quotas". Quotas
of instances count vCPUs, apart for on-demand and spot, by the letters of an instance type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from multiarch.doctor.model import CheckResult, CheckState
from multiarch.facts.instance_types import InstanceType
from multiarch.nodes.model import CapacityType
from multiarch.stack.model import Nat, NewNetwork, Plan

_STANDARD = "Standard (A, C, D, H, I, M, R, T, Z)"
_CLASSES = (
    (_STANDARD, ("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"), "L-1216C47A", "L-34B43A08"),
    ("DL", ("dl",), "L-6E869C2A", "L-85EED4F7"),
    ("F", ("f",), "L-74FC7D96", "L-88CF9481"),
    ("G and VT", ("g", "gr", "vt"), "L-DB2E81BA", "L-3819A6DF"),
    ("High Memory", ("u",), "L-43DA4232", ""),
    ("HPC", ("hpc",), "L-F7808C92", ""),
    ("Inf", ("inf",), "L-1945791B", "L-B5D1601B"),
    ("P", ("p",), "L-417A185B", ""),
    ("Trn", ("trn",), "L-2C3B7624", "L-6B0D517C"),
    ("X", ("x",), "L-7295265B", "L-E3A00192"),
)
"""Name, letters, and the codes for on-demand and spot; empty where there is none, or one for each generation (P)."""


@dataclass(frozen=True, slots=True, order=True)
class Quota:
    """A quota of Service Quotas; ``unit`` is what it counts."""

    service: str
    code: str
    name: str
    unit: str = "vCPU"


ADDRESSES = Quota("ec2", "L-0263D0A3", "Elastic IP addresses", "addresses")
VPCS = Quota("vpc", "L-F678F1CE", "VPCs per region", "VPCs")


@dataclass(frozen=True, slots=True)
class QuotaNeed:
    """How much of a quota a stack needs: at its start, and with all groups and NodePools at their limits."""

    start: int = 0
    largest: int = 0


def find_vcpu_quota(instance: InstanceType, capacity: CapacityType) -> Quota | None:
    """Return the quota that an instance counts against, None for one that the table does not have."""
    for name, letters, on_demand, spot in _CLASSES:
        if instance.category in letters:
            # Those in a capacity reservation count as on-demand.
            bought = CapacityType.SPOT if capacity is CapacityType.SPOT else CapacityType.ON_DEMAND
            code = spot if bought is CapacityType.SPOT else on_demand
            return Quota("ec2", code, f"{name} {bought} instances") if code else None
    return None


def list_needs(plan: Plan) -> Mapping[Quota, QuotaNeed]:
    """Return what a plan needs of each quota. NodePools count with ``cpuLimit``; without it they don't."""
    needs: dict[Quota, QuotaNeed] = {}

    def add(quota: Quota | None, start: int, largest: int) -> None:
        if quota is not None and largest:
            before = needs.get(quota, QuotaNeed())
            needs[quota] = QuotaNeed(before.start + start, before.largest + largest)

    for group in plan.node_groups:
        desired, maximum = group.split(group.sizes.desired), group.split(group.sizes.maximum)
        for bought in desired:
            found = {each: find_vcpu_quota(each, bought) for each in group.instance_types}
            for quota in set(found.values()):
                sizes = [each.vcpus for each, of in found.items() if of == quota]
                # EC2 may take the types of another quota instead.
                start = min(sizes) * desired[bought] if len(sizes) == len(group.instance_types) else 0
                add(quota, start, max(sizes) * maximum[bought])
    for pool in plan.autoscaling.pools:
        kinds = {find_vcpu_quota(each, pool.capacities[0].capacity_type) for each in pool.instance_types}
        if len(kinds) == 1:
            add(kinds.pop(), 0, pool.cpu_limit or 0)
    if isinstance(plan.network, NewNetwork):
        gateways = {Nat.NONE: 0, Nat.SINGLE: 1, Nat.PER_ZONE: plan.network.zone_count}[plan.network.nat]
        add(ADDRESSES, gateways, gateways)
        add(VPCS, 1, 1)
    return needs


def judge_quotas(
    needs: Mapping[Quota, QuotaNeed], others: Mapping[Quota, int], limits: Mapping[Quota, int], region: str
) -> Iterator[CheckResult]:
    """Yield a row for each quota that has a limit; ``others`` says how much runs that is not the stack's."""
    for quota, limit in sorted(limits.items()):
        need, used = needs[quota], others.get(quota, 0)
        start, largest = used + need.start, used + need.largest
        state = CheckState.FAILED if start > limit else CheckState.WARNING if largest > limit else CheckState.OK
        grows = f", up to {need.largest} at its maximum size" if need.largest > need.start else ""
        text = f"{quota.name}: {limit} {quota.unit}; {used} used by others, the stack needs {need.start}{grows}"
        wanted = start if state is CheckState.FAILED else largest
        fix = (
            f"`aws service-quotas request-service-quota-increase --service-code {quota.service} --quota-code "
            f"{quota.code} --desired-value {wanted} --region {region}`."
        )
        yield CheckResult("quota", state, text, "" if state is CheckState.OK else fix)
