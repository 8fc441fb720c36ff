"""Counts of placed pods by zone, host or any other label, kept up to date as pods are placed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from multiarch.facts.tolerations import Toleration
from multiarch.manifests.selectors import LabelSelector
from multiarch.manifests.values import Labels
from multiarch.scheduling.affinity import NodeAffinity
from multiarch.scheduling.nodes import Node
from multiarch.scheduling.pods import Pod
from multiarch.scheduling.tolerations import find_untolerated
from multiarch.scheduling.topology_rules import BoundTerm, SpreadConstraint


@dataclass(frozen=True, slots=True)
class Peers:
    """Pods that selectors treat alike: one namespace, the same labels."""

    namespace: str
    labels: Labels

    def selected_by(self, term: BoundTerm) -> bool:
        """Return whether ``term`` selects these pods."""
        return term.selects(self.namespace, dict(self.labels))


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """A hard spread constraint with its pod's namespace, labels, and the nodes that the pod may count filled in.

    ``keys`` are the topology keys of all the pod's hard constraints: a node without one of them is not counted.
    ``affinity`` and ``tolerations`` are ``None`` where nodes that they exclude are counted all the same. ``selector``
    ``None`` selects nothing.
    """

    namespace: str
    topology_key: str
    selector: LabelSelector | None
    max_skew: int
    min_domains: int
    keys: tuple[str, ...]
    affinity: NodeAffinity | None
    tolerations: tuple[Toleration, ...] | None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash once: rules are keys of caches."""
        parts = (self.namespace, self.topology_key, self.selector, self.max_skew, self.min_domains, self.keys)
        object.__setattr__(self, "_hash", hash((*parts, self.affinity, self.tolerations)))

    def __hash__(self) -> int:
        """The hash of all parts."""
        return self._hash

    @classmethod
    def of(cls, constraint: SpreadConstraint, pod: Pod) -> SpreadRule:
        """Return the rule that ``constraint`` is for ``pod``."""
        return cls(
            namespace=pod.namespace,
            topology_key=constraint.topology_key,
            selector=constraint.selector_for(dict(pod.labels)),
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            keys=tuple(sorted({each.topology_key for each in pod.spec.spread if each.hard})),
            affinity=pod.spec.affinity if constraint.honor_affinity else None,
            tolerations=pod.spec.tolerations if constraint.honor_taints else None,
        )

    def selects(self, labels: dict[str, str]) -> bool:
        """Return whether a pod of the namespace is one of those to spread."""
        return self.selector is not None and self.selector.matches(labels)

    def counts(self, node: Node) -> bool:
        """Return whether pods on ``node`` count, and its domain with them."""
        # Requested every node and rule: a plain loop takes half the time of a generator.
        for key in self.keys:
            if key not in node.labels:
                return False
        if self.affinity is not None and not self.affinity.allows(node.labels, node.name):
            return False
        return self.tolerations is None or find_untolerated(self.tolerations, node.taints) is None


class Spread:
    """How many pods of one rule are in each domain."""

    def __init__(self, rule: SpreadRule) -> None:
        """Count no pods."""
        self.rule = rule
        self._counted: dict[str, bool] = {}
        self._domains: dict[str, int] = {}
        self._nodes: Counter[str] = Counter()
        self._having: Counter[int] = Counter()

    def add(self, node: Node) -> None:
        """Add a node; one that is known already changes nothing."""
        if node.name not in self._counted:
            self._counted[node.name] = self.rule.counts(node)
            if self._counted[node.name]:
                self._open(node.labels[self.rule.topology_key])

    def remove(self, node: Node) -> None:
        """Take back an added node, which has no pods."""
        if self._counted.pop(node.name):
            domain = node.labels[self.rule.topology_key]
            self._nodes[domain] -= 1
            if not self._nodes[domain]:
                del self._domains[domain]
                self._move(0, None)

    def place(self, node: Node, count: int) -> None:
        """Count pods that the rule selects on a node that was added; a negative ``count`` takes them back."""
        if self._counted[node.name]:
            domain = node.labels[self.rule.topology_key]
            before = self._domains[domain]
            self._domains[domain] = before + count
            self._move(before, before + count)

    def count(self, node: Node) -> int:
        """Return how many pods are in the domain of ``node``."""
        return self._domains.get(node.labels.get(self.rule.topology_key, ""), 0)

    def why_not(self, node: Node, *, selects_itself: bool) -> str | None:
        """Return why a pod of this rule can't be on ``node``, or ``None``."""
        rule = self.rule
        domain = node.labels.get(rule.topology_key)
        if domain is None:
            return f"the node has no label {rule.topology_key}"
        known = domain in self._domains
        # A node that is not added yet is a domain too, an empty one.
        new = not known and rule.counts(node)
        if not self._having and not new:
            return None
        domains = len(self._domains) + new
        least = 0 if new or domains < rule.min_domains else min(self._having)
        there = self._domains.get(domain, 0) + selects_itself
        if there - least <= rule.max_skew:
            return None
        why = f" ({domains} of at least {rule.min_domains} domains)" if domains < rule.min_domains else ""
        where = f"{rule.topology_key}={domain}"
        return f"{where} would have {there} pods, the emptiest domain {least}{why}; maxSkew is {rule.max_skew}"

    def _open(self, domain: str) -> None:
        self._nodes[domain] += 1
        if domain not in self._domains:
            self._domains[domain] = 0
            self._move(None, 0)

    def _move(self, before: int | None, after: int | None) -> None:
        """A domain with ``before`` pods has ``after``; None is a domain that does not exist."""
        if after is not None:
            self._having[after] += 1
        if before is not None:
            self._having[before] -= 1
            if not self._having[before]:
                del self._having[before]

    def selects(self, peers: Peers) -> bool:
        """Return whether the rule counts these pods."""
        # As in the scheduler, an empty selector counts no pod, though it selects the pod itself.
        selector = self.rule.selector
        counted = peers.namespace == self.rule.namespace and bool(selector and selector.expressions)
        return counted and self.rule.selects(dict(peers.labels))


class Matches:
    """How many pods that all of some terms select are in each of the terms' domains."""

    def __init__(self, terms: tuple[BoundTerm, ...]) -> None:
        """Count no pods."""
        self.terms = terms
        self._keys = sorted({term.topology_key for term in terms})
        self._counts: Counter[tuple[str, str]] = Counter()

    @property
    def none_at_all(self) -> bool:
        """Whether no such pod exists."""
        return not self._counts

    def count(self, term: BoundTerm, node: Node) -> int:
        """Return how many there are in the domain of ``node`` by the topology key of ``term``."""
        value = node.labels.get(term.topology_key)
        return 0 if value is None else self._counts[term.topology_key, value]

    def place(self, node: Node, count: int) -> None:
        """Count pods that the terms select on a node; a negative ``count`` takes them back."""
        for key in self._keys:
            value = node.labels.get(key)
            if value is not None:
                self._counts[key, value] += count
                if not self._counts[key, value]:
                    del self._counts[key, value]

    def selects(self, peers: Peers) -> bool:
        """Return whether all terms select these pods."""
        return all(peers.selected_by(term) for term in self.terms)
