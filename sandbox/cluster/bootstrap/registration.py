"""The labels and taints that a kubelet registers its node with, read as `multiarch verify nodes` reads a running one's.

`tests/tools` compares that reader with the kubelet's own command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from multiarch.facts.taints import Taint
from multiarch.verify.on_node.registration import ConfigFile, read_kubelet_registration
from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError


@dataclass(frozen=True, slots=True)
class Registration:
    """What a node registers with, beside what the kubelet reports of itself. ``taints`` are sorted."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


def registration(start: KubeletStart) -> Registration:
    """Return the labels and taints by flags and configuration. Raises NodeStartError for taints that can't be read."""
    listed = start.config.get("registerWithTaints")
    files = [ConfigFile("user data", taints=json.dumps(listed))] if listed else []
    found = read_kubelet_registration(start.flags, files)
    if found.taints is None:
        raise NodeStartError(f"The kubelet does not start: {'; '.join(found.faults)}.")
    return Registration(found.labels or {}, tuple(sorted(found.taints)))
