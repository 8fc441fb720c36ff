"""Amazon Linux 2023: NodeConfig documents, which nodeadm merges.

Source: amazon-eks-ami, nodeadm: ``api/v1alpha1/nodeconfig_types.go``, ``internal/configprovider``,
``internal/api/merge.go`` and ``net.go``, ``internal/kubelet/environment.go``. ``tests/nodes/user_data`` reads the same
documents strictly, with nodeadm's own types.
"""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Sequence
from typing import Any

import yaml

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import merge, read_parts


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: archives with NodeConfig parts, or NodeConfigs, merged in their order.

    Max pods are not in ``config`` where nodeadm computes them. Raises NodeStartError if it is no NodeConfig with a
    cluster.
    """
    cluster: dict[str, Any] = {}
    config: dict[str, Any] = {}
    flags: list[str] = []
    try:
        for text in (text for each in documents for text in read_parts(each, "application/node.eks.aws")):
            spec = yaml.safe_load(text)["spec"]
            cluster |= spec.get("cluster", {})
            kubelet = spec.get("kubelet", {})
            config = merge(config, kubelet.get("config", {}))
            flags += kubelet.get("flags", [])
        dns = ipaddress.ip_network(cluster["cidr"], strict=False).network_address + 10
        # nodeadm writes NAME="flags": quotes in the flags end those around them, and the rest is read without quotes.
        given = shlex.split(" ".join(shlex.split('"' + " ".join(flags) + '"')))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NodeStartError(f"nodeadm can't read the NodeConfig: {error!r}. The node does not join.") from error
    return KubeletStart(tuple(given), merge({"clusterDNS": [str(dns)]}, config))
