"""All objects of an installation, in the order in which to apply them."""

from __future__ import annotations

from multiarch.manifests import restricted
from multiarch.webhook.install import access, certificates, network, parts, registration, server
from multiarch.webhook.install.model import Installation, Object


def objects(installation: Installation) -> list[Object]:
    """The objects, the Namespace first. The same installation gives the same objects.

    The API server learns of the webhook before the Job writes the certificate's authority there. Until the webhook
    answers, it admits pods without it.

    Raises TaintSyntaxError for an invalid taint in the configuration.
    """
    return [
        namespace(installation),
        access.service_account(installation),
        *access.server_roles(installation),
        *certificates.roles(installation),
        server.config_map(installation),
        network.service(installation),
        *network.policies(installation),
        registration.mutating_webhook_configuration(installation),
        *certificates.objects(installation),
        server.deployment(installation),
        *server.autoscaler(installation),
        server.disruption_budget(installation),
        *network.monitor(installation),
    ]


def namespace(installation: Installation) -> Object:
    """The Namespace, whose pods must meet Pod Security ``restricted``."""
    metadata = parts.metadata(installation, name=installation.namespace, namespace="")
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {**metadata, "labels": {**metadata["labels"], **restricted.enforced()}},
    }
