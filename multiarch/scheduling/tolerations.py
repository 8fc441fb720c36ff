"""Reading taints and tolerations, and the taint that keeps a pod off a node.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from multiarch.facts.architectures import names_architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import Toleration, TolerationOperator
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.manifests.values import Value


def find_untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> Taint | None:
    """Find the first taint that keeps a pod off a node: ``NoSchedule`` or ``NoExecute`` without a toleration for it.

    ``PreferNoSchedule`` is a preference and keeps no pod off.
    """
    pods_own = tuple(tolerations)
    for taint in taints:
        if taint.effect is Effect.PREFER_NO_SCHEDULE:
            continue
        if not any(toleration.tolerates(taint) for toleration in pods_own):
            return taint
    return None


def explain_untolerated(tolerations: Iterable[Toleration], taint: Taint) -> str:
    """Return that a pod does not tolerate ``taint``, and why its tolerations of that key do not count."""
    near = [each.unsupported for each in tolerations if each.unsupported and each.key == taint.key]
    return f"does not tolerate {taint}" + "".join(f" ({why})" for why in near)


def read_tolerations(value: Value) -> tuple[Toleration, ...]:
    """Read a list of tolerations, in its order. Raises ManifestError for what the API server rejects."""
    return tuple(_toleration_from(element) for element in value.items())


def _toleration_from(value: Value) -> Toleration:
    key, text = value["key"].text(), value["value"].text()
    written = value["operator"].text() or TolerationOperator.EQUAL
    if written not in set(TolerationOperator):
        raise value["operator"].error(
            f"{written!r} is not an operator of a toleration.", hint=f"Use {', '.join(TolerationOperator)}."
        )
    operator = TolerationOperator(written)
    if not key and operator is not TolerationOperator.EXISTS:
        raise value["operator"].error("without a key the operator must be Exists.")
    if operator is TolerationOperator.EXISTS and text:
        raise value["value"].error("Exists takes no value.")
    effect = value["effect"].text()
    if effect and effect not in set(Effect):
        raise value["effect"].error(f"{effect!r} is not a taint effect.", hint=f"Effects are {', '.join(Effect)}.")
    seconds = value["tolerationSeconds"]
    limit = None if seconds.missing else seconds.whole(0, least=-(2**63))
    if limit is not None and effect != Effect.NO_EXECUTE:
        raise value["effect"].error("tolerationSeconds needs the effect NoExecute.")
    return Toleration(key, operator, text, Effect(effect) if effect else None, limit)


def list_daemon_tolerations(pod_spec: Value) -> tuple[Toleration, ...]:
    """Return the tolerations that the DaemonSet controller adds to its pods.

    Source: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations
    """
    schedule = ["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"]
    if pod_spec["hostNetwork"].truth():
        schedule.append("network-unavailable")
    pairs = [("not-ready", Effect.NO_EXECUTE), ("unreachable", Effect.NO_EXECUTE)]
    pairs += [(name, Effect.NO_SCHEDULE) for name in schedule]
    return tuple(
        Toleration(f"node.kubernetes.io/{name}", TolerationOperator.EXISTS, effect=effect) for name, effect in pairs
    )


def read_taint(value: Value) -> Taint:
    """Return one of a Node's taints. Raises ManifestError for what the API server rejects."""
    effect = value["effect"].text()
    if effect not in set(Effect):
        raise value["effect"].error(f"{effect!r} is not a taint effect.", hint=f"Effects are {', '.join(Effect)}.")
    return Taint(value["key"].required_text(), value["value"].text(), Effect(effect))


def make_architecture_cell(taint: Taint, known: Collection[Taint] = ()) -> bool:
    """Return whether a taint stands for an architecture: it is a ``known`` one, or its key or its value names one.

    ``arch=arm64``, ``kubernetes.io/arch=amd64`` and ``example.com/graviton`` do.
    """
    if taint.key in ARCHITECTURE_LABELS or any(taint.key == each.key for each in known):
        return True
    return any(names_architecture(text) for text in (taint.key.rpartition("/")[2], taint.value))
