"""Amazon Linux 2023: NodeConfig documents, which nodeadm merges.

Source: amazon-eks-ami, nodeadm: ``internal/configprovider``, ``internal/api/merge.go``, ``validation.go`` and
``net.go``, ``internal/kubelet/environment.go``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import check_certificate, merge, read_parts, split_flags

_FIELDS: Mapping[str, frozenset[str]] = {
    "cluster": frozenset(("apiServerEndpoint", "certificateAuthority", "cidr", "enableOutpost", "id", "name")),
    "containerd": frozenset(("baseRuntimeSpec", "config")),
    "featureGates": frozenset(),
    "instance": frozenset(("environment", "localStorage", "network")),
    "kubelet": frozenset(("config", "flags", "maxPodsExpression")),
}
_REQUIRED = ("name", "apiServerEndpoint", "certificateAuthority", "cidr")


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: archives with NodeConfig parts, or NodeConfigs, merged in their order.

    Max pods are not in ``config`` where nodeadm computes them. Raises NodeStartError if a node would not join.
    """
    texts = [text for each in documents for text in read_parts(each, "application/node.eks.aws")]
    if not texts:
        raise NodeStartError("nodeadm finds no NodeConfig in the user data. The node does not join.")
    ignored: list[str] = []
    cluster: dict[str, Any] = {}
    config: dict[str, Any] = {}
    flags: list[str] = []
    for text in texts:
        spec = _spec(text)
        ignored += _unknown_fields(spec)
        cluster |= {key: value for key, value in _mapping(spec, "cluster").items() if value}
        kubelet = _mapping(spec, "kubelet")
        config = merge(config, _mapping(kubelet, "config"))
        flags += _flags(kubelet)
    for field in _REQUIRED:
        if not isinstance(cluster.get(field), str):
            raise NodeStartError(f"nodeadm fails: cluster.{field} is missing or no string. The node does not join.")
    return KubeletStart(
        # nodeadm writes NAME="flags": quotes in the flags end those around them, and the rest is read without quotes.
        flags=split_flags(" ".join(split_flags('"' + " ".join(flags) + '"'))),
        config=merge({"clusterDNS": [_dns_address(cluster["cidr"])]}, config),
        cluster=cluster["name"],
        endpoint=cluster["apiServerEndpoint"],
        certificate_authority=check_certificate(cluster["certificateAuthority"]),
        ignored=tuple(ignored),
    )


def _spec(text: str) -> Mapping[str, Any]:
    try:
        document = next(yaml.safe_load_all(text), None)
    except yaml.YAMLError as error:
        raise NodeStartError(f"nodeadm can't read the NodeConfig: {error}. The node does not join.") from error
    head = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}
    if not isinstance(document, Mapping) or not head.items() <= document.items():
        raise NodeStartError(f"nodeadm fails: the NodeConfig does not have {head}. The node does not join.")
    return _mapping(document, "spec")


def _mapping(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong_type(key, "a mapping", value)
    return value


def _flags(kubelet: Mapping[str, Any]) -> list[str]:
    flags = kubelet.get("flags") or []
    if not isinstance(flags, list) or not all(isinstance(each, str) for each in flags):
        raise _wrong_type("kubelet.flags", "a list of strings", flags)
    return flags


def _wrong_type(field: str, expected: str, value: object) -> NodeStartError:
    return NodeStartError(f"nodeadm fails: {field} is {value!r}, not {expected}. The node does not join.")


def _unknown_fields(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that nodeadm reads without any effect."""
    for key, value in spec.items():
        if key not in _FIELDS:
            yield f"spec.{key}"
        elif _FIELDS[key] and isinstance(value, Mapping):
            yield from (f"spec.{key}.{each}" for each in value if each not in _FIELDS[key])


def _dns_address(cidr: str) -> str:
    """Return the address of the cluster's DNS that nodeadm derives: the tenth of the Services' CIDR block."""
    try:
        return str(ipaddress.ip_network(cidr, strict=False).network_address + 10)
    except ValueError as error:
        raise NodeStartError(f"nodeadm fails: {error}. The node does not join.") from error
