"""How the webhook is reached, and what its pods may connect to."""

from __future__ import annotations

import re

from multiarch.webhook.install import model, parts
from multiarch.webhook.install.model import Installation, Object

_HTTPS, _HTTP = 443, 80
_PORT = re.compile(r":([0-9]+)$", re.ASCII)
_POD_IDENTITY_AGENT = ("169.254.170.23/32", "fd00:ec2::23/128")
"""EKS user guide, "EKS Pod Identity agent": it answers on port 80 of these addresses of each node."""


def service(installation: Installation) -> Object:
    """The Service that the API server calls, and that Prometheus finds."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": parts.metadata(installation),
        "spec": {
            "selector": parts.selector(installation, parts.SERVER),
            "ports": [
                {"name": "https", "port": _HTTPS, "targetPort": "https"},
                {"name": "metrics", "port": model.METRICS_PORT, "targetPort": "metrics"},
            ],
        },
    }


def policies(installation: Installation) -> list[Object]:
    """NetworkPolicies, if they are on: the server's, and that of the pods that issue certificates."""
    if not installation.network_policy.enabled:
        return []
    ingress: list[Object] = [
        # The API server's addresses are those of network interfaces in the VPC, which no selector matches.
        {"ports": [_tcp(model.HTTPS_PORT)]},
        {"ports": [_tcp(model.METRICS_PORT)], "from": [{"namespaceSelector": {}}]},
    ]
    found = [_policy(installation, parts.SERVER, installation.name, ingress, _server_egress(installation))]
    if installation.certificates == "self-managed":
        egress = [_dns(), {"ports": [_tcp(_HTTPS)]}]
        found.append(_policy(installation, parts.CERTIFICATES, installation.certificates_name, [], egress))
    return found


def _policy(
    installation: Installation, component: str, name: str, ingress: list[Object], egress: list[Object]
) -> Object:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": parts.metadata(installation, component, name=name),
        "spec": {
            "podSelector": {"matchLabels": parts.selector(installation, component)},
            "policyTypes": ["Ingress", "Egress"],
            # The API server leaves out an empty list, and each apply would change the object.
            **({"ingress": ingress} if ingress else {}),
            "egress": egress,
        },
    }


def _server_egress(installation: Installation) -> list[Object]:
    """Port 443 is that of registries, of AWS, and of the API server."""
    ports = [_HTTPS, *(port for port in registry_ports(installation) if port != _HTTPS)]
    rules = [_dns(), {"ports": [_tcp(port) for port in ports]}]
    if installation.configuration.registries.ecr:
        agent = [{"ipBlock": {"cidr": cidr}} for cidr in _POD_IDENTITY_AGENT]
        rules.append({"ports": [_tcp(_HTTP)], "to": agent})
    if shared := installation.shared_cache:
        rules.append({"ports": [_tcp(shared.port)]})
    return [*rules, *installation.network_policy.extra_egress]


def registry_ports(installation: Installation) -> list[int]:
    """The ports in the names of registries, and 80 where one without TLS has none; each once."""
    registries = installation.configuration.registries
    ports = set()
    for each in (*registries.allowed, *registries.plain_http):
        if port := _PORT.search(each):
            ports.add(port[1])
        elif each in registries.plain_http:
            ports.add(str(_HTTP))
    return [int(port) for port in sorted(ports)]


def _dns() -> Object:
    return {"ports": [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]}


def _tcp(port: int) -> Object:
    return {"protocol": "TCP", "port": port}


def monitor(installation: Installation) -> list[Object]:
    """The ServiceMonitor, if it is on."""
    wanted = installation.service_monitor
    if not wanted.enabled:
        return []
    metadata = parts.metadata(installation)
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "ServiceMonitor",
            "metadata": {**metadata, "labels": {**metadata["labels"], **wanted.labels}},
            "spec": {
                "selector": {"matchLabels": parts.selector(installation, parts.SERVER)},
                "endpoints": [{"port": "metrics", "path": "/metrics"}],
            },
        }
    ]
