"""What other pods rule out: topology spread, pod affinity and anti-affinity, by zone, host or any other label.

The rules are kube-scheduler's filters PodTopologySpread and InterPodAffinity. What other pods make better or worse is
counted here too, for its scores of the same name:
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from multiarch.manifests.values import Labels
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, PlacementReason
from multiarch.scheduling.topology_counts import Matches, Peers, Spread, SpreadRule
from multiarch.scheduling.topology_rules import BoundTerm, SpreadConstraint

_Asker = tuple[PodSpec, str, Labels]


@dataclass(slots=True)
class _Rules:
    """One pod's rules with its labels and namespace filled in, and the counts that they read.

    ``spread`` holds, for each hard constraint, its number as written, its count, and whether it selects the pod;
    ``soft_spread`` the counts of the others, None for one that counts no pod. ``preferred`` are preferred terms with
    their weights, negative for anti-affinity; ``pulls`` are the terms by which the pod, once it has a node, attracts
    others there, or repels them. ``nodes`` counts the pods like it by node. ``counted_by`` are the counts that the pod
    itself is part of, of the first ``known`` counts of all.
    """

    peers: Peers
    nodes: Counter[str]
    spread: tuple[tuple[int, Spread, bool], ...]
    affinity: Matches | None
    selects_itself: bool
    anti_affinity: tuple[Matches, ...]
    bound_anti_affinity: tuple[BoundTerm, ...]
    soft_spread: tuple[Matches | None, ...]
    preferred: tuple[tuple[Matches, int], ...]
    pulls: tuple[tuple[BoundTerm, int], ...]
    counted_by: list[Spread | Matches] = field(default_factory=list)
    known: int = 0


class Placements:
    """Nodes and the pods on them, counted as pods' rules need it.

    A query takes about the same time with any number of pods.
    """

    def __init__(self) -> None:
        """Start without nodes. A domain is what a node that exists is in, and the node in question."""
        self._nodes: dict[str, Node] = {}
        self._peers: dict[Peers, Counter[str]] = {}
        self._rules: dict[_Asker, _Rules] = {}
        self._spreads: dict[SpreadRule, Spread] = {}
        self._matches: dict[tuple[BoundTerm, ...], Matches] = {}
        self._repelled: dict[BoundTerm, Counter[str]] = {}
        self._repelling: dict[Peers, list[BoundTerm]] = {}
        self._pulled: dict[BoundTerm, Counter[str]] = {}
        self._pulling: dict[Peers, list[BoundTerm]] = {}
        self._counts: list[Spread | Matches] = []
        self._trial: list[tuple[Node, _Rules | None, int]] | None = None

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Take back, at the end of the ``with``, all nodes and pods that were added in it. Trials can't be nested."""
        log: list[tuple[Node, _Rules | None, int]] = []
        self._trial = log
        try:
            yield
        finally:
            self._trial = None
            for node, rules, count in reversed(log):
                if rules is not None:
                    self._count(rules, node, -count)
                else:
                    del self._nodes[node.name]
                    for spread in self._spreads.values():
                        spread.remove(node)

    def add(self, node: Node) -> None:
        """Add a node without pods. Raises ValueError if another node has its name."""
        known = self._nodes.get(node.name)
        if known is None:
            self._nodes[node.name] = node
            for spread in self._spreads.values():
                spread.add(node)
            if self._trial is not None:
                self._trial.append((node, None, 0))
        elif known is not node and known != node:
            raise ValueError(f"two nodes are called {node.name}")

    def place(self, pod: Pod, node: Node, count: int = 1) -> None:
        """Put ``count`` pods like ``pod`` on ``node``, which is added if it is new. Whether they may is not checked.

        Pods that are being deleted are not counted.
        """
        self.add(node)
        self._change(pod, node, count)

    def remove(self, pod: Pod, node: Node) -> None:
        """Take ``pod`` off ``node``, on which it was placed."""
        self._change(pod, node, -1)

    def _change(self, pod: Pod, node: Node, count: int) -> None:
        if pod.terminating:
            return
        rules = self._rules_of(pod)
        self._count(rules, node, count)
        if self._trial is not None:
            self._trial.append((node, rules, count))

    def _count(self, rules: _Rules, node: Node, count: int) -> None:
        """Count pods with these rules on ``node``, or take them back with a negative ``count``."""
        if rules.known != len(self._counts):
            rules.counted_by += [each for each in self._counts[rules.known :] if each.selects(rules.peers)]
            rules.known = len(self._counts)
        rules.nodes[node.name] += count
        if not rules.nodes[node.name]:
            del rules.nodes[node.name]
        for each in rules.counted_by:
            each.place(node, count)
        for term in rules.bound_anti_affinity:
            self._repel(term, node, count)
        for term, weight in rules.pulls:
            self._pull(term, node, weight * count)

    def soft_counts(self, pod: Pod, node: Node) -> list[int]:
        """Count, for each soft spread constraint of ``pod``, the selected pods in the node's domain, in their order.

        0 where the node has none.
        """
        found = self._rules_of(pod).soft_spread
        return [0 if each is None else each.count(each.terms[0], node) for each in found]

    def attraction(self, pod: Pod, node: Node, *, by: str | None = None) -> int:
        """Return the sum of the weights by which pods near ``node`` attract ``pod``; repelling ones count negative.

        Both ``pod``'s preferred terms count and those of the other pods, and, with a weight of 1, the pod affinity
        that the other pods require. With ``by`` only terms of that topology key count.
        """
        rules = self._rules_of(pod)
        total = 0
        for matches, weight in rules.preferred:
            (term,) = matches.terms
            if by in (None, term.topology_key):
                total += weight * matches.count(term, node)
        if self._pulled:
            if rules.peers not in self._pulling:
                self._pulling[rules.peers] = [term for term in self._pulled if rules.peers.selected_by(term)]
            for term in self._pulling[rules.peers]:
                if by in (None, term.topology_key):
                    total += self._pulled[term][node.labels.get(term.topology_key, "")]
        return total

    def why_not(self, pod: Pod, node: Node) -> PlacementReason | None:
        """Return why other pods keep ``pod`` off ``node``, or ``None``. The node need not be added yet."""
        rules = self._rules_of(pod)
        for number, spread, selects_itself in rules.spread:
            text = spread.why_not(node, selects_itself=selects_itself)
            if text is not None:
                return PlacementReason(Cause.TOPOLOGY_SPREAD, f"topology spread constraint {number}: {text}")
        return self._unmet_affinity(rules, node) or self._kept_apart(rules, node) or self._kept_away(rules.peers, node)

    def spread_counts(self, pod: Pod, node: Node, topology_key: str) -> tuple[int, ...]:
        """Count the pods in the domain of ``node`` for each hard spread constraint of ``pod`` with this key."""
        rules = self._rules_of(pod).spread
        return tuple(spread.count(node) for _, spread, _ in rules if spread.rule.topology_key == topology_key)

    @staticmethod
    def _unmet_affinity(rules: _Rules, node: Node) -> PlacementReason | None:
        wanted = rules.affinity
        if wanted is None:
            return None
        for number, term in enumerate(wanted.terms, start=1):
            value = node.labels.get(term.topology_key)
            if value is None:
                return PlacementReason(
                    Cause.POD_AFFINITY, f"pod affinity term {number} needs a node label {term.topology_key}"
                )
        for number, term in enumerate(wanted.terms, start=1):
            # The first of pods that want to be together finds none there, and may go anywhere.
            if wanted.count(term, node) == 0 and not (wanted.none_at_all and rules.selects_itself):
                where = f"{term.topology_key}={node.labels[term.topology_key]}"
                text = f"pod affinity term {number}: no pod with {term.selector or 'any label'} in {where}"
                return PlacementReason(Cause.POD_AFFINITY, text)
        return None

    @staticmethod
    def _kept_apart(rules: _Rules, node: Node) -> PlacementReason | None:
        for number, matches in enumerate(rules.anti_affinity, start=1):
            (term,) = matches.terms
            if matches.count(term, node):
                where = f"{term.topology_key}={node.labels[term.topology_key]}"
                text = f"pod anti-affinity term {number}: a pod with {term.selector} is in {where} already"
                return PlacementReason(Cause.POD_ANTI_AFFINITY, text)
        return None

    def _kept_away(self, peers: Peers, node: Node) -> PlacementReason | None:
        """Return whether the anti-affinity of placed pods excludes this one."""
        if not self._repelled:
            return None
        if peers not in self._repelling:
            self._repelling[peers] = [term for term in self._repelled if peers.selected_by(term)]
        for term in self._repelling[peers]:
            value = node.labels.get(term.topology_key)
            if value is not None and self._repelled[term][value]:
                text = f"anti-affinity of a pod in {term.topology_key}={value} excludes pods with {term.selector}"
                return PlacementReason(Cause.POD_ANTI_AFFINITY, text)
        return None

    def _repel(self, term: BoundTerm, node: Node, count: int) -> None:
        if term not in self._repelled:
            self._repelling.clear()
        _add(self._repelled, term, node, count)

    def _pull(self, term: BoundTerm, node: Node, weight: int) -> None:
        if term not in self._pulled:
            self._pulling.clear()
        _add(self._pulled, term, node, weight)

    def _rules_of(self, pod: Pod) -> _Rules:
        asker = (pod.spec, pod.namespace, pod.labels)
        known = self._rules.get(asker)
        if known is None:
            known = self._rules[asker] = self._bind(pod)
        return known

    def _bind(self, pod: Pod) -> _Rules:
        labels = dict(pod.labels)
        peers = Peers(pod.namespace, pod.labels)
        affinity = tuple(term.bound(pod.namespace, labels) for term in pod.spec.pod_affinity)
        apart = tuple(term.bound(pod.namespace, labels) for term in pod.spec.pod_anti_affinity)
        weighted = [(each.term.bound(pod.namespace, labels), each.weight) for each in pod.spec.preferred_pod_affinity]
        weighted += [
            (each.term.bound(pod.namespace, labels), -each.weight) for each in pod.spec.preferred_pod_anti_affinity
        ]
        rules = [
            (number, SpreadRule.of(constraint, pod))
            for number, constraint in enumerate(pod.spec.spread, start=1)
            if constraint.hard
        ]
        return _Rules(
            peers=peers,
            nodes=self._peers.setdefault(peers, Counter()),
            spread=tuple((number, self._spread(rule), rule.selects(labels)) for number, rule in rules),
            affinity=self._matching(affinity) if affinity else None,
            selects_itself=all(peers.selected_by(term) for term in affinity),
            anti_affinity=tuple(self._matching((term,)) for term in apart),
            bound_anti_affinity=apart,
            soft_spread=tuple(self._soft(each, pod, labels) for each in pod.spec.spread if not each.hard),
            preferred=tuple((self._matching((term,)), weight) for term, weight in weighted),
            pulls=(*((term, 1) for term in affinity), *weighted),
        )

    def _soft(self, constraint: SpreadConstraint, pod: Pod, labels: Mapping[str, str]) -> Matches | None:
        selector = constraint.selector_for(labels)
        # As for hard constraints, an empty selector counts no pod.
        if selector is None or not selector.expressions:
            return None
        return self._matching((BoundTerm(constraint.topology_key, selector, (pod.namespace,), None),))

    def _spread(self, rule: SpreadRule) -> Spread:
        if rule not in self._spreads:
            spread = Spread(rule)
            for node in self._nodes.values():
                spread.add(node)
            self._spreads[rule] = spread
            self._count_all(spread)
        return self._spreads[rule]

    def _matching(self, terms: tuple[BoundTerm, ...]) -> Matches:
        if terms not in self._matches:
            matches = Matches(terms)
            self._matches[terms] = matches
            self._count_all(matches)
        return self._matches[terms]

    def _count_all(self, made: Spread | Matches) -> None:
        """Count the pods that were placed before ``made`` was."""
        for peers, nodes in self._peers.items():
            if made.selects(peers):
                for name, count in nodes.items():
                    made.place(self._nodes[name], count)
        self._counts.append(made)


def _add(amounts: dict[BoundTerm, Counter[str]], term: BoundTerm, node: Node, amount: int) -> None:
    """Add to what a term has in the node's domain, if the node has one."""
    here = amounts.setdefault(term, Counter())
    value = node.labels.get(term.topology_key)
    if value is not None:
        here[value] += amount
