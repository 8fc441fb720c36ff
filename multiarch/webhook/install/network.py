"""How the webhook is reached, and what its pods may connect to."""

from __future__ import annotations

import re

from multiarch.manifests import network_rules
from multiarch.webhook.install import model, parts
from multiarch.webhook.install.model import Installation, Object

_PORT = re.compile(r":([0-9]+)$", re.ASCII)


def service(installation: Installation) -> Object:
    """The Service that the API server calls, and that Prometheus finds."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": parts.metadata(installation),
        "spec": {
            "selector": parts.selector(installation, parts.SERVER),
            "ports": [
                {"name": "https", "port": network_rules.HTTPS, "targetPort": "https"},
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
        {"ports": [network_rules.tcp_port(model.HTTPS_PORT)]},
        {"ports": [network_rules.tcp_port(model.METRICS_PORT)], "from": [{"namespaceSelector": {}}]},
    ]
    found = [_policy(installation, parts.SERVER, installation.name, ingress, _server_egress(installation))]
    if installation.certificates == "self-managed":
        egress = [network_rules.dns(), {"ports": [network_rules.tcp_port(network_rules.HTTPS)]}]
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
    ports = [network_rules.HTTPS, *(port for port in registry_ports(installation) if port != network_rules.HTTPS)]
    rules = [network_rules.dns(), {"ports": [network_rules.tcp_port(port) for port in ports]}]
    if installation.configuration.registries.ecr:
        rules.append(network_rules.pod_identity_agent())
    if shared := installation.shared_cache:
        rules.append({"ports": [network_rules.tcp_port(shared.port)]})
    return [*rules, *installation.network_policy.extra_egress]


def registry_ports(installation: Installation) -> list[int]:
    """The ports in the names of registries, and 80 where one without TLS has none; each once."""
    registries = installation.configuration.registries
    ports = set()
    for each in (*registries.allowed, *registries.plain_http):
        if port := _PORT.search(each):
            ports.add(port[1])
        elif each in registries.plain_http:
            ports.add(str(network_rules.HTTP))
    return [int(port) for port in sorted(ports)]


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
