"""Helm: charts rendered, installed and removed, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from multiarch.manifests import restricted
from sandbox.cluster.kube import Object
from sandbox.cluster.programs import ClusterError
from sandbox.layout import CLONE
from tools import build

WEBHOOK: Final = CLONE / "charts" / "multiarch-webhook"


def run_helm(*arguments: str, values: Mapping[str, object] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Helm; ``values`` are those of ``--values -``. No repository or plugin of the user has a say."""
    with tempfile.TemporaryDirectory() as scratch:
        homes = {f"HELM_{name}_HOME": str(Path(scratch, name)) for name in ("CACHE", "CONFIG", "DATA")}
        command = [str(build.ensure("helm")), *arguments, *(() if values is None else ("--values", "-"))]
        text = "" if values is None else json.dumps(values)
        return subprocess.run(command, env=os.environ | homes, input=text, capture_output=True, text=True, check=False)


def render_chart(chart: Path, values: Mapping[str, object], *, namespace: str, name: str = "release") -> list[Object]:
    """Return a chart's objects in the order in which Helm installs them.

    Raises ClusterError with what Helm said.
    """
    done = run_helm("template", name, str(chart), "--namespace", namespace, values=values)
    if done.returncode:
        raise ClusterError(done.stderr)
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def render_webhook(values: Mapping[str, object], namespace: str) -> list[Object]:
    """Return the namespace, with the pod security that the webhook is installed with, and its chart's objects."""
    meta = {"name": namespace, "labels": restricted.list_enforced_labels()}
    own: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    return [own, *render_chart(WEBHOOK, values, namespace=namespace)]
