"""Taints that Nodes should have registered with, added afterwards by a patch that removes nothing.

A JSON patch first tests the Node's ``resourceVersion``, so that a change by somebody else in between refuses it, and
then appends. Source: RFC 6902; Kubernetes API concepts, "Patch mechanism: JSON Patch".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from multiarch.facts.taints import Taint
from multiarch.verify.nodes.model import KubernetesNode, NodeRow, Sources


@dataclass(frozen=True, slots=True)
class TaintFix:
    """The taints to add to one Node, and the patch that does it."""

    node: KubernetesNode
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


def taint_fixes(rows: Iterable[NodeRow]) -> tuple[TaintFix, ...]:
    """One for each Node without a taint of its group, in the rows' order.

    A Node that has another taint with the same key and effect is left alone: adding would replace it.
    """
    return tuple(TaintFix(row.node, row.missing_taints) for row in rows if row.node and row.missing_taints)


def with_fixes(sources: Sources, fixes: Iterable[TaintFix]) -> Sources:
    """The sources as they are after these fixes."""
    added = {fix.node.name: fix.taints for fix in fixes}
    nodes = tuple(
        replace(node, taints=tuple(sorted((*node.taints, *added.get(node.name, ()))))) for node in sources.nodes or ()
    )
    return replace(sources, nodes=nodes)
