"""Changing which nodes a pod may be on: tolerate a taint, require or prefer an architecture, spread over zones.

Required node selector terms are alternatives, the expressions in one belong together
(https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity). So a requirement goes into
every term: as a term of its own it would let the pod onto more nodes, not fewer. Nothing is ever taken away or
replaced: what is there is kept, known or not, and doing the same twice changes nothing the second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from multiarch.errors import KeyPath, MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.facts.labels import ARCHITECTURE, ZONE
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import make_toleration
from multiarch.manifests.selectors import Expression, Operator
from multiarch.manifests.values import Value
from multiarch.scheduling.affinity import HIGHEST_WEIGHT, PREFERRED, REQUIRED, NodeAffinity, Term, read_node_affinity
from multiarch.scheduling.architectures import explain_exclusion, wrap_pod_spec
from multiarch.scheduling.tolerations import read_tolerations
from multiarch.scheduling.topology_rules import read_spread
from multiarch.yaml_text.additions import APPEND, Addition, add_values

__all__ = ["ContradictionError", "SchedulingChange", "Transformed", "WhenUnsatisfiable", "transform_pod_spec"]

_TOLERATIONS = ("tolerations",)
_SPREAD = ("topologySpreadConstraints",)
_NODE_AFFINITY = ("affinity", "nodeAffinity")
_TERMS = (*_NODE_AFFINITY, REQUIRED, "nodeSelectorTerms")
_PREFERRED = (*_NODE_AFFINITY, PREFERRED)


class ContradictionError(MultiarchError):
    """An architecture is requested that the pod's own rules exclude.

    ``architecture`` is the requested one, ``reason`` what excludes it, ``path`` where the pod's spec stands.
    """

    def __init__(self, value: Value, verb: str, architecture: Architecture, reason: str) -> None:
        """``verb`` is what was to be done: ``require`` or ``prefer``."""
        title = ", ".join(part for part in (f"document {value.reference.document}", value.reference.title) if part)
        super().__init__(
            f"{title}: {value.path}: can't {verb} architecture {architecture}: {reason}.",
            hint="Change that rule, or omit this workload.",
        )
        self.architecture = architecture
        self.reason = reason
        self.path = value.path


class WhenUnsatisfiable(StrEnum):
    """What a topology spread constraint does where it can't be met: it is a preference, or keeps the pod pending."""

    SCHEDULE_ANYWAY = "ScheduleAnyway"
    DO_NOT_SCHEDULE = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class SchedulingChange:
    """What is to be changed.

    ``require`` and ``prefer`` are mutually exclusive; ``weight`` (1 to 100) is the preference's.
    ``tolerate_on`` is the architecture whose nodes have the tolerated taints: a pod that can't be on them all the same
    gets a note. ``spread_zones`` spreads the pods of a controller with a selector evenly over zones.
    ``only_effective`` omits a preference that changes nothing. Without it what was declared before stays as it is.
    """

    require: Architecture | None = None
    prefer: Architecture | None = None
    tolerate: tuple[Taint, ...] = ()
    weight: int = HIGHEST_WEIGHT
    tolerate_on: Architecture | None = None
    spread_zones: WhenUnsatisfiable | None = None
    only_effective: bool = False


@dataclass(frozen=True, slots=True)
class Transformed:
    """A changed pod spec. The one that was given is as it was; parts that did not change are shared with it.

    ``additions`` are in the order in which they have to be made; ``done`` describes them, one clause each; ``notes``
    say what was there already, or works against the change.
    """

    spec: Mapping[str, object]
    additions: tuple[Addition, ...] = ()
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was added."""
        return bool(self.additions)


@dataclass(frozen=True, slots=True)
class _Step:
    additions: tuple[Addition, ...] = ()
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def transform_pod_spec(pod_spec: Mapping[str, object] | Value, change: SchedulingChange) -> Transformed:
    """Change a pod's ``spec`` as little as the change needs.

    Raises ManifestError for a spec that the API server rejects, ContradictionError where an architecture is required
    or preferred that the pod can't be on.
    """
    value = wrap_pod_spec(pod_spec)
    if value.missing:
        raise value.error("is missing.")
    affinity = read_node_affinity(value)
    steps = [_tolerate(value, change.tolerate), _useless(value, affinity, change.tolerate_on)]
    if change.require:
        steps.append(_require(value, affinity, change.require))
    if change.prefer:
        steps.append(_prefer(value, affinity, change.prefer, change))
    if change.spread_zones:
        steps.append(_spread(value, change.spread_zones))
    additions = tuple(addition for step in steps for addition in step.additions)
    return Transformed(
        spec=add_values(value.mapping(), additions),
        additions=additions,
        done=tuple(text for step in steps for text in step.done),
        notes=tuple(text for step in steps for text in step.notes),
    )


def explain_feature_flags(api_version: object, keys: Iterable[str]) -> Iterator[str]:
    """Yield a clause where an object's API rejects ``keys`` in its pod spec unless flags are on, as Knative Serving's.

    Source: https://knative.dev/docs/serving/configuration/feature-flags/
    """
    if isinstance(api_version, str) and api_version.startswith("serving.knative.dev/"):
        flags = [f"kubernetes.podspec-{key.lower()}" for key in sorted(set(keys))]
        if flags:
            yield (
                f"Knative rejects it unless {' and '.join(flags)} {'is' if len(flags) == 1 else 'are'} enabled in "
                "ConfigMap knative-serving/config-features"
            )


def build_requirement(architecture: Architecture) -> dict[str, object]:
    """Return the expression, as manifests have it, that a node of ``architecture`` meets and no other."""
    return {"key": ARCHITECTURE, "operator": str(Operator.IN), "values": [str(architecture)]}


def _tolerate(spec: Value, taints: tuple[Taint, ...]) -> _Step:
    there = read_tolerations(spec["tolerations"])
    missing: list[Taint] = []
    notes: list[str] = []
    for taint in dict.fromkeys(taints):
        covering = next((each for each in there if each.tolerates(taint)), None)
        if covering is None:
            missing.append(taint)
        elif taint.effect is Effect.NO_EXECUTE and covering.seconds is not None:
            notes.append(f"tolerates {taint} for {covering.seconds} seconds only, by the toleration {covering}")
        else:
            notes.append(f"tolerates {taint} already, by the toleration {covering}")
    wanted = [make_toleration(taint).as_dict() for taint in missing]
    added = tuple(_appended(spec, _TOLERATIONS, wanted)) if wanted else ()
    return _Step(added, tuple(f"tolerates {taint}" for taint in missing), tuple(notes))


def _useless(spec: Value, affinity: NodeAffinity, architecture: Architecture | None) -> _Step:
    """Say why a toleration does not let the pod onto the nodes that it is for, if so."""
    reason = architecture and explain_exclusion(spec, affinity, architecture)
    return _Step(notes=(f"still can't use {architecture} nodes: {reason}",)) if reason else _Step()


def _require(spec: Value, affinity: NodeAffinity, architecture: Architecture) -> _Step:
    reason = explain_exclusion(spec, affinity, architecture)
    if reason is not None:
        raise ContradictionError(spec, "require", architecture, reason)
    if there := _find_requirement(affinity, architecture):
        return _Step(notes=(there,))
    if affinity.required is None:
        additions = tuple(_appended(spec, _TERMS, [{"matchExpressions": [build_requirement(architecture)]}]))
        return _Step(additions, (f"requires architecture {architecture}",))
    open_terms = [
        number for number, term in enumerate(affinity.required) if not term.empty and not _settled(term, architecture)
    ]
    additions = tuple(
        addition
        for number in open_terms
        for addition in _appended(spec, (*_TERMS, number, "matchExpressions"), [build_requirement(architecture)])
    )
    numbers = ", ".join(str(number + 1) for number in open_terms)
    terms = "term" if len(open_terms) == 1 else "terms"
    return _Step(additions, (f"requires architecture {architecture} in affinity {terms} {numbers}",))


def _find_requirement(affinity: NodeAffinity, architecture: Architecture) -> str:
    """Return what requires the architecture already, as a clause; empty if nothing does."""
    if dict(affinity.selector).get(ARCHITECTURE) == architecture:
        return f"requires architecture {architecture} already, by nodeSelector"
    if affinity.required and all(term.empty or _settled(term, architecture) for term in affinity.required):
        return f"requires architecture {architecture} already, by node affinity"
    return ""


def _settled(term: Term, architecture: Architecture) -> bool:
    """Return whether a term already excludes nodes of other architectures, so that a requirement would add nothing.

    Only the stable label counts: a node may lack the old one, or be said to have another.
    """
    about = [each for each in term.expressions if each.key == ARCHITECTURE]
    named = next((each for each in about if each.operator is Operator.IN), None)
    if named is None:
        return False
    met = {value for value in named.values if all(each.matches({ARCHITECTURE: value}) for each in about)}
    return met <= {str(architecture)}


def _prefer(spec: Value, affinity: NodeAffinity, architecture: Architecture, change: SchedulingChange) -> _Step:
    weight, reason = change.weight, explain_exclusion(spec, affinity, architecture)
    if reason is not None:
        raise ContradictionError(spec, "prefer", architecture, reason)
    daemon = "runs on every node that it can use" if spec.reference.kind == "DaemonSet" else ""
    if change.only_effective and (why := daemon or _find_requirement(affinity, architecture)):
        return _Step(notes=(f"{why}: no preference is needed",))
    notes = tuple(_rivals(affinity, architecture, weight))
    same = Term((Expression(ARCHITECTURE, Operator.IN, (str(architecture),)),))
    there = next((each for each in affinity.preferred if each.term == same), None)
    if there is not None:
        already = f"prefers architecture {architecture} already, with weight {there.weight}"
        return _Step(notes=(already, *notes))
    wanted = {"weight": weight, "preference": {"matchExpressions": [build_requirement(architecture)]}}
    done = f"prefers architecture {architecture} with weight {weight}"
    return _Step(tuple(_appended(spec, _PREFERRED, [wanted])), (done,), notes)


def _rivals(affinity: NodeAffinity, architecture: Architecture, weight: int) -> Iterator[str]:
    """Yield preferences for another architecture that weigh as much or more."""
    for other in sorted(set(Architecture) - {architecture}):
        same = Term((Expression(ARCHITECTURE, Operator.IN, (str(other),)),))
        for each in affinity.preferred:
            if each.term == same and each.weight >= weight:
                yield f"also prefers architecture {other} with weight {each.weight}, which is not lower"


def _spread(spec: Value, when: WhenUnsatisfiable) -> _Step:
    """Add a topology spread constraint on zones for the pods of the spec's controller.

    Source: Kubernetes, "Pod Topology Spread Constraints"; its filter does not know which zone a volume is in.
    """
    template = spec.parent
    owner = template.parent if template is not None and template.key == "template" else None
    selector = owner["selector"].mapping() if owner is not None else {}
    if owner is None or not selector or spec.reference.kind == "DaemonSet":
        return _Step(notes=("not spread over zones: no controller with a selector and replicas creates its pods",))
    there = next((each for each in read_spread(spec["topologySpreadConstraints"]) if each.topology_key == ZONE), None)
    if there is not None:
        written = WhenUnsatisfiable.DO_NOT_SCHEDULE if there.hard else WhenUnsatisfiable.SCHEDULE_ANYWAY
        return _Step(notes=(f"spreads over zones already, with whenUnsatisfiable {written}",))
    wanted = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": str(when), "labelSelector": selector}
    claims = [*owner["volumeClaimTemplates"].items()]
    claims += [each for each in spec["volumes"].items() if not each["persistentVolumeClaim"].missing]
    notes: tuple[str, ...] = ()
    if claims:
        late = (
            ", where this constraint can keep their pods pending" if when is WhenUnsatisfiable.DO_NOT_SCHEDULE else ""
        )
        notes = (f"volumes that exist stay in their zone{late}: it helps new replicas alone",)
    return _Step(tuple(_appended(spec, _SPREAD, [wanted])), (f"spreads over zones ({when})",), notes)


def _appended(spec: Value, path: KeyPath, items: Sequence[Mapping[str, object]]) -> Iterator[Addition]:
    """Append to the list at ``path``; missing parents are made by the same addition."""
    here = spec.raw
    for depth, key in enumerate(path):
        here = _inner(here, key)
        if here is None:
            value: object = list(items)
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            yield Addition(path[: depth + 1], value)
            return
    yield from (Addition((*path, APPEND), item) for item in items)


def _inner(value: object, key: str | int) -> object:
    if isinstance(value, Mapping):
        return value.get(key)
    return value[key] if isinstance(value, list | tuple) and isinstance(key, int) else None
