"""User data for Amazon Linux 2023: a NodeConfig for nodeadm, and a script for cloud-init, in a MIME archive.

``nodeadm-config`` reads the NodeConfig before cloud-init begins, cloud-init then runs the script, and
``nodeadm-run`` starts the kubelet after ``cloud-final``: a script runs before the kubelet in any order of the parts.
The kubelet also starts when the script has failed.

Sources: amazon-eks-ami, ``nodeadm-config.service``, ``nodeadm-run.service`` and ``nodeadm/doc/api.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from multiarch.nodes.model import BootstrapCase, ClusterFacts, Mirrors, NodeGroupPlan
from multiarch.nodes.user_data import kubelet_flags, mime, script
from multiarch.nodes.user_data.text import Value, format_yaml


def render_al2023(group: NodeGroupPlan, cluster: ClusterFacts) -> str:
    """Render the user data; the package's docstring has the rules for each case.

    Where EKS adds its own NodeConfig, nodeadm merges the two: ``kubelet.config`` key by key, and ``kubelet.flags``
    one list after the other, so EKS's labels and taints stay (``internal/api/merge.go``). EKS's own has ``maxPods``
    among the keys, and the order of the two is not documented; a flag overrides the configuration in any order.
    """
    return _join(_spec(group, cluster), group.registry_mirrors, group.pre_bootstrap)


def render_al2023_pool(config: kubelet_flags.Config, mirrors: Mirrors) -> str:
    """Render what Karpenter joins with its own NodeConfig, which has the cluster, labels, taints and other settings."""
    return _join({"kubelet": {"config": config}} if config else {}, mirrors)


def _join(spec: Mapping[str, Value], mirrors: Mirrors, pre_bootstrap: str = "") -> str:
    parts = []
    if spec:
        head: dict[str, Value] = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
        parts.append(mime.wrap_node_config(format_yaml(head)))
    if mirrors:
        parts.append(mime.wrap_shell_script(script.write_mirrors(mirrors)))
    if pre_bootstrap:
        parts.append(mime.wrap_shell_script(script.complete_script(pre_bootstrap)))
    return mime.join_parts(parts)


def _spec(group: NodeGroupPlan, cluster: ClusterFacts) -> dict[str, Value]:
    spec: dict[str, Value] = {}
    config = kubelet_flags.build_config(group.kubelet.config)
    flags = group.kubelet_extra_args
    if group.case is BootstrapCase.EKS:
        if group.max_pods_written:
            flags = (f"--max-pods={group.max_pods}", *flags)
    else:
        spec["cluster"] = {
            "name": cluster.name,
            "apiServerEndpoint": cluster.endpoint,
            "certificateAuthority": cluster.certificate_authority,
            "cidr": cluster.service_cidr,
        }
        if group.max_pods_written:
            config = {"maxPods": group.max_pods, **config}
        flags = (*kubelet_flags.build_label_flags(group), *flags)
    kubelet: dict[str, Value] = {**({"config": config} if config else {}), **({"flags": flags} if flags else {})}
    if kubelet:
        spec["kubelet"] = kubelet
    if group.instance_store:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return spec
