"""What an autoscaler needs of the rest of its stack: a way in for Pulumi, a way out for its pods, and a role."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from multiarch.nodes.report import ProblemReport
from multiarch.schema.autoscaling import Autoscaling
from multiarch.schema.stack import StackSpec
from multiarch.stack.checks.reach import reachable

# Neither registry, nor IAM or the price list, has an endpoint in a VPC.
_NEEDS_A_WAY_OUT: Mapping[str, str] = MappingProxyType(
    {
        "cluster-autoscaler": "its image comes from registry.k8s.io",
        "karpenter": "its image comes from public.ecr.aws, and it asks IAM for the nodes' instance profile",
    }
)


def check_autoscaler_reachable(spec: StackSpec, report: ProblemReport) -> None:
    """An autoscaler is installed through the Kubernetes API."""
    if spec.autoscaling.use != "none" and not reachable(spec):
        report(
            "autoscaler-unreachable",
            ("autoscaling", "use"),
            "the API server is reachable from within the VPC only, and this VPC is new: the first run can't install "
            f"{spec.autoscaling.use} unless Pulumi reaches the VPC.",
            value=spec.autoscaling.use,
        )


def check_autoscaler_has_a_way_out(spec: StackSpec, report: ProblemReport) -> None:
    """An autoscaler's pods need more than VPC endpoints give.

    Karpenter's own switch for such networks, ``isolatedVPC``, only spares the price list: instance profiles would stay
    behind in IAM when their node class goes. Source:
    https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/#private-clusters
    """
    if spec.network.nat != "none":
        return
    for autoscaler in _installed(spec.autoscaling):
        report(
            "autoscaler-no-way-out",
            ("network", "nat"),
            f"{autoscaler} can't work without a way out of the VPC: {_NEEDS_A_WAY_OUT[autoscaler]}.",
            value=spec.network.nat,
        )


def check_autoscaler_has_a_role(spec: StackSpec, report: ProblemReport) -> None:
    """An autoscaler's pods get their IAM role through Pod Identity."""
    installed = _installed(spec.autoscaling)
    if installed and not spec.addons["eks-pod-identity-agent"].enabled:
        report(
            "autoscaler-without-role",
            ("addons", "podIdentityAgent", "enabled"),
            f"{' and '.join(installed)} would get no IAM role: the Pod Identity agent is turned off.",
            value=False,
        )


def _installed(spec: Autoscaling) -> tuple[str, ...]:
    return tuple(each for each in _NEEDS_A_WAY_OUT if each in {spec.use, spec.migrate_from})
