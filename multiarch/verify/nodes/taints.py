"""Taints that Nodes should have registered with, added afterwards by a patch that removes nothing.

A JSON patch first tests the Node's ``resourceVersion``, so that a change by somebody else in between makes it fail, and
then appends. Source: RFC 6902; Kubernetes API concepts, "Patch mechanism: JSON Patch".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from multiarch.facts.taints import Taint
from multiarch.observed.nodes import ObservedNode
from multiarch.verify.nodes.model import NodeReadings, NodeVerification
from multiarch.verify.nodes.planned import list_clusters


@dataclass(frozen=True, slots=True)
class TaintFix:
    """The taints to add to one Node, and the patch that does it."""

    node: ObservedNode
    taints: tuple[Taint, ...]

    @property
    def operations(self) -> list[dict[str, object]]:
        """The JSON patch."""
        operations: list[dict[str, object]] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": self.node.version}
        ]
        values = [_written(taint) for taint in self.taints]
        if not self.node.taints:
            return [*operations, {"op": "add", "path": "/spec/taints", "value": values}]
        operations += [{"op": "add", "path": "/spec/taints/-", "value": value} for value in values]
        return operations


def _written(taint: Taint) -> dict[str, str]:
    return {"key": taint.key, "effect": str(taint.effect)} | ({"value": taint.value} if taint.value else {})


def list_taint_fixes(result: NodeVerification) -> tuple[tuple[TaintFix, ...], tuple[str, ...]]:
    """List a fix for each Node without a taint of its group, in the rows' order; and the Nodes to leave alone.

    These are the ones that EC2 does not show to be of the cluster: groups of other clusters may have the same name.
    A Node that has another taint with the same key and effect has no fix: adding would replace it.
    """
    fixes: list[TaintFix] = []
    foreign: list[str] = []
    for row in result.rows:
        if row.node is None or not row.missing_taints:
            continue
        if row.node.instance and row.instance and list_clusters(row.instance.tags) == {result.cluster}:
            fixes.append(TaintFix(row.node, row.missing_taints))
        else:
            foreign.append(row.name)
    return tuple(fixes), tuple(foreign)


def with_fixes(sources: NodeReadings, fixes: Iterable[TaintFix]) -> NodeReadings:
    """Return the sources as they are after these fixes."""
    added = {fix.node.name: fix.taints for fix in fixes}
    nodes = tuple(
        replace(node, taints=tuple(sorted((*node.taints, *added.get(node.name, ()))))) for node in sources.nodes or ()
    )
    return replace(sources, nodes=nodes)
