"""``multiarch webhook manifests``: the objects that install the webhook, as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.options.completion import stack_names
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.webhook.install.model import Installation

HELP = """Print the Kubernetes objects that install the webhook.

In the order in which kubectl applies them: Namespace, rights, configuration, Service, NetworkPolicy,
MutatingWebhookConfiguration, certificate, Deployment, HorizontalPodAutoscaler, PodDisruptionBudget. No other step is
needed: a Job issues the certificate, and a CronJob renews it. With certificates: cert-manager, cert-manager does both.

The keys of --values are those of the Helm chart, charts/multiarch-webhook/values.yaml. With --stack they are those of
the stack's admissionWebhook; where that is off, taint and architectures are the stack's.

There is no public image of the webhook: build one, and push it to a registry that the nodes can pull from.

\b
Examples:
  multiarch webhook manifests --image registry.example.com/multiarch-webhook:0.1.0 | kubectl apply -f -
  multiarch webhook manifests --values webhook.yaml --stack checkout-prod > webhook-manifests.yaml

Exit code: 0; 2 for invalid values or an invalid stack."""


def manifests(
    *,
    image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="The webhook's image. Default: image of --values or --stack.")
    ] = None,
    values: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replicas, configuration, and all other values, YAML.")
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(metavar="STACK|FILE", autocompletion=stack_names, help="Install the webhook of this stack."),
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Default: multiarch-webhook.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the objects. Default: multiarch-webhook.")
    ] = None,
) -> None:
    """Print the objects, as :data:`HELP` says."""
    from multiarch.webhook.install.objects import objects
    from multiarch.yaml_text.dump import dump

    given = {"image": image, "namespace": namespace, "name": name}
    installation = _installation({key: value for key, value in given.items() if value is not None}, values, stack)
    typer.echo("---\n".join(dump(each) for each in objects(installation)), nl=False)


def _installation(given: dict[str, object], values: Path | None, stack: str | None) -> Installation:
    from multiarch.webhook.configuration import from_stack, load_installation, validated

    if stack is None:
        return load_installation(values, given) if values else validated(given)
    from multiarch.cli.options.stacks import plan_of

    plan = plan_of(stack)
    if plan.admission_webhook is not None:
        if values is not None:
            message = f"The stack {plan.stack} has values of the webhook itself: admissionWebhook."
            raise MultiarchError(message, hint="Leave out --values or --stack.")
        of_stack = plan.admission_webhook.values
        return validated({**{key: getattr(of_stack, key) for key in of_stack.model_fields_set}, **given})
    installation = load_installation(values, given) if values else validated(given)
    configuration = from_stack(plan, installation.configuration)
    return installation.model_copy(update={"configuration": configuration})
