"""EKS add-ons that a stack may add by name, below ``addons.extra``: what AWS's pages and charts say of some.

Of any other nothing is known here: where its pods may run, which service account they use. AWS's schemas of
configuration values are not here either: they belong to a version, and ``multiarch stack pin`` fetches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from multiarch.facts.addons import AddOn, Component
from multiarch.facts.taints import Effect
from multiarch.facts.tolerations import CRITICAL_ADDONS, Toleration, TolerationOperator

_EFS_NOT_READY = Toleration("efs.csi.aws.com/agent-not-ready", TolerationOperator.EXISTS)
_NO_SCHEDULE = Toleration(operator=TolerationOperator.EXISTS, effect=Effect.NO_SCHEDULE)


def _extra(name: str, kind: str, release: str | None, **facts: Any) -> AddOn:
    return AddOn(name, f"extra.{name}", "", kind, release, **facts)


# Namespaces, service accounts and policies: EKS user guide, "AWS add-ons" and "Community add-ons"; the release that a
# role by Pod Identity needs: "Retrieve IAM information about an Amazon EKS add-on".
_ROWS = (
    # kubernetes-sigs/metrics-server, charts/metrics-server/values.yaml: tolerations is empty.
    _extra(
        "metrics-server",
        "observability",
        "v0.8.0",
        components=(Component(("tolerations",)),),
    ),
    # kubernetes-sigs/aws-efs-csi-driver, charts/aws-efs-csi-driver/values.yaml (4.4.1), controller. Its DaemonSet
    # tolerates everything.
    _extra(
        "aws-efs-csi-driver",
        "storage",
        "v3.4.1",
        components=(Component(("controller", "tolerations"), (CRITICAL_ADDONS, _EFS_NOT_READY)),),
        service_account="efs-csi-controller-sa",
        managed_policies=("service-role/AmazonEFSCSIDriverPolicy",),
        pod_identity_since=(2, 0, 5),
    ),
    # awslabs/mountpoint-s3-csi-driver, charts/aws-mountpoint-s3-csi-driver (2.7.0), docs/CONFIGURATION.md. AWS's schema
    # of v2.0.0 takes no tolerations of the controller: https://github.com/aws/containers-roadmap/issues/2676.
    # AmazonS3FullAccess, which EKS recommends, "grants more permissions than are needed".
    _extra(
        "aws-mountpoint-s3-csi-driver",
        "storage",
        "v2.7.0",
        components=(Component(("controller", "tolerations"), by_hand=True),),
        service_account="s3-csi-driver-sa",
        pod_identity_since=(2, 0, 0),
    ),
    # aws-observability/helm-charts, charts/amazon-cloudwatch-observability/values.yaml (6.4.0): its DaemonSets take
    # `tolerations`, which is everything by default; `manager` has its own.
    _extra(
        "amazon-cloudwatch-observability",
        "observability",
        "v6.4.0",
        components=(Component(("manager", "tolerations"), by_hand=True),),
        namespace="amazon-cloudwatch",
        service_account="cloudwatch-agent",
        managed_policies=("AWSXrayWriteOnlyAccess", "CloudWatchAgentServerPolicy"),
    ),
    # kubernetes-sigs/external-dns, charts/external-dns/values.yaml: tolerations is empty. AmazonRoute53FullAccess,
    # which EKS recommends, may delete every hosted zone; "permissions can be reduced".
    _extra(
        "external-dns",
        "networking",
        "v0.19.0",
        components=(Component(("tolerations",)),),
        namespace="external-dns",
        service_account="external-dns",
    ),
    # prometheus-community/helm-charts, charts/prometheus-node-exporter/values.yaml.
    _extra(
        "prometheus-node-exporter",
        "observability",
        "v1.9.1",
        components=(Component(("tolerations",), (_NO_SCHEDULE,), daemon=True),),
        namespace="prometheus-node-exporter",
    ),
    # prometheus-community/helm-charts, charts/kube-state-metrics/values.yaml: tolerations is empty.
    _extra(
        "kube-state-metrics",
        "observability",
        "v2.16.0",
        components=(Component(("tolerations",)),),
        namespace="kube-state-metrics",
    ),
)
EXTRA: Mapping[str, AddOn] = MappingProxyType({row.name: row for row in _ROWS})
"""The add-ons of which something is known, by name."""


def find_extra(name: str) -> AddOn:
    """Return what is known of an add-on: for any other than those of :data:`EXTRA` no more than its name and key."""
    return EXTRA.get(name) or _extra(name, "", None, namespace="")
