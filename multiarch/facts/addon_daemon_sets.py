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

    ``pod_spec`` is its pods' spec, containers without images. ``architectures`` are those that its images have, as
    ``images_source`` says; ``source`` is where the spec was read. ``harmless`` are keys of the add-on's configuration
    values that leave it where it is.
    """

    name: str
    pod_spec: Mapping[str, Any] = field(hash=False)
    source: str
    images_source: str
    architectures: tuple[Architecture, ...] = tuple(Architecture)
    harmless: frozenset[str] = frozenset()
    since: Release | None = None
    key: str = ""


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _requiring(*expressions: Mapping[str, Any], alternatives: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}, *({"matchExpressions": [each]} for each in alternatives)]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _containers(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


# Nodes of EKS Auto Mode have the add-ons' software in their image. Source: EKS user guide, "Create an Amazon EKS Auto
# Mode cluster": EKS installs add-ons on other nodes only.
_NOT_FARGATE = _expression(EKS_COMPUTE_TYPE, "NotIn", "fargate", "auto")
_LINUX_OF_BOTH = _requiring(
    _expression("kubernetes.io/os", "In", "linux"), _expression("kubernetes.io/arch", "In", *_BOTH), _NOT_FARGATE
)
_A1 = ("a1.medium", "a1.large", "a1.xlarge", "a1.2xlarge", "a1.4xlarge")


def _on_every_node(name: str, spec: Mapping[str, Any], source: str, images_source: str, *harmless: str) -> AddOnDaemon:
    everywhere = {"hostNetwork": True, "tolerations": [_EVERY_TAINT], "affinity": _LINUX_OF_BOTH}
    return AddOnDaemon(name, {**everywhere, **spec}, source, images_source, harmless=frozenset(harmless))


_DAEMONS: Mapping[str, tuple[AddOnDaemon, ...]] = MappingProxyType(
    {
        "vpc-cni": (
            _on_every_node(
                "aws-node",
                {
                    "initContainers": _containers("aws-vpc-cni-init"),
                    "containers": _containers("aws-node", "aws-eks-nodeagent"),
                },
                "aws/amazon-vpc-cni-k8s, charts/aws-vpc-cni/values.yaml (1.15)",
                _AWS_TABLE,
                "enableNetworkPolicy",
                "env",
            ),
        ),
        "kube-proxy": (
            _on_every_node(
                "kube-proxy",
                {"containers": _containers("kube-proxy")},
                # EKS publishes no manifest of it; eksctl's tests hold what a new cluster had.
                "eksctl-io/eksctl, pkg/addons/default/testdata/sample-1.25.json (as EKS 1.25 had it)",
                _AWS_TABLE,
            ),
        ),
        "eks-pod-identity-agent": (
            _on_every_node(
                "eks-pod-identity-agent",
                {
                    "initContainers": _containers("eks-pod-identity-agent-init"),
                    "containers": _containers("eks-pod-identity-agent"),
                },
                "aws/eks-pod-identity-agent, charts/eks-pod-identity-agent/values.yaml (0.1.10)",
                # AWS's table omits it; its chart sends it to nodes of both architectures, and to no other.
                "aws/eks-pod-identity-agent: its chart's node affinity, which names both architectures",
            ),
        ),
        # Its controller is a Deployment; so is coredns.
        "aws-ebs-csi-driver": (
            AddOnDaemon(
                "ebs-csi-node",
                {
                    "tolerations": [_EVERY_TAINT],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "affinity": _requiring(
                        _NOT_FARGATE, _expression("node.kubernetes.io/instance-type", "NotIn", *_A1)
                    ),
                    "containers": _containers("ebs-plugin", "node-driver-registrar", "liveness-probe"),
                },
                source="kubernetes-sigs/aws-ebs-csi-driver, charts/aws-ebs-csi-driver, node (its release is not known)",
                images_source=_AWS_TABLE,
                harmless=frozenset({"controller"}),
            ),
        ),
        "coredns": (),
        "aws-efs-csi-driver": (
            AddOnDaemon(
                "efs-csi-node",
                {
                    "hostNetwork": True,
                    "tolerations": [_EVERY_TAINT],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "affinity": _requiring(_expression(EKS_COMPUTE_TYPE, "NotIn", "fargate", "hybrid")),
                    "containers": _containers("efs-plugin", "csi-driver-registrar", "liveness-probe"),
                },
                source="kubernetes-sigs/aws-efs-csi-driver, charts/aws-efs-csi-driver (4.4.1)",
                images_source=_AWS_TABLE,
                harmless=frozenset({"controller"}),
            ),
        ),
        "aws-mountpoint-s3-csi-driver": (
            AddOnDaemon(
                "s3-csi-node",
                {
                    "tolerations": [_EVERY_TAINT],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "affinity": _requiring(_expression(EKS_COMPUTE_TYPE, "NotIn", "fargate", "hybrid")),
                    "containers": _containers("s3-plugin", "node-driver-registrar", "liveness-probe"),
                },
                source="awslabs/mountpoint-s3-csi-driver, charts/aws-mountpoint-s3-csi-driver (2.7.0)",
                images_source="awslabs/mountpoint-s3-csi-driver, README.md: x86-64 and arm64",
                harmless=frozenset({"controller"}),
                since=(2, 0, 0),
            ),
        ),
        "amazon-cloudwatch-observability": tuple(
            AddOnDaemon(
                name,
                {
                    "hostNetwork": True,
                    "tolerations": [_EVERY_TAINT],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "affinity": _requiring(_expression(EKS_COMPUTE_TYPE, "NotIn", "fargate")),
                    "containers": _containers(container),
                },
                source="aws-observability/helm-charts, charts/amazon-cloudwatch-observability (6.4.0), without "
                "dcgm-exporter and neuron-monitor, which run on accelerated instance types only",
                images_source=_AWS_TABLE,
                harmless=frozenset({"manager"}),
            )
            for name, container in (("cloudwatch-agent", "otc-container"), ("fluent-bit", "fluent-bit"))
        ),
        "prometheus-node-exporter": (
            AddOnDaemon(
                "prometheus-node-exporter",
                {
                    "hostNetwork": True,
                    "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "containers": _containers("node-exporter"),
                },
                source="prometheus-community/helm-charts, charts/prometheus-node-exporter",
                images_source=_AWS_TABLE,
            ),
        ),
        "external-dns": (),
        "kube-state-metrics": (),
        "metrics-server": (),
    }
)

TERMINATION_HANDLER = AddOnDaemon(
    "aws-node-termination-handler",
    {
        "hostNetwork": True,
        "tolerations": [_EVERY_TAINT],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        # EKS drains nodes of managed groups, Karpenter drains its own.
        "affinity": _requiring(
            *(
                {"key": key, "operator": "DoesNotExist"}
                for key in (EKS_NODE_GROUP, KARPENTER_NODE_POOL, EKS_COMPUTE_TYPE)
            )
        ),
        "containers": _containers("aws-node-termination-handler"),
    },
    source=f"aws/aws-node-termination-handler, config/helm (chart {NODE_TERMINATION_HANDLER_CHART})",
    images_source="aws/aws-node-termination-handler: its releases are built for linux/amd64 and linux/arm64",
    key="nodeTerminationHandler",
)
"""With the affinity that its component sets; so has the next one."""
DEVICE_PLUGIN = AddOnDaemon(
    "nvidia-device-plugin",
    {
        "tolerations": [_EVERY_TAINT],
        # Node groups give the first label to their nodes with NVIDIA GPUs, Karpenter the second. Nodes of EKS Auto Mode
        # have neither, and a plugin of their own.
        "affinity": _requiring(
            {"key": EKS_ACCELERATOR, "operator": "Exists"},
            alternatives=[_expression(KARPENTER_GPU_MANUFACTURER, "In", "nvidia")],
        ),
        "containers": _containers("nvidia-device-plugin-ctr"),
    },
    source="NVIDIA/k8s-device-plugin, deployments/helm/nvidia-device-plugin "
    f"(chart {DEVICE_PLUGIN_CHARTS['nvidia-device-plugin'][1]})",
    images_source="NVIDIA/k8s-device-plugin: its releases are built for linux/amd64 and linux/arm64",
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
    return AddOnDaemon(
        name,
        {
            "hostNetwork": True,
            "tolerations": [_EVERY_TAINT],
            "affinity": _requiring(
                _expression(INSTANCE_TYPE, "In", *list_efa_types()), _expression(EKS_COMPUTE_TYPE, "NotIn", "auto")
            ),
            "containers": _containers(name),
        },
        source=f"aws/eks-charts, stable/{name} (chart {DEVICE_PLUGIN_CHARTS[name][1]})",
        images_source="aws/eks-charts: the chart's own list of instance types has both architectures",
        key="efaDevicePlugin",
    )


def list_daemons(add_on: str) -> tuple[AddOnDaemon, ...]:
    """List the DaemonSets of an EKS add-on; it may have none. Raises UnknownFactError for an unknown one."""
    return look_up("DaemonSets of EKS add-on", add_on, _DAEMONS)
