"""How a stack's nodes start: the rendered user data of its node groups, read as a node reads it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from multiarch.facts.architectures import Architecture
from multiarch.nodes.model import ClusterFacts
from multiarch.nodes.user_data import render
from multiarch.stack.load import load_file
from multiarch.stack.plan import make_plan
from multiarch.today import today
from sandbox.cluster.bootstrap.groups import group_start
from sandbox.cluster.bootstrap.model import KubeletStart
from sandbox.cluster.control_plane import ControlPlane

CLUSTER = "sandbox"


@dataclass(frozen=True, slots=True)
class GroupStart:
    """A node group's name in the plan, and how its kubelets start."""

    group: str
    start: KubeletStart


def first_groups(file: Path, project_file: Path, plane: ControlPlane) -> Mapping[Architecture, GroupStart]:
    """Return the first node group of each architecture in a stack's file; Karpenter's nodes are in no group.

    Raises:
        StackError: the rules of ``stack check`` refuse the stack.
        NodeStartError: a node would not join with its user data.
    """
    authority = base64.b64encode(plane.kube.access.certificate.read_bytes()).decode()
    facts = ClusterFacts(CLUSTER, plane.kube.access.url, authority, plane.service_cidr)
    plan = make_plan(load_file(file, project_file=project_file), today=today())
    found: dict[Architecture, GroupStart] = {}
    for group in plan.node_groups:
        if group.architecture not in found:
            found[group.architecture] = GroupStart(group.name, group_start(group, render(group, facts), facts))
    return found
