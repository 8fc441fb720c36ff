"""User data for Bottlerocket: settings in TOML. There is no shell, and the kubelet takes settings, not flags.

Sources: Bottlerocket settings reference, ``settings.kubernetes`` and ``settings.host-containers``; its settings model,
where a taint key holds a list of ``value:Effect``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multiarch.nodes.model import BootstrapCase, ClusterFacts, Mirrors, NodeGroupPlan
from multiarch.nodes.user_data import kubelet_flags
from multiarch.nodes.user_data.kubelet_flags import Config
from multiarch.nodes.user_data.text import Scalar, Value, format_toml_table

_KUBERNETES = "settings.kubernetes"
_FOLDERS = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]
_DISKS: Mapping[str, Value] = {
    "commands": [
        ["apiclient", "ephemeral-storage", "init"],
        ["apiclient", "ephemeral-storage", "bind", "--dirs", *_FOLDERS],
    ],
    "essential": True,
    "mode": "always",
}
"""Joins local disks at each start. Source: Bottlerocket, "Ephemeral storage"; Karpenter writes the same."""


def render_bottlerocket(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render the user data; the package's docstring has the rules for each case.

    EKS can only merge TOML without escaped quotes and without quoted keys in headers; what is merged here has neither.
    """
    config = kubelet_flags.build_config(group.kubelet.config)
    if group.case is BootstrapCase.EKS:
        pods = {"max-pods": group.max_pods} if group.max_pods_written else {}
        tables = _settings(pods, config)
    else:
        tables = _tables(group, cluster, config)
    disks = [format_toml_table("settings.bootstrap-commands.local-disks", _DISKS)] if group.instance_store else []
    return "\n".join([*tables, *disks, *_mirrors(group.registry_mirrors)])


def render_bottlerocket_pool(config: Config, mirrors: Mirrors) -> str:
    """Render what Karpenter joins with its own settings, which have the cluster, labels, taints and others."""
    return "\n".join([*_settings({}, config), *_mirrors(mirrors)])


def _settings(kubernetes: Mapping[str, Scalar | Sequence[str]], config: Config) -> list[str]:
    """Return the table of Kubernetes' settings, and one below it for each setting with several values."""
    single, tables = dict(kubernetes), []
    for key, value in config.items():
        name = kubelet_flags.name_setting(key)
        if isinstance(value, dict):
            tables.append(format_toml_table(f"{_KUBERNETES}.{name}", value))
        else:
            # Percentages are strings in Bottlerocket's model, numbers in the kubelet's.
            single[name] = str(value) if name.endswith("-percent") else value
    return [*([format_toml_table(_KUBERNETES, single)] if single else []), *tables]


def _mirrors(mirrors: Mirrors) -> list[str]:
    return [
        format_toml_table("[settings.container-registry.mirrors]", {"registry": registry, "endpoint": urls})
        for registry, urls in mirrors
    ]


def _tables(group: NodeGroupPlan, cluster: ClusterFacts, config: Config) -> list[str]:
    kubernetes: dict[str, Scalar | Sequence[str]] = {
        "api-server": cluster.endpoint,
        "cluster-certificate": cluster.certificate_authority,
        "cluster-dns-ip": kubelet_flags.get_cluster_dns_ip(cluster),
        "cluster-name": cluster.name,
        "max-pods": group.max_pods,
    }
    tables = _settings(kubernetes, config)
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
