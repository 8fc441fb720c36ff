"""``multiarch webhook manifests``: the objects that install the webhook, as YAML."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.facts.admission import INSTALLATION_NAME
from multiarch.webhook.manifests import render_manifests

HELP = """Print the Kubernetes objects that install the webhook.

They are those of the Helm chart, charts/multiarch-webhook, with its default values and with certificates: cert-manager,
in the order in which kubectl applies them. cert-manager must be installed.

For other values, use Helm: helm install, or helm template --set configuration.mode=observe.

There is no public image of the webhook: build one, and push it to a registry that the nodes can pull from.

\b
Examples:
  multiarch webhook manifests --image registry.example.com/multiarch:0.1.0 | kubectl apply -f -
  multiarch webhook manifests --image registry.example.com/multiarch:0.1.0 -n platform > webhook.yaml

Exit code: 0; 2 for an invalid image or name."""


def manifests(
    *,
    image: Annotated[str, typer.Option(metavar="IMAGE", help="The webhook's image.")],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="The namespace of the webhook.")
    ] = INSTALLATION_NAME,
    name: Annotated[str, typer.Option(metavar="NAME", help="The name of the objects.")] = INSTALLATION_NAME,
) -> None:
    """Print the objects, as :data:`HELP` says."""
    typer.echo(render_manifests(image, name=name, namespace=namespace), nl=False)
