"""Amazon Linux 2023: NodeConfig documents, which nodeadm merges.

Source: amazon-eks-ami, nodeadm: ``api/v1alpha1/nodeconfig_types.go``, ``internal/configprovider``,
``internal/api/merge.go``, ``validation.go`` and ``net.go``, ``internal/kubelet/environment.go``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import check_certificate, merge, read_parts, split_flags


class _Part(BaseModel):
    """nodeadm reads unknown fields without any effect; here they are an error, because they are a slip."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class _Cluster(_Part):
    name: str = ""
    api_server_endpoint: str = ""
    certificate_authority: str = ""
    cidr: str = ""


class _Kubelet(_Part):
    config: dict[str, Any] = {}
    flags: list[str] = []


class _Spec(_Part):
    cluster: _Cluster = _Cluster()
    containerd: dict[str, Any] = {}
    feature_gates: dict[str, Any] = {}
    instance: dict[str, Any] = {}
    kubelet: _Kubelet = _Kubelet()


class _NodeConfig(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    api_version: Literal["node.eks.aws/v1alpha1"]
    kind: Literal["NodeConfig"]
    spec: _Spec


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: archives with NodeConfig parts, or NodeConfigs, merged in their order.

    Max pods are not in ``config`` where nodeadm computes them. Raises NodeStartError if a node would not join, and for
    fields that nodeadm does not have.
    """
    config: dict[str, Any] = {}
    flags: list[str] = []
    named: dict[str, Any] = {}
    try:
        for text in (text for each in documents for text in read_parts(each, "application/node.eks.aws")):
            spec = _NodeConfig.model_validate(yaml.safe_load(text)).spec
            named |= spec.cluster.model_dump(exclude_defaults=True)
            config = merge(config, spec.kubelet.config)
            flags += spec.kubelet.flags
        cluster = _Cluster.model_construct(**named)
        if missing := [name for name in _Cluster.model_fields if not getattr(cluster, name)]:
            raise NodeStartError(f"nodeadm fails: cluster has no {', '.join(missing)}. The node does not join.")
        dns = ipaddress.ip_network(cluster.cidr, strict=False).network_address + 10
    except (yaml.YAMLError, ValidationError, ValueError) as error:
        raise NodeStartError(f"nodeadm can't read the NodeConfig: {error}. The node does not join.") from error
    return KubeletStart(
        # nodeadm writes NAME="flags": quotes in the flags end those around them, and the rest is read without quotes.
        flags=split_flags(" ".join(split_flags('"' + " ".join(flags) + '"'))),
        config=merge({"clusterDNS": [str(dns)]}, config),
        cluster=cluster.name,
        endpoint=cluster.api_server_endpoint,
        certificate_authority=check_certificate(cluster.certificate_authority),
    )
