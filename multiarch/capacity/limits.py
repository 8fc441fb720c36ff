"""Which limit keeps pods without a node, and what would help, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from multiarch.autoscaling.model import Autoscaler
from multiarch.capacity.failures import After, Before, list_unavailable, loses_karpenter, place_again
from multiarch.capacity.model import CapacityFailure
from multiarch.capacity.workloads import SPREAD, ImageSupport, Replicas, WorkloadName, get_pod_key
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import list_instance_types
from multiarch.facts.labels import ZONE
from multiarch.simulate.batches import list_used_labels
from multiarch.simulate.model import EXPECTED_ZONE, GroupAnswer, WorkloadOutcome
from multiarch.simulate.supply import Supply

_MAX_SIZE, _TAINT, _OTHER_PODS = "at its maxSize", "does not tolerate", ("topology spread", "pod anti-affinity")
_UNAVAILABLE, _MEMORY_LIMIT = "no new nodes", "limit memory"
"""How reasons of a simulation begin."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which limit keeps pods pending, and what would help; clauses without a full stop."""

    limit: str
    change: str


@dataclass(frozen=True, slots=True)
class _Case:
    """A workload with pending pods after a failure. ``needed`` are sizes of groups with which the pods would fit."""

    workload: Replicas
    after: After
    outcome: WorkloadOutcome
    needed: Mapping[str, int]
    architectures: tuple[Architecture, ...]

    @property
    def usable(self) -> list[GroupAnswer]:
        """The groups that its pods fit."""
        return [each for each in self.outcome.answers if each.usable]


class Explainer:
    """Explains pending pods of one stack."""

    def __init__(self, before: Before, supply: Supply) -> None:
        """``supply`` are the nodes that can be added while nothing fails."""
        self._before = before
        self._supply = supply
        plan = before.plan
        self._groups = {group.name: group for group in plan.node_groups}
        self._architectures: dict[str, tuple[Architecture, ...]] = {
            group.name: (group.architecture,) for group in plan.node_groups
        }
        self._keys = {group.name: f"{group.key}.maxSize" for group in plan.node_groups}
        self._sizes = {group.name: group.sizes.maximum for group in plan.node_groups}
        karpenter = plan.autoscaling.karpenter
        self._controller = karpenter.controller_group if karpenter else ""
        self._pools = plan.autoscaling.pool_names
        for pool in plan.autoscaling.pools:
            self._architectures[pool.name] = tuple(each.architecture for each in pool.capacities)
            self._keys[pool.name] = f"{pool.key}.cpuLimit"
            if pool.cpu_limit is not None:
                self._sizes[pool.name] = pool.cpu_limit

    def of(self, after: After, workloads: Mapping[Hashable, Replicas]) -> dict[WorkloadName, Explanation]:
        """Explain every workload with pending pods; ``workloads`` by :func:`get_pod_key`."""
        outcomes = self._outcomes(after)
        limited = any(
            _MAX_SIZE in answer.reason or "limit" in answer.reason
            for outcome in outcomes.values()
            for answer in outcome.answers
            if answer.usable
        )
        needed = _find_sizes(self._before, after) if limited else {}
        held = Counter(map(get_pod_key, after.held))
        bare, staying = Counter(map(get_pod_key, after.bare)), Counter(map(get_pod_key, after.staying))
        found = {}
        for key, count in Counter(map(get_pod_key, after.pending)).items():
            workload = workloads[key]
            even = -(-len(workload.pods) // max(1, len(self._supply.zones(workload.pods[0].spec))))
            parts = list(_of_lost_pods(after.failure, bare[key], staying[key], held[key], even))
            if key in outcomes:
                case = _Case(workload, after, outcomes[key], needed, self._supply.architectures(workload.pods[0].spec))
                changes = list(self._changes(case)) or [self._for_other_nodes(case)]
                parts.append(Explanation("; ".join(self._limits(case)), "; or ".join(changes)))
            total = len(workload.pods)
            limit = "; ".join((*(each.limit for each in parts), f"{total - count} of {total} pods run"))
            found[workload.key] = Explanation(limit, "; ".join(each.change for each in parts if each.change))
        return found

    @staticmethod
    def _outcomes(after: After) -> dict[Hashable, WorkloadOutcome]:
        """Return the outcome of each workload with pods without a node.

        Pods with volumes are kept in several zones: a group that some of them can use counts.
        """
        if not after.settled.unplaced:
            return {}
        keys = {(pod.namespace, pod.name): get_pod_key(pod) for pod in after.settled.unplaced}
        found: dict[Hashable, WorkloadOutcome] = {}
        for outcome in after.settled.simulation.workloads:
            for name in outcome.unplaced[:1]:
                key = keys[outcome.namespace, name]
                known = found.get(key, outcome)
                pairs = zip(known.answers, outcome.answers, strict=True)
                answers = tuple(first if first.usable or not then.usable else then for first, then in pairs)
                found[key] = replace(known, answers=answers)
        return found

    def _limits(self, case: _Case) -> Iterator[str]:
        """Yield what keeps pods without a node: the architecture, the groups that are full or lost, the zone."""
        if len(case.architectures) == 1 and len(self._supply.all_architectures) > 1:
            yield self._only(case)
        if zones := self._lost_zones(case):
            yield f"requires zone {' or '.join(zones)}"
            return
        answers = (
            case.usable
            or [each for each in case.outcome.answers if not each.reason.startswith(_TAINT)]
            or list(case.outcome.answers)
        )
        if count := self._most_nodes(case):
            yield count
            return
        without_karpenter = loses_karpenter(case.after.failure, self._before.plan)
        if without_karpenter and any(each.group in self._pools for each in answers):
            yield f"Karpenter adds no nodes: its controller runs on {self._controller}, which is lost"
            answers = [each for each in answers if each.group not in self._pools]
        if lost := [each.group for each in answers if self._is_lost(case, each)]:
            yield f"lost: {', '.join(lost)}"
        for reason, groups in _by_reason(each for each in answers if each.group not in lost).items():
            yield f"{', '.join(groups)}: {reason or 'no room'}"

    def _only(self, case: _Case) -> str:
        """Return ``amd64 only (image shop/api:1 has no arm64 build)``, ``amd64 only (does not tolerate …)``."""
        (only,) = case.architectures
        (other,) = (each for each in self._supply.all_architectures if each is not only)
        images = self._images(case.workload).missing(other)
        if images:
            return f"{only} only ({', '.join(images)} has no {other} build)"
        others = (answer for answer in case.outcome.answers if self._architectures[answer.group] == (other,))
        reasons = _by_reason(others)
        if len(reasons) == 1:
            return f"{only} only ({''.join(reasons)})"
        why = "; ".join(f"{', '.join(groups)}: {reason}" for reason, groups in reasons.items())
        return f"{only} only ({why})" if why else f"{only} only"

    def _most_nodes(self, case: _Case) -> str:
        """Return how many nodes can take the pods at most; empty where that is not what keeps them pending."""
        full = [each for each in case.usable if each.reason.startswith(_MAX_SIZE)]
        lost = [each for each in case.usable if self._is_lost(case, each)]
        if not full or not case.after.lost or len(full) + len(lost) < len(case.usable):
            return ""
        sizes = sum(self._sizes[each.group] for each in full)
        architecture = f"{case.architectures[0]} " if len(case.architectures) == 1 else ""
        groups = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in _by_reason(full).items())
        return f"without {_lost(case.after.failure)} at most {sizes} {architecture}nodes can take it ({groups})"

    def _changes(self, case: _Case) -> Iterator[str]:
        """Yield what would help, the change of the stack file first."""
        if zones := self._lost_zones(case):
            yield f"let it run in other zones than {' or '.join(zones)}"
            return
        grown: dict[str, tuple[int, int]] = {}
        for answer in case.usable:
            if answer.group in case.needed:
                key = self._keys[answer.group]
                size = max(case.needed[answer.group], grown.get(key, (0, 0))[1])
                grown[key] = (self._sizes[answer.group], size)
        if grown:
            yield " and ".join(f"raise {key} from {size} to {needed}" for key, (size, needed) in grown.items())
        by_memory = [each for each in case.usable if _MEMORY_LIMIT in each.reason and each.group not in case.needed]
        full = {self._keys[each.group] for each in by_memory}
        for key in sorted(full):
            yield f"raise {key.replace('cpuLimit', 'memoryLimit')}"
        reasons = [answer.reason for answer in case.outcome.answers]
        if any(reason.startswith(EXPECTED_ZONE) for reason in reasons):
            yield "set onePerZone: true, so that the autoscaler chooses the zone"
        if any(answer.reason.startswith(_OTHER_PODS) for answer in case.usable):
            yield "prefer the topology rule instead of requiring it"
        usable = [each for each in case.usable if each.group in self._groups]
        if self._before.plan.autoscaling.use is Autoscaler.NONE:
            keys = sorted(
                {f"{self._groups[each.group].key}.desiredSize" for each in usable if not self._is_lost(case, each)}
            )
            if keys:
                yield f"raise {' or '.join(keys)}; or use an autoscaler"
        yield from self._in_other_zones(case, usable)
        yield from self._for_other_architecture(case)

    def _in_other_zones(self, case: _Case, usable: Sequence[GroupAnswer]) -> Iterator[str]:
        """Yield other zones for a group whose zones are all lost; with ``onePerZone`` there are such groups already."""
        sharing = Counter(group.key for group in self._groups.values())
        for answer in usable:
            group = self._groups[answer.group]
            if group.zones and set(group.zones) <= set(case.after.failure.zones) and sharing[group.key] == 1:
                yield f"let {group.key}.zones have another zone"

    def _is_lost(self, case: _Case, answer: GroupAnswer) -> bool:
        """Return whether a group gets no nodes in this failure."""
        group = self._groups.get(answer.group)
        if group is None:
            return answer.reason.startswith(_UNAVAILABLE)
        lost = list_unavailable(case.after.failure, self._before.plan)
        return lost.why_no_node(group, group.zones or self._before.context.zones) is not None

    def _for_other_architecture(self, case: _Case) -> Iterator[str]:
        taint = self._before.plan.arm64_taint
        others = [each for each in case.outcome.answers if Architecture.ARM64 in self._architectures[each.group]]
        lost = Architecture.ARM64 in case.after.failure.architectures or all(
            self._is_lost(case, each) for each in others
        )
        if lost or Architecture.ARM64 in case.architectures or Architecture.ARM64 not in self._supply.all_architectures:
            return
        images = self._images(case.workload).missing(Architecture.ARM64)
        if images:
            yield f"build {', '.join(images)} for arm64"
        elif taint and any(answer.reason.startswith(f"{_TAINT} {taint}") for answer in case.outcome.answers):
            yield "if its images run on arm64: `multiarch workload patch --manifests FILE --tolerate arm64`"

    def _for_other_nodes(self, case: _Case) -> str:
        """Return what helps where sizes don't: the nodes that the pods can use are lost, or no group has such nodes."""
        others = [each for each in self._supply.all_architectures if each not in case.after.failure.architectures]
        if others and not set(case.architectures) & set(others):
            return f"let it run on {others[0]} nodes too, if its images do"
        pools = self._pools and not loses_karpenter(case.after.failure, self._before.plan)
        what = "node group or NodePool" if pools else "node group"
        return f"add a {what} that its pods can use, or change the rules that keep them from the others"

    def _lost_zones(self, case: _Case) -> tuple[str, ...]:
        """Return the zones that a workload requires by its own rules, where all of them are lost."""
        pod = case.workload.pods[0]
        asked = self._supply.zones(pod.spec) if ZONE in set(list_used_labels(pod.spec)) else ()
        return asked if set(asked) <= set(case.after.failure.zones) else ()

    def _images(self, workload: Replicas) -> ImageSupport:
        return self._before.images.get(workload.key, ImageSupport())


def _of_lost_pods(failure: CapacityFailure, bare: int, staying: int, held: int, even: int) -> Iterator[Explanation]:
    """Yield why pods of lost nodes get no other node, whatever room there is.

    ``even`` pods of the workload are in a zone if it is spread over those that it can use.
    """
    if bare:
        yield Explanation("no controller replaces its pods", "let a Deployment or Job create them")
    if staying:
        limit = f"its toleration without tolerationSeconds keeps {staying} of its pods on unreachable nodes"
        yield Explanation(limit, "set tolerationSeconds")
    if held:
        limit = f"{held} pod{'s' * (held > 1)} with volumes in zone {' and '.join(failure.zones)}"
        anywhere = "keep its data in volumes that every zone can attach, such as EFS, or replicate it"
        spread = (
            f"spread new replicas over zones: {SPREAD} ScheduleAnyway; volumes that exist stay in their zone, and "
            "DoNotSchedule could keep their pods pending"
        )
        yield Explanation(limit, spread if held > even else anywhere)


def _lost(failure: CapacityFailure) -> str:
    """Return ``zone eu-west-1b``, ``the largest node``, ``amd64 nodes``."""
    text = str(failure)
    for each in failure.architectures:
        text = text.replace(f"all {each}", f"{each} nodes")
    return text.replace("largest node", "the largest node") if failure.largest_nodes == 1 else text


def _by_reason(answers: Iterable[GroupAnswer]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for answer in answers:
        # "too large for an empty node of general-a" is the same for all groups of one instance type.
        found.setdefault(answer.reason.replace(f" of {answer.group}:", ":"), []).append(answer.group)
    return found


def _find_sizes(before: Before, after: After) -> Mapping[str, int]:
    """Simulate ``after`` once more without maxSize and without limits of NodePools.

    Return, for those that grow beyond theirs, the number of nodes of a node group and the vCPUs of a NodePool.
    """
    plan = before.plan
    more = len(after.settled.unplaced)
    groups = tuple(
        replace(group, sizes=replace(group.sizes, maximum=group.sizes.maximum + more)) for group in plan.node_groups
    )
    # A limit of 0 closes a pool while a migration removes it.
    pools = tuple(
        pool if pool.cpu_limit == 0 else replace(pool, cpu_limit=None, memory_limit=None)
        for pool in plan.autoscaling.pools
    )
    autoscaling = plan.autoscaling.with_pools(pools)
    relaxed = replace(before, plan=replace(plan, node_groups=groups, autoscaling=autoscaling))
    nodes = place_again(relaxed, after).nodes
    sizes = Counter(node.group for node in nodes)
    needed = {each.name: sizes[each.name] for each in plan.node_groups if sizes[each.name] > each.sizes.maximum}
    for pool in plan.autoscaling.pools:
        types = [node.instance_type for node in nodes if node.group == pool.name]
        cpus = sum(list_instance_types()[name].vcpus for name in types if name in list_instance_types())
        if pool.cpu_limit and cpus > pool.cpu_limit:
            needed[pool.name] = cpus
    return needed
