"""Node selectors and node affinity: which nodes a pod may be on, and what excluded one.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from multiarch.manifests.selectors import Expression, Operator, read_expression
from multiarch.manifests.values import Labels, Value

_NAME_FIELD = "metadata.name"
HIGHEST_WEIGHT = 100
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Term:
    """Requirements that are all to be met: ``expressions`` by the node's labels, ``fields`` by its name.

    A term without any matches no node.
    """

    expressions: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()

    def unmet(self, labels: Mapping[str, str], node_name: str | None = None) -> Expression | None:
        """Return the first requirement that a node does not meet, ``None`` if it meets all.

        ``node_name`` is ``None`` for a node that does not exist yet: no pod can require it by name.
        Raises ValueError for an empty term, which has no requirement to name.
        """
        if self.empty:
            raise ValueError("an empty term matches no node")
        for expression in self.expressions:
            # With an invalid comparison no node meets the term; name it first.
            if expression.invalid:
                return expression
        for expression in self.expressions:
            if not expression.matches(labels):
                return expression
        name = {} if node_name is None else {_NAME_FIELD: node_name}
        return next((field for field in self.fields if not field.matches(name)), None)

    def matches(self, labels: Mapping[str, str], node_name: str | None = None) -> bool:
        """Say whether a node meets the term."""
        return not self.empty and self.unmet(labels, node_name) is None

    @property
    def empty(self) -> bool:
        """Whether nothing is required, which matches no node."""
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A preference: a node that meets ``term`` is worth ``weight`` (1 to 100) more."""

    weight: int
    term: Term


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """What a pod requires and prefers of its node, node selector included.

    ``selector`` pairs are all to be met, and one of the ``required`` terms; ``required`` is ``None`` where there is
    no such rule, and matches no node where it is an empty tuple.
    """

    selector: Labels = ()
    required: tuple[Term, ...] | None = None
    preferred: tuple[PreferredTerm, ...] = ()

    def allows(self, labels: Mapping[str, str], node_name: str | None = None) -> bool:
        """Say whether a node with ``labels`` meets all that is required. Preferences exclude nothing."""
        if self.selector and any(labels.get(key) != value for key, value in self.selector):
            return False
        return self.required is None or any(term.matches(labels, node_name) for term in self.required)

    def unmet_selector(self, labels: Mapping[str, str]) -> str | None:
        """Name the first pair of the node selector that a node lacks: ``nodeSelector requires disk=ssd``."""
        for key, value in self.selector:
            if labels.get(key) != value:
                return f"nodeSelector requires {key}={value}"
        return None

    def unmet_terms(self, labels: Mapping[str, str], node_name: str | None = None) -> str | None:
        """Name what each required term misses, ``None`` if one is met.

        For example ``architecture amd64 required by affinity term 2``; terms count from 1.
        """
        if self.required is None:
            return None
        if not self.required:
            return "the required node affinity has no terms, which matches no node"
        unmet = []
        for number, term in enumerate(self.required, start=1):
            if term.empty:
                unmet.append(f"affinity term {number} is empty, which matches no node")
                continue
            expression = term.unmet(labels, node_name)
            if expression is None:
                return None
            unmet.append(describe_required(expression, number))
        return ", and ".join(unmet)

    def score(self, labels: Mapping[str, str], node_name: str | None = None) -> int:
        """Add up the weights of the preferred terms that a node meets."""
        return sum(each.weight for each in self.preferred if each.term.matches(labels, node_name))


def describe_required(expression: Expression, number: int) -> str:
    """Say what a requirement of a required term requests: ``architecture amd64 required by affinity term 2``."""
    if expression.invalid:
        return f"affinity term {number} compares {expression.key} with {expression.values[0]!r}, which is not a number"
    if expression.key == _NAME_FIELD:
        what = "the node named" if expression.operator is Operator.IN else "a node not named"
        return f"{what} {expression.values[0]} required by affinity term {number}"
    return f"{expression} required by affinity term {number}"


def read_node_affinity(pod_spec: Value) -> NodeAffinity:
    """Read ``nodeSelector`` and ``affinity.nodeAffinity`` of a pod's spec.

    Raises ManifestError for what the API server rejects.
    """
    rules = pod_spec["affinity"]["nodeAffinity"]
    required = rules[REQUIRED]
    terms = required["nodeSelectorTerms"]
    if not required.missing and not list(terms.items()):
        raise terms.error("needs at least one term.")
    return NodeAffinity(
        selector=pod_spec["nodeSelector"].pairs(),
        required=None if required.missing else tuple(read_term(element) for element in terms.items()),
        preferred=tuple(_preferred_from(element) for element in rules[PREFERRED].items()),
    )


def read_term(value: Value) -> Term:
    """Read ``{matchExpressions, matchFields}``."""
    return Term(
        tuple(read_expression(element) for element in value["matchExpressions"].items()),
        tuple(_field_from(element) for element in value["matchFields"].items()),
    )


def _field_from(value: Value) -> Expression:
    field = read_expression(value, (Operator.IN, Operator.NOT_IN))
    if field.key != _NAME_FIELD:
        raise value["key"].error(
            f"{field.key!r} is not a field that can be matched.", hint=f"The only one is {_NAME_FIELD}."
        )
    if len(field.values) != 1:
        raise value["values"].error("needs exactly one node name.")
    return field


def _preferred_from(value: Value) -> PreferredTerm:
    return PreferredTerm(read_weight(value["weight"]), read_term(value["preference"]))


def read_weight(value: Value) -> int:
    """Read the weight of a preferred term."""
    weight = value.whole(0, least=1)
    if not 1 <= weight <= HIGHEST_WEIGHT:
        raise value.error(f"must be 1 to {HIGHEST_WEIGHT}.")
    return weight
