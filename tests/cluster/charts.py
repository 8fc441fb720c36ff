"""Charts of Karpenter and the node termination handler, as the pinned releases have them, rendered by the real Helm."""

from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from sandbox.cluster import helm
from sandbox.cluster.kube import Object
from tools import build

NAMESPACE = "kube-system"
_KARPENTER = ("karpenter", "github.com/aws/karpenter-provider-aws", "charts")
_FOLDERS = {
    "aws-node-termination-handler": (
        "node-termination-handler",
        "github.com/aws/aws-node-termination-handler",
        "config/helm",
    ),
    "karpenter": _KARPENTER,
    "karpenter-crd": _KARPENTER,
}
KNOWN = frozenset(_FOLDERS)
"""The charts that can be rendered."""


def folder(chart: str = "karpenter") -> Path:
    """The folder that holds a chart, in Go's module cache (read-only)."""
    pinned_in, module, path = _FOLDERS[chart]
    return build.module_dir(pinned_in, module) / path


def template(chart: str, values: str) -> list[Object]:
    """Return the objects of a chart in the chart's order; ``values`` is YAML.

    Raises:
        ClusterError: Helm rejects the chart or the values; the message says why.
        BuildError: Helm could not be built.
    """
    given = YAML(typ="safe", pure=True).load(values) or {}
    return helm.render_chart(folder(chart) / chart, given, namespace=NAMESPACE, name=chart)
