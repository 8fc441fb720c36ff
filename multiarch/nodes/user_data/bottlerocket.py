"""User data for Bottlerocket: settings in TOML. There is no shell, and the kubelet takes settings, not flags.

Sources: Bottlerocket settings reference, ``settings.kubernetes`` and ``settings.host-containers``; its settings model,
where a taint key holds a list of ``value:Effect``.
"""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupPlan
from multiarch.nodes.user_data import kubelet_flags
from multiarch.nodes.user_data.text import Scalar, format_toml_table

_KUBERNETES = "settings.kubernetes"


def render_bottlerocket(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render the user data; the package's docstring has the rules for each case.

    EKS can only merge TOML without escaped quotes and without quoted keys in headers; what is merged here has neither.
    """
    if group.case is BootstrapCase.EKS:
        return format_toml_table(_KUBERNETES, {"max-pods": group.max_pods}) if group.max_pods_written else ""
    return "\n".join(_tables(group, cluster))


def _tables(group: NodeGroupPlan, cluster: ClusterFacts) -> list[str]:
    kubernetes: dict[str, Scalar | Sequence[str]] = {
        "api-server": cluster.endpoint,
        "cluster-certificate": cluster.certificate_authority,
        "cluster-dns-ip": kubelet_flags.get_cluster_dns_ip(cluster),
        "cluster-name": cluster.name,
        "max-pods": group.max_pods,
    }
    tables = [format_toml_table(_KUBERNETES, kubernetes)]
    if labels := kubelet_flags.list_labels(group):
        tables.append(format_toml_table(f"{_KUBERNETES}.node-labels", labels))
    if group.taints:
        taints: dict[str, list[str]] = {}
        for taint in sorted(group.taints):
            taints.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
        tables.append(format_toml_table(f"{_KUBERNETES}.node-taints", taints))
    # People log in with SSM sessions, through the control container; the admin container, a root shell, stays off.
    return [
        *tables,
        format_toml_table("settings.host-containers.admin", {"enabled": False}),
        format_toml_table("settings.host-containers.control", {"enabled": True}),
    ]
