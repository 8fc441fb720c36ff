"""Policies that hold in any stack: functions of resources as the engine knows them, without Pulumi.

``policy/`` gives them to the engine as a policy pack; ``multiarch stack check --policy`` runs them in its own process.
"""

from __future__ import annotations

from multiarch.policies import autoscaling, encryption, iam, network, nodes
from multiarch.policies.daemon_sets import Judge, build_daemon_set_policy
from multiarch.policies.model import Policy


def build_policies(judge: Judge) -> tuple[Policy, ...]:
    """Return every policy; ``judge`` looks up the images of DaemonSets."""
    modules = (nodes, autoscaling, network, encryption, iam)
    return (*(policy for module in modules for policy in module.POLICIES), build_daemon_set_policy(judge))
