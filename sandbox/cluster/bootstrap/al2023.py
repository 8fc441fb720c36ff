"""Amazon Linux 2023: NodeConfig documents, which nodeadm merges.

Source: amazon-eks-ami, nodeadm: ``internal/configprovider``, ``internal/api/merge.go``, ``validation.go`` and
``net.go``, ``internal/kubelet/environment.go``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from sandbox.cluster.bootstrap.archive import NODE_CONFIG, is_archive, parts
from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError, checked_certificate, merged
from sandbox.cluster.bootstrap.systemd import words_of_environment_file

_FIELDS: Mapping[str, frozenset[str]] = {
    "cluster": frozenset(("apiServerEndpoint", "certificateAuthority", "cidr", "enableOutpost", "id", "name")),
    "containerd": frozenset(("baseRuntimeSpec", "config")),
    "featureGates": frozenset(),
    "instance": frozenset(("environment", "localStorage", "network")),
    "kubelet": frozenset(("config", "flags", "maxPodsExpression")),
}
_REQUIRED = {
    "name": "Name",
    "apiServerEndpoint": "Apiserver endpoint",
    "certificateAuthority": "Certificate authority",
    "cidr": "CIDR",
}
"""The fields of ``spec.cluster`` that nodeadm needs, as its errors name them."""


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: archives with NodeConfig parts, or NodeConfigs, merged in their order.

    Max pods are not in ``config`` where nodeadm computes them. Raises NodeStartError if a node would not join.
    """
    texts = [text for each in documents for text in (parts(each, NODE_CONFIG) if is_archive(each) else [each])]
    if not texts:
        raise NodeStartError("nodeadm finds no NodeConfig in the user data. The node does not join.")
    ignored: list[str] = []
    cluster: dict[str, str] = {}
    config: dict[str, Any] = {}
    flags: list[str] = []
    for text in texts:
        spec = _spec(text)
        ignored += _unknown_fields(spec)
        cluster |= {key: value for key, value in _strings(spec, "cluster") if value}
        kubelet = _mapping(spec, "kubelet")
        config = merged(config, _mapping(kubelet, "config"))
        flags += _flags(kubelet)
    for field, title in _REQUIRED.items():
        if field not in cluster:
            raise NodeStartError(f"nodeadm fails: {title} is missing in cluster configuration. The node does not join.")
    return KubeletStart(
        flags=words_of_environment_file(" ".join(flags)),
        config=merged({"clusterDNS": [_dns_address(cluster["cidr"])]}, config),
        cluster=cluster["name"],
        endpoint=cluster["apiServerEndpoint"],
        certificate_authority=checked_certificate(cluster["certificateAuthority"], "nodeadm"),
        service_cidr=cluster["cidr"],
        ignored=tuple(ignored),
    )


def _spec(text: str) -> Mapping[str, Any]:
    try:
        document = next(yaml.safe_load_all(text), None)
    except yaml.YAMLError as error:
        raise NodeStartError(f"nodeadm can't read the NodeConfig: {error}. The node does not join.") from error
    if not isinstance(document, Mapping):
        raise NodeStartError("nodeadm fails: the NodeConfig is not a mapping. The node does not join.")
    wanted = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig"}
    for key, value in wanted.items():
        if document.get(key) != value:
            raise NodeStartError(
                f"nodeadm fails: {key} of the NodeConfig is {document.get(key)!r}, not {value!r}. The node does not "
                "join."
            )
    return _mapping(document, "spec")


def _mapping(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong_type(key, "a mapping", value)
    return value


def _strings(spec: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    for name, value in _mapping(spec, key).items():
        if name in _REQUIRED and value is not None:
            if not isinstance(value, str):
                raise _wrong_type(f"{key}.{name}", "a string", value)
            yield name, value


def _flags(kubelet: Mapping[str, Any]) -> list[str]:
    flags = kubelet.get("flags") or []
    if not isinstance(flags, list) or not all(isinstance(each, str) for each in flags):
        raise _wrong_type("kubelet.flags", "a list of strings", flags)
    return flags


def _wrong_type(field: str, expected: str, value: object) -> NodeStartError:
    return NodeStartError(f"nodeadm fails: {field} is {value!r}, not {expected}. The node does not join.")


def _unknown_fields(spec: Mapping[str, Any]) -> Iterator[str]:
    """Fields that nodeadm reads without any effect."""
    for key, value in spec.items():
        if key not in _FIELDS:
            yield f"spec.{key}"
        elif _FIELDS[key] and isinstance(value, Mapping):
            yield from (f"spec.{key}.{each}" for each in value if each not in _FIELDS[key])


def _dns_address(cidr: str) -> str:
    """The address of the cluster's DNS that nodeadm derives: the tenth of the last block of an IPv4 range."""
    try:
        network = ipaddress.ip_network(cidr, strict=False)
    except ValueError as error:
        raise NodeStartError(f"nodeadm fails: {error}. The node does not join.") from error
    written = cidr.partition("/")[0]
    return f"{written}a" if network.version == 6 else f"{written.rpartition('.')[0]}.10"  # noqa: PLR2004
