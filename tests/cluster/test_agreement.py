"""``simulate`` and the real Karpenter, given the same pods and pools, give the same answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.kube import Object
from tests.cluster import agreement
from tests.cluster.rig import Rig
from tests.cluster.scenario_pods import TOLERANT, TRAITS, Ask, required, spread
from tests.cluster.scenarios import ARM64_UNWANTED, LIMIT_4_CPUS, XLARGE, Pools, Scenario, scenarios
from tests.scheduling.manifests import expression

SCENARIOS = scenarios()
ATTEMPTS = 3


def _with_host_port(ask: Ask) -> list[Object]:
    made = ask.pods(2, **TOLERANT)
    for each in made:
        each["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return made


def _with_and_without(ask: Ask) -> list[Object]:
    """A pod that rejects one value of a label, and a smaller one that requests another."""
    term = required([expression("example.com/disk", "NotIn", "hdd")])
    small = Ask(f"{ask.name}b", ask.cpu - 200, ask.memory).pods(**TOLERANT, nodeSelector={"example.com/disk": "ssd"})
    return [*ask.pods(**TOLERANT, **term), *small]


def _spread_over_architectures(ask: Ask) -> list[Object]:
    return next(trait for trait in TRAITS if trait.name == "spread-architecture").make(ask)


DOCUMENT = Path(__file__).parents[2] / "docs/explanation/simulation.md"
MANUFACTURER = "karpenter.k8s.aws/instance-cpu-manufacturer"
ARM_SPOT, ARM = "general-arm64-spot arm64 spot", "general-arm64-on-demand arm64 on-demand"
OTHER = "other-amd64-on-demand amd64 on-demand"
# Each is an entry of docs/explanation/simulation.md, "Karpenter".
DISAGREEMENTS = [
    pytest.param(
        XLARGE,
        Scenario("", XLARGE, tuple(Ask("w0", 700, 512).pods(**TOLERANT, nodeSelector={MANUFACTURER: "aws"}))),
        {"w0": {agreement.NOWHERE: 1}},
        {"w0": {ARM_SPOT: 1}},
        f"Labels whose values are not known before a node exists count as missing: {MANUFACTURER}.",
        id="a label that is not known before the node",
    ),
    pytest.param(
        LIMIT_4_CPUS,
        Scenario("", LIMIT_4_CPUS, tuple(_with_host_port(Ask("w0", 700, 512)))),
        {"w0": {ARM_SPOT: 2}},
        {"w0": {ARM_SPOT: 1, ARM: 1}},
        "host ports: two pods with the same one cannot share a node",
        id="host ports",
    ),
    pytest.param(
        XLARGE,
        Scenario("", XLARGE, tuple(_with_and_without(Ask("w0", 700, 512)))),
        {"w0": {ARM_SPOT: 1}, "w0b": {agreement.NOWHERE: 1}},
        {"w0": {ARM_SPOT: 1}, "w0b": {ARM_SPOT: 1}},
        "**Labels that no pool sets**",
        id="a label that Karpenter makes up",
    ),
    pytest.param(
        ARM64_UNWANTED,
        Scenario("", ARM64_UNWANTED, tuple(_spread_over_architectures(Ask("w0", 1600, 1024)))),
        {"w0": {OTHER: 1, ARM_SPOT: 1}},
        {"w0": {OTHER: 2}},
        "**Topology spread after relaxation**",
        id="a spread counted again",
    ),
]


@pytest.fixture(scope="module")
def pools(request: pytest.FixtureRequest, session_rig: Rig) -> Iterator[Pools]:
    """One kind of pools, applied once for all scenarios with it."""
    chosen: Pools = request.param
    session_rig.reset()
    agreement.apply(session_rig, chosen)
    yield chosen
    session_rig.reset()


@pytest.mark.parametrize(
    ("pools", "scenario"),
    [pytest.param(each.pools, each, id=each.name) for each in SCENARIOS],
    indirect=["pools"],
    scope="module",
)
def test_the_simulator_and_karpenter_choose_the_same(session_rig: Rig, pools: Pools, scenario: Scenario) -> None:
    assert scenario.pools is pools
    expected = agreement.simulated(scenario)
    assert agreement.differences(expected.got, _real(session_rig, scenario, expected)) == []


@pytest.mark.parametrize(
    ("pools", "scenario", "simulated", "real", "said"), DISAGREEMENTS, indirect=["pools"], scope="module"
)
def test_a_known_disagreement_is_what_the_documents_say(
    session_rig: Rig,
    pools: Pools,
    scenario: Scenario,
    simulated: agreement.Got,
    real: agreement.Got,
    said: str,
) -> None:
    assert scenario.pools is pools
    expected = agreement.simulated(scenario)
    assert dict(expected.got) == simulated
    assert said in expected.notes or said in DOCUMENT.read_text(encoding="utf-8")
    assert dict(_real(session_rig, scenario, expected).got) == real


@pytest.mark.parametrize("pools", [XLARGE], indirect=True, ids=["xlarge"], scope="module")
def test_neither_takes_pods_with_topology_keys_that_karpenter_does_not_know(session_rig: Rig, pools: Pools) -> None:
    first = Ask("w0", 700, 512).pods(2, **TOLERANT, **spread("w0", "karpenter.sh/nodepool"))
    second = Ask("w1", 800, 512).pods(2, **TOLERANT, **spread("w1", "karpenter.k8s.aws/ec2nodeclass"))
    scenario = Scenario("", pools, (*first, *second))
    expected = agreement.simulated(scenario)
    assert dict(expected.got) == {"w0": {agreement.NOWHERE: 2}, "w1": {agreement.NOWHERE: 2}}
    assert dict(_real(session_rig, scenario, expected).got) == dict(expected.got)


def _real(rig: Rig, scenario: Scenario, expected: agreement.Simulated) -> agreement.Real:
    """Play a scenario, again where the machine was too busy to bring the pods to Karpenter at once."""
    for left in reversed(range(ATTEMPTS)):
        agreement.clear(rig)
        try:
            return agreement.real(rig, scenario, expected)
        except agreement.TooSlowError:
            if not left:
                raise
    raise AssertionError


def test_every_kind_of_workload_comes_up() -> None:
    assert {trait for each in SCENARIOS for trait in each.name.partition(": ")[2].split(" + ")} == {
        trait.name for trait in TRAITS
    }


def test_the_scenarios_lead_everywhere() -> None:
    """No kind of outcome is missing, so that agreement means something."""
    told = Counter(what for each in SCENARIOS for counts in agreement.simulated(each).got.values() for what in counts)
    kinds = {what.partition(" ")[2] for what in told}
    assert kinds >= {
        f"{architecture} {capacity}" for architecture in ("amd64", "arm64") for capacity in ("spot", "on-demand")
    }
    assert {agreement.NOWHERE, "web"} <= told.keys()
