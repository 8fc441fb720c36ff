"""What the pods of generated scenarios may request: one workload of each kind, as small as it can be.

Every kind is a function from :class:`Ask` to the manifests of one workload. Kinds that depend on zones are marked:
Karpenter takes any of several equally empty zones, so two of them in one scenario could go either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.cluster.kube import Object
from tests.cluster.aws import ZONES
from tests.cluster.objects import ARM64_TOLERATION, pod
from tests.scheduling.manifests import expression
from tests.scheduling.manifests import required as affinity

ARCHITECTURE, CAPACITY, ZONE = "kubernetes.io/arch", "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
TYPE = "node.kubernetes.io/instance-type"
SIZE, FAMILY, GENERATION, CPU = (
    f"karpenter.k8s.aws/instance-{name}" for name in ("size", "family", "generation", "cpu")
)
ANY = {"operator": "Exists"}
TOLERANT: Mapping[str, Any] = {"tolerations": [ARM64_TOLERATION]}
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """The name of a workload, and the size of each of its pods: CPU in millicores, memory in MiB."""

    name: str
    cpu: int
    memory: int

    def pods(self, count: int = 1, **spec: Any) -> list[Object]:
        """``count`` pods that nothing tells apart but their names."""
        made = [
            pod(f"{self.name}-{number}", cpu=f"{self.cpu}m", memory=f"{self.memory}Mi", **spec)
            for number in range(count)
        ]
        for each in made:
            each["metadata"]["labels"] = {"app": self.name}
        return made


@dataclass(frozen=True, slots=True)
class Trait:
    """One kind of workload.

    ``zonal``: zones matter; ``one_size``: only for pools whose types are all of one size; ``splits``: architectures
    matter as zones do, so that in a pool of both it comes alone; ``ample``: only for pools without a limit, because
    pods that are left over find whichever zones the others' nodes came up in.
    """

    name: str
    make: Callable[[Ask], list[Object]]
    zonal: bool = False
    one_size: bool = False
    splits: bool = False
    ample: bool = False


def required(*terms: Sequence[Object]) -> Spec:
    """Required node affinity: one of the terms."""
    return {"affinity": affinity(*terms)}


def preferred(*preferences: tuple[int, Object]) -> Spec:
    """Preferred node affinity, each preference with its weight."""
    written = [
        {"weight": weight, "preference": {"matchExpressions": [preference]}} for weight, preference in preferences
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": written}}}


def _is(key: str, *values: str) -> Object:
    return expression(key, "In", *values)


def _plain(**spec: Any) -> Callable[[Ask], list[Object]]:
    return lambda ask: ask.pods(**spec)


def _tolerant(count: int = 1, **spec: Any) -> Callable[[Ask], list[Object]]:
    return lambda ask: ask.pods(count, **TOLERANT, **spec)


def spread(name: str, key: str, action: str = "DoNotSchedule", **more: Any) -> Spec:
    """A topology spread of a workload's pods."""
    return {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": action, **_term(name, key), **more}]}


def about_pods(rule: str, name: str, key: str, *, preferred: bool = False) -> Spec:
    """Pod affinity (or anti-affinity, by ``rule``) to a workload's pods."""
    term = _term(name, key)
    if preferred:
        rules = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    else:
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {rule: rules}}


def _term(name: str, key: str) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}


def _spread(count: int, *where: str, **more: Any) -> Callable[[Ask], list[Object]]:
    return lambda ask: ask.pods(count, **TOLERANT, **spread(ask.name, *where, **more))


def _together(count: int, rule: str, key: str, *, preferred: bool = False) -> Callable[[Ask], list[Object]]:
    """A rule about the workload's own pods."""
    return lambda ask: ask.pods(count, **TOLERANT, **about_pods(rule, ask.name, key, preferred=preferred))


def _with_init(*, stays: bool) -> Callable[[Ask], list[Object]]:
    """A first container that is larger than the pod's own: over before it starts, or running beside it."""

    def make(ask: Ask) -> list[Object]:
        first: Object = {"name": "first", "image": "app", "resources": {"requests": {"cpu": "1900m"}}}
        first |= {"restartPolicy": "Always"} if stays else {}
        return ask.pods(**TOLERANT, initContainers=[first])

    return make


def _limited(**requests: str) -> Callable[[Ask], list[Object]]:
    """A pod with these requests beside its CPU and memory."""

    def make(ask: Ask) -> list[Object]:
        (made,) = ask.pods(**TOLERANT)
        resources = made["spec"]["containers"][0]["resources"]
        resources["requests"] |= {key.replace("_", "-"): amount for key, amount in requests.items()}
        return [made]

    return make


def _gpu(ask: Ask) -> list[Object]:
    (made,) = ask.pods(**TOLERANT)
    made["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    return [made]


def _agent(ask: Ask) -> list[Object]:
    """A DaemonSet on arm64 nodes, and a pod beside it."""
    template = ask.pods(nodeSelector={ARCHITECTURE: "arm64"}, tolerations=[ANY])[0]
    labels = {"app": f"{ask.name}-agent"}
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "400m", "memory": "300Mi"}}
    daemon: Object = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": f"{ask.name}-agent", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }
    return [daemon, *ask.pods(2, **TOLERANT)]


def _big(make: Callable[[Ask], list[Object]]) -> Callable[[Ask], list[Object]]:
    """Pods that fill a node of four vCPUs, so that those that come later find no room beside others."""
    return lambda ask: make(Ask(ask.name, 3600, ask.memory))


_ARM, _AMD = _is(ARCHITECTURE, "arm64"), _is(ARCHITECTURE, "amd64")
TRAITS = (
    Trait("tolerant", _tolerant()),
    Trait("plain", _plain()),
    Trait("tolerates-all", _plain(tolerations=[ANY])),
    Trait("tolerates-key", _plain(tolerations=[{"key": "arch", "operator": "Exists"}])),
    Trait("tolerates-other-value", _plain(tolerations=[{**ARM64_TOLERATION, "value": "amd64"}])),
    Trait("wants-arm", _tolerant(**required([_ARM]))),
    Trait("wants-arm-untolerated", _plain(**required([_ARM]))),
    Trait("wants-amd", _tolerant(**required([_AMD]))),
    Trait("not-arm", _tolerant(**required([expression(ARCHITECTURE, "NotIn", "arm64")]))),
    Trait("amd-or-arm", _tolerant(**required([_AMD], [_ARM]))),
    Trait("s390x-or-arm", _tolerant(**required([_is(ARCHITECTURE, "s390x")], [_ARM]))),
    Trait("either", _tolerant(**required([_is(ARCHITECTURE, "amd64", "arm64")]))),
    Trait("likes-amd", _tolerant(**preferred((1, _AMD)))),
    Trait("likes-arm-untolerated", _plain(**preferred((100, _ARM)))),
    Trait("likes-s390x-then-amd", _tolerant(**preferred((90, _is(ARCHITECTURE, "s390x")), (10, _AMD)))),
    Trait("likes-nothing-there", _tolerant(**preferred((50, _is("example.com/no", "such"))))),
    Trait("wants-on-demand", _tolerant(**required([_is(CAPACITY, "on-demand")]))),
    Trait("not-spot", _plain(**required([expression(CAPACITY, "NotIn", "spot")]))),
    Trait("likes-on-demand", _tolerant(**preferred((7, _is(CAPACITY, "on-demand"))))),
    Trait("arm-on-demand-or-amd-spot", _tolerant(
        **required([_ARM, _is(CAPACITY, "on-demand")], [_AMD, _is(CAPACITY, "spot")])
    )),
    Trait("selects-arm", _tolerant(nodeSelector={ARCHITECTURE: "arm64"})),
    Trait("selects-arm-by-old-label", _tolerant(nodeSelector={"beta.kubernetes.io/arch": "arm64"})),
    Trait("selects-region", _tolerant(nodeSelector={"topology.kubernetes.io/region": ZONES[0][:-1]})),
    Trait("selects-type", _tolerant(nodeSelector={TYPE: "m7i.xlarge"})),
    Trait("selects-size", _tolerant(nodeSelector={SIZE: "xlarge"})),
    Trait("wants-family", _tolerant(**required([_is(FAMILY, "m7g", "m7i")]))),
    Trait("wants-new", _tolerant(**required([expression(GENERATION, "Gt", "6")]))),
    Trait("wants-few-cpus", _tolerant(**required([expression(CPU, "Lt", "5")]))),
    Trait("wants-unknown-label", _tolerant(nodeSelector={"example.com/disk": "ssd"})),
    Trait("not-unknown-label", _tolerant(**required([expression("example.com/rack", "NotIn", "r1")]))),
    Trait("wants-label-to-exist", _plain(**required([expression(ARCHITECTURE, "Exists")]))),
    Trait("wants-label-absent", _plain(**required([expression(CAPACITY, "DoesNotExist")]))),
    Trait("wants-tier", _tolerant(nodeSelector={"example.com/tier": "batch"})),
    Trait("selects-zone", _tolerant(nodeSelector={ZONE: ZONES[1]}), zonal=True),
    Trait("not-zone", _tolerant(**required([expression(ZONE, "NotIn", ZONES[0])])), zonal=True),
    Trait("selects-zone-elsewhere", _tolerant(nodeSelector={ZONE: "us-east-1f"}), zonal=True),
    Trait("spread-zone", _spread(3, ZONE, "DoNotSchedule"), zonal=True, ample=True),
    Trait("spread-zone-softly", _spread(3, ZONE, "ScheduleAnyway"), zonal=True, ample=True),
    Trait("spread-zone-4-domains", _spread(3, ZONE, "DoNotSchedule", minDomains=4), zonal=True, ample=True),
    Trait("spread-host", _spread(3, HOST, "DoNotSchedule")),
    Trait("spread-host-softly", _spread(3, HOST, "ScheduleAnyway")),
    Trait("spread-architecture", _spread(2, ARCHITECTURE, "DoNotSchedule"), splits=True),
    Trait("spread-capacity", _spread(2, CAPACITY, "DoNotSchedule")),
    Trait("apart-by-host", _together(3, "podAntiAffinity", HOST)),
    Trait("apart-by-zone", _big(_together(2, "podAntiAffinity", ZONE)), zonal=True, one_size=True),
    Trait("likes-apart-by-host", _together(3, "podAntiAffinity", HOST, preferred=True)),
    Trait("likes-apart-by-architecture", _together(3, "podAntiAffinity", ARCHITECTURE, preferred=True), splits=True),
    Trait("likes-apart-by-zone", _together(3, "podAntiAffinity", ZONE, preferred=True), zonal=True),
    Trait("likes-together-by-host", _together(2, "podAffinity", HOST, preferred=True)),
    Trait("together-by-host", _together(2, "podAffinity", HOST)),
    Trait("together-by-zone", _together(2, "podAffinity", ZONE), zonal=True),
    Trait("init-container", _with_init(stays=False)),
    Trait("sidecar", _with_init(stays=True)),
    Trait("huge", lambda ask: Ask(ask.name, 300_000, ask.memory).pods(**TOLERANT)),
    Trait("huge-memory", lambda ask: Ask(ask.name, ask.cpu, 30_000).pods(**TOLERANT)),
    Trait("large-disk", _limited(ephemeral_storage="60Gi")),
    Trait("some-disk", _limited(ephemeral_storage="20Gi")),
    Trait("gpu", _gpu),
    Trait("beside-daemon", _agent),
)  # fmt: skip
"""Every kind of workload there is."""
