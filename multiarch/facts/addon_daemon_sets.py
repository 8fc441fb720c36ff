"""DaemonSets of EKS add-ons, and those that a stack installs: where their pods may be, and on which architectures.

Pod specs are kept to what decides that. AWS publishes charts of some add-ons and none of others, and shows their images
only with credentials: each row names its source. Nothing here was read from a registry, or from
a cluster of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from types import MappingProxyType
from typing import Any

from multiarch.errors import look_up
from multiarch.facts.addons import Release
from multiarch.facts.architectures import Architecture
from multiarch.facts.autoscalers import DEVICE_PLUGIN_CHARTS, NODE_TERMINATION_HANDLER_CHART
from multiarch.facts.instance_types import list_instance_types
from multiarch.facts.labels import (
    EKS_ACCELERATOR,
    EKS_COMPUTE_TYPE,
    EKS_NODE_GROUP,
    INSTANCE_TYPE,
    KARPENTER_GPU_MANUFACTURER,
    KARPENTER_NODE_POOL,
)
from multiarch.frozen import dataclass

NAMESPACE = "kube-system"
"""Where EKS puts those of most add-ons; a plan has the others'."""
_EVERY_TAINT = {"operator": "Exists"}
_BOTH = tuple(str(each) for each in Architecture)
_AWS_TABLE = "AWS's table of add-on architectures (aws-ia, terraform-aws-eks-blueprints-addons, Architectures)"


@dataclass(frozen=True, slots=True)
class AddOnDaemon:
    """One DaemonSet, of an add-on or of the stack: ``key`` is then the key in the stack file that installs it.

    ``pod_spec`` is its pods' spec, containers without images, of both architectures as ``images_source`` says;
    ``source`` is where the spec was read. ``harmless`` are keys of the add-on's configuration values that leave it
    where it is. ``since``: in versions before, it may be elsewhere.
    """

    name: str
    pod_spec: Mapping[str, Any] = field(hash=False)
    source: str
    images_source: str
    harmless: frozenset[str] = frozenset()
    since: Release | None = None
    key: str = ""


Expression = Mapping[str, Any]


def _expression(key: str, operator: str, *values: str) -> Expression:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _daemon(
    name: str,
    containers: str,
    source: str,
    *terms: Sequence[Expression],
    images: str = _AWS_TABLE,
    init: str = "",
    tolerations: Expression = _EVERY_TAINT,
    harmless: Sequence[str] = (),
    since: Release | None = None,
    key: str = "",
) -> AddOnDaemon:
    """Return a DaemonSet on Linux nodes that meet all expressions of one of ``terms``."""
    spec: dict[str, Any] = {
        "tolerations": [tolerations],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "initContainers": [{"name": each} for each in init.split()],
        "containers": [{"name": each} for each in containers.split()],
    }
    if terms:
        required = {"nodeSelectorTerms": [{"matchExpressions": list(each)} for each in terms]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return AddOnDaemon(name, spec, source, images, frozenset(harmless), since, key)


# Nodes of EKS Auto Mode have the add-ons' software in their image. Source: EKS user guide, "Create an Amazon EKS Auto
# Mode cluster": EKS installs add-ons on other nodes only.
_NOT_FARGATE = _expression(EKS_COMPUTE_TYPE, "NotIn", "fargate", "auto")
_NOT_HYBRID = _expression(EKS_COMPUTE_TYPE, "NotIn", "fargate", "hybrid")
_OF_BOTH = (_expression("kubernetes.io/arch", "In", *_BOTH), _NOT_FARGATE)
_A1 = ("a1.medium", "a1.large", "a1.xlarge", "a1.2xlarge", "a1.4xlarge")
_DAEMONS: Mapping[str, tuple[AddOnDaemon, ...]] = MappingProxyType(
    {
        "vpc-cni": (
            _daemon(
                "aws-node",
                "aws-node aws-eks-nodeagent",
                "aws/amazon-vpc-cni-k8s, charts/aws-vpc-cni/values.yaml (1.15)",
                _OF_BOTH,
                init="aws-vpc-cni-init",
                harmless=("enableNetworkPolicy", "env"),
            ),
        ),
        "kube-proxy": (
            # EKS publishes no manifest of it; eksctl's tests hold what a new cluster had.
            _daemon(
                "kube-proxy",
                "kube-proxy",
                "eksctl-io/eksctl, pkg/addons/default/testdata/sample-1.25.json (as EKS 1.25 had it)",
                _OF_BOTH,
            ),
        ),
        "eks-pod-identity-agent": (
            # AWS's table omits it; its chart sends it to nodes of both architectures, and to no other.
            _daemon(
                "eks-pod-identity-agent",
                "eks-pod-identity-agent",
                "aws/eks-pod-identity-agent, charts/eks-pod-identity-agent/values.yaml (0.1.10)",
                _OF_BOTH,
                images="aws/eks-pod-identity-agent: its chart's node affinity, which names both architectures",
                init="eks-pod-identity-agent-init",
            ),
        ),
        # Its controller is a Deployment; so is coredns.
        "aws-ebs-csi-driver": (
            _daemon(
                "ebs-csi-node",
                "ebs-plugin node-driver-registrar liveness-probe",
                "kubernetes-sigs/aws-ebs-csi-driver, charts/aws-ebs-csi-driver, node (its release is not known)",
                (_NOT_FARGATE, _expression("node.kubernetes.io/instance-type", "NotIn", *_A1)),
                harmless=("controller",),
            ),
        ),
        "coredns": (),
        "aws-efs-csi-driver": (
            _daemon(
                "efs-csi-node",
                "efs-plugin csi-driver-registrar liveness-probe",
                "kubernetes-sigs/aws-efs-csi-driver, charts/aws-efs-csi-driver (4.4.1)",
                (_NOT_HYBRID,),
                harmless=("controller",),
            ),
        ),
        "aws-mountpoint-s3-csi-driver": (
            _daemon(
                "s3-csi-node",
                "s3-plugin node-driver-registrar liveness-probe",
                "awslabs/mountpoint-s3-csi-driver, charts/aws-mountpoint-s3-csi-driver (2.7.0)",
                (_NOT_HYBRID,),
                images="awslabs/mountpoint-s3-csi-driver, README.md: x86-64 and arm64",
                harmless=("controller",),
                since=(2, 0, 0),
            ),
        ),
        "amazon-cloudwatch-observability": tuple(
            _daemon(
                name,
                container,
                "aws-observability/helm-charts, charts/amazon-cloudwatch-observability (6.4.0), without dcgm-exporter "
                "and neuron-monitor, which run on accelerated instance types only",
                (_expression(EKS_COMPUTE_TYPE, "NotIn", "fargate"),),
                harmless=("manager",),
            )
            for name, container in (("cloudwatch-agent", "otc-container"), ("fluent-bit", "fluent-bit"))
        ),
        "prometheus-node-exporter": (
            _daemon(
                "prometheus-node-exporter",
                "node-exporter",
                "prometheus-community/helm-charts, charts/prometheus-node-exporter",
                tolerations={"operator": "Exists", "effect": "NoSchedule"},
            ),
        ),
        "external-dns": (),
        "kube-state-metrics": (),
        "metrics-server": (),
    }
)
_BUILT = "its releases are built for linux/amd64 and linux/arm64"
# The affinities are those that the components set.
TERMINATION_HANDLER = _daemon(
    "aws-node-termination-handler",
    "aws-node-termination-handler",
    f"aws/aws-node-termination-handler, config/helm (chart {NODE_TERMINATION_HANDLER_CHART})",
    # EKS drains nodes of managed groups, Karpenter drains its own.
    [_expression(each, "DoesNotExist") for each in (EKS_NODE_GROUP, KARPENTER_NODE_POOL, EKS_COMPUTE_TYPE)],
    images=f"aws/aws-node-termination-handler: {_BUILT}",
    key="nodeTerminationHandler",
)
DEVICE_PLUGIN = _daemon(
    "nvidia-device-plugin",
    "nvidia-device-plugin-ctr",
    "NVIDIA/k8s-device-plugin, deployments/helm/nvidia-device-plugin "
    f"(chart {DEVICE_PLUGIN_CHARTS['nvidia-device-plugin'][1]})",
    # Node groups give the first label to their nodes with NVIDIA GPUs, Karpenter the second. Nodes of EKS Auto Mode
    # have neither, and a plugin of their own.
    [_expression(EKS_ACCELERATOR, "Exists")],
    [_expression(KARPENTER_GPU_MANUFACTURER, "In", "nvidia")],
    images=f"NVIDIA/k8s-device-plugin: {_BUILT}",
    key="gpuDevicePlugin",
)


_EFA_OF_CHART = ("p6e-gb300.36xlarge", "trn2-ac.24xlarge", "trn2u-ac.24xlarge")
"""The types in the chart's own list (v0.5.30) that the table of instance types lacks; Karpenter may start them."""


def list_efa_types() -> list[str]:
    """List the names of all instance types that have EFA, or may have it: those of the table and of the chart."""
    known = (each.name for each in list_instance_types().values() if each.efa_cards != ())
    return sorted({*known, *_EFA_OF_CHART})


@cache
def get_efa_plugin() -> AddOnDaemon:
    """Return the EFA device plugin, on nodes of all instance types that have EFA, with such interfaces or without."""
    name = "aws-efa-k8s-device-plugin"
    return _daemon(
        name,
        name,
        f"aws/eks-charts, stable/{name} (chart {DEVICE_PLUGIN_CHARTS[name][1]})",
        [_expression(INSTANCE_TYPE, "In", *list_efa_types()), _expression(EKS_COMPUTE_TYPE, "NotIn", "auto")],
        images="aws/eks-charts: the chart's own list of instance types has both architectures",
        key="efaDevicePlugin",
    )


def list_daemons(add_on: str) -> tuple[AddOnDaemon, ...]:
    """List the DaemonSets of an EKS add-on; it may have none. Raises UnknownFactError for an unknown one."""
    return look_up("DaemonSets of EKS add-on", add_on, _DAEMONS)
