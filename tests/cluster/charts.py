"""Karpenter's charts as the pinned release has them, rendered by the real Helm."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

from ruamel.yaml import YAML

from tests.cluster.kube import Object
from tools import build

MODULE = ("karpenter", "github.com/aws/karpenter-provider-aws")
NAMESPACE = "kube-system"


def folder() -> Path:
    """The folder of the charts ``karpenter`` and ``karpenter-crd``, in Go's module cache (read-only)."""
    return build.module_dir(*MODULE) / "charts"


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
    command = [str(build.ensure("helm")), "template", chart, str(folder() / chart), "--namespace", NAMESPACE]
    command += ["--values", str(file)]
    printed = subprocess.run(command, env=os.environ | homes, capture_output=True, text=True, check=True).stdout
    return [each for each in YAML(typ="safe", pure=True).load_all(io.StringIO(printed)) if each]
