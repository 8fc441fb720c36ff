"""What happens to a DaemonSet's pods on nodes that are alike, with every reason, and whether that is a finding.

Taints, node selector and required affinity decide where the DaemonSet controller puts a pod
(https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/); room on the nodes does not.

It is a finding where the architecture makes the difference: the same nodes of the other architecture, without a taint
that stands for an architecture, would run the DaemonSet, and these do not, because of a label, a taint or an image.
What keeps a DaemonSet off both (``nodeSelector: {gpu: "true"}``, a taint ``dedicated=db``) does so on purpose,
and is not a finding. A pod that is put on a node and can't start there is always one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from multiarch.audit.daemonset_model import (
    NODE_NAME,
    Cell,
    CellCause,
    CellReason,
    Container,
    DaemonSet,
    DaemonSetOutcome,
    Profile,
)
from multiarch.facts import labels as keys
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.images.model import Verdict
from multiarch.manifests.selectors import ARCHITECTURE_LABELS, Expression, Operator
from multiarch.scheduling.affinity import Term
from multiarch.scheduling.tolerations import explain_untolerated, make_architecture_cell

_UNKNOWN = "which is unknown until its nodes exist"
_SET_ON_ALL = frozenset((NODE_NAME, keys.EKS_NODE_GROUP, keys.HOSTNAME, keys.REGION, keys.ZONE))
"""Labels that a node has if their value is unknown: nodes outside of managed groups are known to have no node group."""
_REQUIRED = {
    NODE_NAME: (CellCause.NODE_NAME, "nodeName requires the node"),
    keys.OPERATING_SYSTEM: (CellCause.OPERATING_SYSTEM, "os.name requires"),
}
"""What a pod requires besides selectors: the controller compares ``nodeName``, the kubelet ``os``."""
_OTHER = {Architecture.AMD64: Architecture.ARM64, Architecture.ARM64: Architecture.AMD64}


def list_required_labels(daemon: DaemonSet) -> set[str]:
    """Return the labels that its pods require of a node; :data:`NODE_NAME` for its name."""
    affinity = daemon.spec.affinity
    terms = affinity.required or ()
    in_terms = (each.key for term in terms for each in (*term.expressions, *term.fields))
    return {key for key, _ in affinity.selector}.union(in_terms, daemon.requires)


def judge_daemon_set(
    daemon: DaemonSet, profile: Profile, architecture: Architecture, known: Collection[Taint] = ()
) -> Cell:
    """Return what happens to ``daemon`` on nodes of ``profile``; ``known`` taints stand for an architecture."""
    nodes = _Nodes(daemon, known, dict(profile.labels), profile.unknown_labels, profile.taints)
    placed, images = nodes.placed(), _images(daemon.containers, architecture)
    reasons = (*nodes.untolerated(), *(nodes.placement() if placed is not True else ()), *images)
    if daemon.doubt:
        return Cell(DaemonSetOutcome.UNKNOWN, reasons=(CellReason(CellCause.CONFIGURATION, daemon.doubt), *reasons))
    if placed is False:
        other = _OTHER[architecture]
        there = nodes.counterpart(other).placed()
        outcome = DaemonSetOutcome.EXCLUDED if there is False else DaemonSetOutcome.KEPT_OFF
        starts = not any(each.of_architecture for each in _images(daemon.containers, other))
        return Cell(outcome, finding=there is not False and starts, reasons=reasons)
    if placed and any(each.of_architecture for each in images):
        return Cell(DaemonSetOutcome.FAILS, finding=True, reasons=reasons)
    return Cell(DaemonSetOutcome.RUNS if placed and not images else DaemonSetOutcome.UNKNOWN, reasons=reasons)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes to check the rules of a DaemonSet against. An answer is true, false, or ``None`` where it is unknown."""

    daemon: DaemonSet
    known: Collection[Taint]
    labels: Mapping[str, str]
    unknown_labels: frozenset[str]
    taints: tuple[Taint, ...]

    def counterpart(self, architecture: Architecture) -> _Nodes:
        """Return the same nodes of another architecture, without taints that stand for one."""
        labels = {key: str(architecture) if key in ARCHITECTURE_LABELS else value for key, value in self.labels.items()}
        taints = tuple(taint for taint in self.taints if not make_architecture_cell(taint, self.known))
        return replace(self, labels=labels, taints=taints)

    def placed(self) -> bool | None:
        """Return whether the DaemonSet has a pod on each of the nodes."""
        affinity = self.daemon.spec.affinity
        terms = True if affinity.required is None else _any(self.meet_term(term) for term in affinity.required)
        pairs = (*affinity.selector, *self.daemon.requires.items())
        return _all((not self.untolerated(), *(self.meet(_pair(*pair)) for pair in pairs), terms))

    def meet(self, expression: Expression) -> bool | None:
        if expression.key in self.unknown_labels and not expression.invalid:
            is_there = {Operator.EXISTS: True, Operator.DOES_NOT_EXIST: False}
            return is_there.get(expression.operator) if expression.key in _SET_ON_ALL else None
        return expression.matches(self.labels)

    def meet_term(self, term: Term) -> bool | None:
        return False if term.empty else _all(self.meet(each) for each in (*term.expressions, *term.fields))

    def tolerates(self, taint: Taint) -> bool:
        """Return whether a pod may stay. One that tolerates NoExecute for seconds is created and evicted forever."""
        return any(
            each.tolerates(taint) and (taint.effect is not Effect.NO_EXECUTE or each.seconds is None)
            for each in self.daemon.spec.tolerations
        )

    def hard_taints(self) -> Iterator[Taint]:
        return (taint for taint in self.taints if taint.effect is not Effect.PREFER_NO_SCHEDULE)

    def untolerated(self) -> list[CellReason]:
        tolerations = self.daemon.spec.tolerations
        found = []
        for taint in self.hard_taints():
            if self.tolerates(taint):
                continue
            brief = next((each for each in tolerations if each.tolerates(taint)), None)
            text = explain_untolerated(tolerations, taint)
            if brief is not None:
                text = f"tolerates {taint} for {brief.seconds} seconds only, then is evicted"
            found.append(CellReason(CellCause.TAINT, text, make_architecture_cell(taint, self.known)))
        return found

    def placement(self) -> list[CellReason]:
        """Return every rule on labels that is not met, or may not be."""
        affinity, before = self.daemon.spec.affinity, self._tolerated()
        found = []
        for key, value in self.daemon.requires.items():
            if (met := self.meet(_pair(key, value))) is not True:
                cause, text = _REQUIRED[key]
                found.append(CellReason(cause, _said(f"{text} {value}", met, "")))
        for key, value in affinity.selector:
            met = self.meet(_pair(key, value))
            if met is not True:
                own = met is False and key in ARCHITECTURE_LABELS
                text = f"nodeSelector requires {key}={value}"
                found.append(CellReason(CellCause.NODE_SELECTOR, _said(text, met, before if own else ""), own))
        if affinity.required is None or _any(self.meet_term(term) for term in affinity.required) is True:
            return found
        if not affinity.required:
            text = "the required node affinity has no terms, which matches no node"
            return [*found, CellReason(CellCause.NODE_AFFINITY, text)]
        return found + [self._of_term(number, term, before) for number, term in enumerate(affinity.required, start=1)]

    def _tolerated(self) -> str:
        """Return what to put before a rule on labels if the taint that stands for the architecture is tolerated."""
        taints = [each for each in self.hard_taints() if make_architecture_cell(each, self.known)]
        tolerated = [str(each) for each in taints if self.tolerates(each)]
        return f"has the toleration for {' and '.join(tolerated)}, but " if tolerated else ""

    def _of_term(self, number: int, term: Term, before: str) -> CellReason:
        if term.empty:
            return CellReason(CellCause.NODE_AFFINITY, f"affinity term {number} is empty, which matches no node")
        met = self.meet_term(term)
        unmet = [each for each in (*term.expressions, *term.fields) if self.meet(each) is met]
        own = met is False and all(each.key in ARCHITECTURE_LABELS and not each.invalid for each in unmet)
        text = f"affinity term {number} requires {' and '.join(map(_written, unmet))}"
        return CellReason(CellCause.NODE_AFFINITY, _said(text, met, before if own else ""), own)


def _all(answers: Iterable[bool | None]) -> bool | None:
    found = set(answers)
    return False if False in found else None if None in found else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    found = set(answers)
    return True if True in found else None if None in found else False


def _pair(key: str, value: str) -> Expression:
    return Expression(key, Operator.IN, (value,))


def _said(text: str, met: bool | None, before: str) -> str:  # noqa: FBT001 # one of three answers
    return f"{text}, {_UNKNOWN}" if met is None else f"{before}{text}"


def _written(expression: Expression) -> str:
    """Write an expression as in the manifest: ``kubernetes.io/arch=amd64``."""
    if expression.invalid:
        return f"{expression.key} compared with {expression.values[0]!r}, which is not a number"
    if expression.operator in (Operator.IN, Operator.NOT_IN) and len(expression.values) == 1:
        return f"{expression.key}{'=' if expression.operator is Operator.IN else '!='}{expression.values[0]}"
    return str(expression)


def _images(containers: Iterable[Container], architecture: Architecture) -> list[CellReason]:
    """The images that are not known to run on ``architecture``: those that do not are reasons of architecture."""
    found = []
    for each in containers:
        judged = each.judged(architecture)
        if judged.verdict is not Verdict.SUPPORTED:
            text = f"{judged.verdict} image {each.image} ({each.role} {each.name}): {judged.reason}"
            found.append(CellReason(CellCause.IMAGE, text, judged.verdict is Verdict.UNSUPPORTED))
    return found
