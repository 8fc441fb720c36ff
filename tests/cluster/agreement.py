"""One scenario for the simulator and for the real Karpenter: what each gives to every workload, in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from multiarch.autoscaling.karpenter import build_node_class, build_node_pool
from multiarch.autoscaling.model import KarpenterPlan
from multiarch.facts.architectures import Architecture, format_ami_architecture
from multiarch.scheduling.pods import read_pods
from multiarch.simulate.context import SimulationContext
from multiarch.simulate.shapes import build_group_shape
from multiarch.simulate.simulation import simulate_nodes
from multiarch.stack.model import Plan
from sandbox.aws.facts import AMI_TYPES, CLUSTER_VERSIONS, latest_release
from sandbox.cluster.kube import Object, condition, is_true
from sandbox.cluster.programs import wait_for
from tests.cluster import nodes
from tests.cluster.aws import REGION, ZONES
from tests.cluster.karpenter_rounds import position, rounds
from tests.cluster.nodes import UNREGISTERED
from tests.cluster.placements import Placement, Rejected
from tests.cluster.rig import NODE_CLAIMS, NODE_POOLS, Rig
from tests.cluster.scenarios import Pools, Scenario
from tests.simulate.simulated import pooled
from tests.stack.words import merged, plan

NOWHERE = "nowhere"
MOST_ROUNDS = 5
LONGEST_PAUSE_SECONDS = 30.0
"""How long Karpenter may stand still: its connections to the API server outlive it."""
REJECTION_STANDS_SECONDS = 0.4
"""Karpenter decides on all pods at once, so its word on one is not followed by another."""
_JOINING = {"key": UNREGISTERED["key"], "operator": "Exists", "effect": UNREGISTERED["effect"]}
"""What a node is tainted with until Karpenter knows it; pods that are bound to it before would be evicted."""
_ARCHITECTURES = "|"

Got = Mapping[str, Mapping[str, int]]
"""By workload: how many of its pods got what, such as ``general-arm64-spot arm64 spot``, a group's name, NOWHERE."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """``got``, workloads with pods that no further node of any pool could take, and all that is said to be omitted."""

    got: Got
    hopeless: frozenset[str]
    notes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Real:
    """``got``, and by workload what Karpenter said of one pod that it rejected."""

    got: Got
    reasons: Mapping[str, str]


def ami_alias() -> str:
    """An image that the sandbox's AWS has."""
    release = latest_release(AMI_TYPES["AL2023_ARM_64_STANDARD"], list(CLUSTER_VERSIONS)[-1])
    return f"al2023@v{release.rpartition('-')[2]}"


@cache
def plan_of(pools: Pools) -> Plan:
    """The plan of the stack whose words these are."""
    words = merged(pooled(pools.words, **pools.more), {"autoscaling": {"karpenter": {"amiAlias": ami_alias()}}})
    return plan(words, region=REGION)


def simulated(scenario: Scenario) -> Simulated:
    """What ``simulate`` says."""
    made = plan_of(scenario.pools)
    groups = made.node_groups if scenario.pools.nodes else ()
    result = simulate_nodes(
        made.autoscaling, groups, SimulationContext(ZONES), read_pods(scenario.manifests)
    ).simulation
    karpenter = _karpenter(made)
    found: dict[str, Counter[str]] = {}
    hopeless = set()
    for outcome in result.workloads:
        for place in outcome.places:
            what = _what(place.group, place.architectures, karpenter)
            found.setdefault(_workload(place.pod), Counter())[what] += 1
        for pod in outcome.unplaced:
            found.setdefault(_workload(pod), Counter())[NOWHERE] += 1
            if not any(answer.usable for answer in outcome.answers):
                hopeless.add(_workload(pod))
    notes = frozenset((*result.notes, *(note for outcome in result.workloads for note in outcome.notes)))
    return Simulated({name: dict(found[name]) for name in sorted(found)}, frozenset(hopeless), notes)


def real(rig: Rig, scenario: Scenario, expected: Simulated) -> Real:
    """What the real Karpenter gives, of pools that are there already; see :func:`apply`.

    No node joins while Karpenter plans, and when nodes join, their pods are on them as planned, so that kube-scheduler
    can't give a pod the room that was meant for another. Rejected pods come again when all others run, as those that
    wait in the simulation do, as long as that gives one of them a node. ``expected`` only says of which pods no node
    would ever do: for those alone nothing is tried again.

    Raises:
        ClusterError: nothing was decided in time.
        TooSlowError: Karpenter did not learn of all pods at once.
    """
    _create_nodes(rig, scenario.pools)
    rig.apply(scenario.daemons)
    result: dict[str, Placement | Rejected] = {}
    coming = scenario.pods
    for _ in range(MOST_ROUNDS):
        with rig.bridge.held():
            later = _offer(rig, coming)
            result |= later
            rejected = [each for each in coming if isinstance(later[_name(each)], Rejected)]
            hopeless = all(_workload(_name(each)) in expected.hopeless for each in rejected)
            if hopeless or len(rejected) == len(coming):
                break
            for each in rejected:
                rig.kube.delete(each, grace=0)
            _bind(rig, later, coming)
        _wait_for_nodes(rig)
        coming = rejected
    reasons = {_workload(name): said.reason for name, said in result.items() if isinstance(said, Rejected)}
    return Real(_told(result, scenario), reasons)


def _offer(rig: Rig, pods: Sequence[Object]) -> dict[str, Placement | Rejected]:
    """Create pods, and return what is planned for them.

    Karpenter stands still until kube-scheduler has looked at each, so it learns of all of them at once.

    Raises:
        TooSlowError: it began to plan before it knew of all.
    """
    keys = frozenset(map(_key, pods))

    def judged() -> bool:
        found = [item for item in rig.kube.list("v1", "Pod") if _key(item) in keys]
        return len(keys) == sum(bool(item["spec"].get("nodeName") or condition(item, "PodScheduled")) for item in found)

    start = position(rig.controller.log)
    with rig.controller.paused():
        for each in pods:
            tolerations = [*each["spec"].get("tolerations", ()), _JOINING]
            rig.kube.create({**each, "spec": {**each["spec"], "tolerations": tolerations}})
        wait_for(judged, "kube-scheduler to look at the pods", timeout=LONGEST_PAUSE_SECONDS, pause=0.05)
    result = rig.placements(keys, bound=False, stands=REJECTION_STANDS_SECONDS)
    # kube-scheduler tries pods again when it learns of more nodes, so only at the end it is known which it has bound.
    waiting = sum(isinstance(each, Rejected) or not each.node for each in result.values())
    planned = rounds(rig.controller.log, start)
    if waiting and (not planned or planned[0].pods < waiting):
        raise TooSlowError(f"Karpenter began with {planned[0].pods if planned else 0} of {waiting} pods")
    return result


def _bind(rig: Rig, planned: Mapping[str, Placement | Rejected], pods: Sequence[Object]) -> None:
    """Bind pods to the nodes that are to come up for them, in the place of kube-scheduler."""
    names = {row["InstanceId"]: row["PrivateDnsName"] for row in rig.aws.running_instances()}
    claims = {item["metadata"]["name"]: item["status"]["providerID"] for item in rig.kube.list(*NODE_CLAIMS)}
    for each in pods:
        place = planned[_name(each)]
        if isinstance(place, Placement) and not place.node:
            target = {"apiVersion": "v1", "kind": "Node", "name": names[claims[place.claim].rpartition("/")[2]]}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": _name(each)}, "target": target}
            rig.kube.request("POST", f"{rig.kube.path_of(each)}/binding", body=binding)


def _wait_for_nodes(rig: Rig) -> None:
    """Wait until Karpenter counts all its nodes as ready for pods."""

    def ready() -> bool:
        rig.check()
        return all(is_true(item, "Initialized") for item in rig.kube.list(*NODE_CLAIMS))

    wait_for(ready, "the nodes to be ready", timeout=60, pause=0.2)


class TooSlowError(Exception):
    """The machine was too busy for a scenario."""


def apply(rig: Rig, pools: Pools) -> None:
    """Apply the node class and the NodePools of one kind of pools."""
    apply_plan(rig, plan_of(pools))


def apply_plan(rig: Rig, made: Plan) -> None:
    """Apply the node class and the NodePools of a stack's plan, as the project makes them."""
    karpenter = _karpenter(made)
    node_class = build_node_class(karpenter.node_class, cluster=rig.aws.cluster, role=rig.aws.node_role, tags=())
    rig.apply([node_class, *(build_node_pool(pool) for pool in karpenter.pools)])


def clear(rig: Rig) -> None:
    """Take everything away but the pools, and wait until Karpenter, too, counts no node of theirs against a limit."""
    rig.reset(keep_pools=True)

    def counted_out() -> bool:
        if rig.kube.list(*NODE_CLAIMS):  # Karpenter was planning when the pods went
            rig.reset(keep_pools=True)
        found = [item.get("status", {}).get("resources", {}) for item in rig.kube.list(*NODE_POOLS)]
        return all(resources.get("nodes", "0") == "0" for resources in found)

    wait_for(counted_out, "Karpenter to forget the nodes", timeout=60)


def differences(expected: Got, found: Real) -> list[str]:
    """Say of each workload what differs, one line each; empty where both agree.

    Where the simulator says that either architecture will do, both agree whichever it is.
    """
    lines = []
    for name in sorted(expected.keys() | found.got.keys()):
        wanted, got = Counter(expected.get(name, {})), Counter(found.got.get(name, {}))
        wanted, got = wanted - got, got - wanted
        open_to_both = Counter({_either(what): 0 for what in got})
        for what, count in got.items():
            open_to_both[_either(what)] += count
        if wanted not in (got, open_to_both):
            why = f" ({found.reasons[name]})" if name in found.reasons else ""
            both = (_listed(each.get(name, {})) for each in (expected, found.got))
            lines.append("{}: simulated {}, real {}{}".format(name, *both, why))
    return lines


def _told(result: Mapping[str, Placement | Rejected], scenario: Scenario) -> Got:
    groups = plan_of(scenario.pools).node_groups
    found: dict[str, Counter[str]] = {}
    for name, said in result.items():
        what = NOWHERE
        if isinstance(said, Placement):
            what = f"{said.pool} {said.architecture} {said.capacity_type}" if said.pool else groups[0].name
        found.setdefault(_workload(name), Counter())[what] += 1
    return {name: dict(found[name]) for name in sorted(found)}


def _create_nodes(rig: Rig, pools: Pools) -> None:
    """Make the nodes of the controller's group, each in the next zone."""
    for group in plan_of(pools).node_groups if pools.nodes else ():
        joining = nodes.Joining(dict(build_group_shape(group, ZONES).labels), (), group.disk_size, group.max_pods)
        for number in range(group.sizes.desired):
            instance = {
                "InstanceId": f"i-{number:017x}",
                "InstanceType": group.instance_types[0].name,
                "Architecture": format_ami_architecture(group.architecture),
                "Placement": {"AvailabilityZone": ZONES[number % len(ZONES)]},
                "PrivateDnsName": f"{group.name}-{number}.internal",
            }
            rig.kube.create(nodes.node(instance, joining))
            _wait_for_scheduler(rig, str(instance["PrivateDnsName"]))


def _wait_for_scheduler(rig: Rig, node: str) -> None:
    """Wait until kube-scheduler knows a node as ready: it binds pods that come before in an order of its own.

    The probe tolerates nothing, so it is bound when the taint of a new node, ``not-ready``, is gone.
    """
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    name = f"probe-{node.partition('.')[0]}"
    probe = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "app"}],
            "affinity": {"nodeAffinity": required},
        },
    }
    rig.kube.create(probe)

    def bound() -> bool:
        found = rig.kube.get("v1", "Pod", name, "default") or {}
        return bool(found.get("spec", {}).get("nodeName"))

    wait_for(bound, f"kube-scheduler to know {node}", timeout=30, pause=0.05)
    rig.kube.delete(probe, grace=0)


def _what(group: str, architectures: Sequence[str], karpenter: KarpenterPlan) -> str:
    capacities = {pool.name: pool.capacities for pool in karpenter.pools}
    return (
        f"{group} {_ARCHITECTURES.join(architectures)} {capacities[group][0].capacity_type}"
        if group in capacities
        else group
    )


def _either(what: str) -> str:
    """The same with both architectures in the place of one."""
    words = what.split(" ")
    both = _ARCHITECTURES.join(sorted(Architecture))
    return " ".join(both if word in tuple(Architecture) else word for word in words)


def _karpenter(made: Plan) -> KarpenterPlan:
    if made.autoscaling.karpenter is None:
        raise ValueError("the stack has no Karpenter")
    return made.autoscaling.karpenter


def _key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], _name(pod)


def _name(pod: Object) -> str:
    return str(pod["metadata"]["name"])


def _workload(pod: str) -> str:
    """``w1`` of ``w1-0``."""
    return pod.rpartition("-")[0]


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "nothing"
