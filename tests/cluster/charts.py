"""Charts of Karpenter and the node termination handler, as the pinned releases have them, rendered by the real Helm."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

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


def template(chart: str, values: str, scratch: Path) -> list[Object]:
    """Return the objects of a chart in the chart's order; ``values`` is YAML, ``scratch`` a folder for Helm's files.

    Raises:
        CalledProcessError: Helm refuses the chart or the values; ``stderr`` says why.
        BuildError: Helm could not be built.
    """
    file = scratch / f"{chart}.yaml"
    file.write_text(values, encoding="utf-8")
    # A home of its own: no repository or plugin of whoever runs the test has a say.
    homes = {f"HELM_{name}_HOME": str(scratch / name) for name in ("CACHE", "CONFIG", "DATA")}
    command = [str(build.ensure("helm")), "template", chart, str(folder(chart) / chart), "--namespace", NAMESPACE]
    command += ["--values", str(file)]
    printed = subprocess.run(command, env=os.environ | homes, capture_output=True, text=True, check=True).stdout
    return [each for each in YAML(typ="safe", pure=True).load_all(io.StringIO(printed)) if each]
