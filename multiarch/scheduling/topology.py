"""What other pods rule out: topology spread, pod affinity and anti-affinity, by zone, host or any other label.

The rules are kube-scheduler's filters PodTopologySpread and InterPodAffinity:
https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/,
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from multiarch.manifests.values import Labels
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pod_spec import PodSpec
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.reasons import Cause, Reason
from multiarch.scheduling.topology_counts import Matches, Peers, Spread, SpreadRule
from multiarch.scheduling.topology_rules import BoundTerm

_Asker = tuple[PodSpec, str, Labels]


@dataclass(frozen=True, slots=True)
class _Rules:
    """One pod's rules with its labels and namespace filled in, and the counts that they read.

    ``spread`` holds, for each hard constraint, its number as written, its count, and whether it selects the pod.
    """

    spread: tuple[tuple[int, Spread, bool], ...]
    affinity: Matches | None
    selects_itself: bool
    anti_affinity: tuple[Matches, ...]
    bound_anti_affinity: tuple[BoundTerm, ...]


class Placements:
    """Nodes and the pods on them, counted as pods' rules need it.

    A query takes about the same time with any number of pods.
    """

    def __init__(self, prospects: Iterable[Node] = ()) -> None:
        """``prospects`` are nodes that could be made: their zones are domains to spread over already.

        Leave them out to judge as the scheduler does, and as the cluster autoscaler does with its template nodes:
        a domain is then what a node that exists is in, and the node that is asked about.
        """
        self._prospects = tuple(prospects)
        self._nodes: dict[str, Node] = {}
        self._peers: dict[Peers, Counter[str]] = {}
        self._rules: dict[_Asker, _Rules] = {}
        self._spreads: dict[SpreadRule, Spread] = {}
        self._matches: dict[tuple[BoundTerm, ...], Matches] = {}
        self._repelled: dict[BoundTerm, Counter[str]] = {}
        self._repelling: dict[Peers, list[BoundTerm]] = {}

    def copy(self) -> Placements:
        """The same nodes and pods, to be changed apart. Takes far less time than adding them again."""
        made = Placements(self._prospects)
        made._nodes = self._nodes.copy()
        made._peers = {peers: nodes.copy() for peers, nodes in self._peers.items()}
        made._spreads = {rule: spread.copy() for rule, spread in self._spreads.items()}
        made._matches = {terms: matches.copy() for terms, matches in self._matches.items()}
        made._repelled = {term: values.copy() for term, values in self._repelled.items()}
        made._repelling = self._repelling.copy()
        made._rules = {
            asker: _Rules(
                spread=tuple((number, made._spreads[each.rule], selects) for number, each, selects in rules.spread),
                affinity=rules.affinity and made._matches[rules.affinity.terms],
                selects_itself=rules.selects_itself,
                anti_affinity=tuple(made._matches[each.terms] for each in rules.anti_affinity),
                bound_anti_affinity=rules.bound_anti_affinity,
            )
            for asker, rules in self._rules.items()
        }
        return made

    def add(self, node: Node) -> None:
        """A node without pods comes up. Raises ValueError if another node has its name."""
        known = self._nodes.get(node.name)
        if known is None:
            self._nodes[node.name] = node
            for spread in self._spreads.values():
                spread.add(node)
        elif known is not node and known != node:
            raise ValueError(f"two nodes are called {node.name}")

    def place(self, pod: Pod, node: Node) -> None:
        """Put ``pod`` on ``node``, which is added if it is new. Whether the pod may be there is not asked.

        Pods on their way out are not counted.
        """
        self.add(node)
        self._count(pod, node, 1)

    def remove(self, pod: Pod, node: Node) -> None:
        """Take ``pod`` off ``node``, on which it was placed."""
        self._count(pod, node, -1)

    def _count(self, pod: Pod, node: Node, count: int) -> None:
        if pod.terminating:
            return
        peers = Peers(pod.namespace, pod.labels)
        self._peers.setdefault(peers, Counter())[node.name] += count
        for spread in self._spreads.values():
            spread.place(peers, node, count)
        for matches in self._matches.values():
            matches.place(peers, node, count)
        for term in self._rules_of(pod).bound_anti_affinity:
            self._repel(term, node, count)

    def why_not(self, pod: Pod, node: Node) -> Reason | None:
        """Why other pods keep ``pod`` off ``node``, or ``None``. The node need not be added yet."""
        rules = self._rules_of(pod)
        for number, spread, selects_itself in rules.spread:
            text = spread.why_not(node, selects_itself=selects_itself)
            if text is not None:
                return Reason(Cause.TOPOLOGY_SPREAD, f"topology spread constraint {number}: {text}")
        return self._unmet_affinity(rules, node) or self._kept_apart(rules, node) or self._kept_away(pod, node)

    @staticmethod
    def _unmet_affinity(rules: _Rules, node: Node) -> Reason | None:
        wanted = rules.affinity
        if wanted is None:
            return None
        for number, term in enumerate(wanted.terms, start=1):
            value = node.labels.get(term.topology_key)
            if value is None:
                return Reason(Cause.POD_AFFINITY, f"pod affinity term {number} needs a node label {term.topology_key}")
        for number, term in enumerate(wanted.terms, start=1):
            # The first of pods that want to be together finds none there, and may go anywhere.
            if wanted.count(term, node) == 0 and not (wanted.none_at_all and rules.selects_itself):
                where = f"{term.topology_key}={node.labels[term.topology_key]}"
                text = f"pod affinity term {number}: no pod with {term.selector or 'any label'} in {where}"
                return Reason(Cause.POD_AFFINITY, text)
        return None

    @staticmethod
    def _kept_apart(rules: _Rules, node: Node) -> Reason | None:
        for number, matches in enumerate(rules.anti_affinity, start=1):
            (term,) = matches.terms
            if matches.count(term, node):
                where = f"{term.topology_key}={node.labels[term.topology_key]}"
                text = f"pod anti-affinity term {number}: a pod with {term.selector} is in {where} already"
                return Reason(Cause.POD_ANTI_AFFINITY, text)
        return None

    def _kept_away(self, pod: Pod, node: Node) -> Reason | None:
        """Whether the anti-affinity of placed pods excludes this one."""
        if not self._repelled:
            return None
        peers = Peers(pod.namespace, pod.labels)
        if peers not in self._repelling:
            self._repelling[peers] = [term for term in self._repelled if peers.selected_by(term)]
        for term in self._repelling[peers]:
            value = node.labels.get(term.topology_key)
            if value is not None and self._repelled[term][value]:
                text = f"anti-affinity of a pod in {term.topology_key}={value} excludes pods with {term.selector}"
                return Reason(Cause.POD_ANTI_AFFINITY, text)
        return None

    def _repel(self, term: BoundTerm, node: Node, count: int) -> None:
        if term not in self._repelled:
            self._repelled[term] = Counter()
            self._repelling.clear()
        value = node.labels.get(term.topology_key)
        if value is not None:
            self._repelled[term][value] += count

    def _rules_of(self, pod: Pod) -> _Rules:
        asker = (pod.spec, pod.namespace, pod.labels)
        if asker not in self._rules:
            self._rules[asker] = self._bind(pod)
        return self._rules[asker]

    def _bind(self, pod: Pod) -> _Rules:
        labels = dict(pod.labels)
        peers = Peers(pod.namespace, pod.labels)
        affinity = tuple(term.bound(pod.namespace, labels) for term in pod.spec.pod_affinity)
        apart = tuple(term.bound(pod.namespace, labels) for term in pod.spec.pod_anti_affinity)
        rules = [
            (number, SpreadRule.of(constraint, pod))
            for number, constraint in enumerate(pod.spec.spread, start=1)
            if constraint.hard
        ]
        return _Rules(
            spread=tuple((number, self._spread(rule), rule.selects(labels)) for number, rule in rules),
            affinity=self._matching(affinity) if affinity else None,
            selects_itself=all(peers.selected_by(term) for term in affinity),
            anti_affinity=tuple(self._matching((term,)) for term in apart),
            bound_anti_affinity=apart,
        )

    def _spread(self, rule: SpreadRule) -> Spread:
        if rule not in self._spreads:
            spread = Spread(rule, self._prospects)
            for node in self._nodes.values():
                spread.add(node)
            for peers, nodes in self._peers.items():
                for name, count in nodes.items():
                    spread.place(peers, self._nodes[name], count)
            self._spreads[rule] = spread
        return self._spreads[rule]

    def _matching(self, terms: tuple[BoundTerm, ...]) -> Matches:
        if terms not in self._matches:
            matches = Matches(terms)
            for peers, nodes in self._peers.items():
                for name, count in nodes.items():
                    matches.place(peers, self._nodes[name], count)
            self._matches[terms] = matches
        return self._matches[terms]
