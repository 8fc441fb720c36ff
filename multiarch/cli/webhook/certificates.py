"""``multiarch webhook certificates``: issue and rotate the webhook's certificate."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from multiarch.cli.options import with_groups
from multiarch.cli.options.cluster import AccessOptions
from multiarch.cli.terminal import say
from multiarch.errors import MultiarchError

HELP = """Issue the webhook's certificate, and renew it in time.

It is renewed when a third of its lifetime is left.

A Job runs it after the installation, and a CronJob every day. It writes the certificate into the Secret, and its CA
into the caBundle of each entry of the MutatingWebhookConfiguration, in the order in which the API server trusts the
webhook at every moment. A run that is cut off is completed by the next one; two may run at once. A Secret or a caBundle
that somebody changed is repaired.

It needs the verbs get and patch on these two objects, by their names.

\b
Examples:
  multiarch webhook certificates
  multiarch webhook certificates -n webhook --service webhook --context staging

Exit code: 0; 2 for invalid input; 3 if the cluster can't be reached, or one of the two objects does not exist."""

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


@with_groups
def certificates(
    *,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="The webhook's namespace. Default: the pod's."),
    ] = None,
    service: Annotated[
        str, typer.Option(metavar="NAME", help="The Service that the certificate is for.")
    ] = "multiarch-webhook",
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="The Secret that it is written to. Default: SERVICE-tls.")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="NAME", help="The MutatingWebhookConfiguration. Default: zz-SERVICE.")
    ] = None,
    days: Annotated[int, typer.Option(metavar="DAYS", min=1, max=3650, help="How long a certificate is valid.")] = 90,
    access: AccessOptions,
) -> None:
    """Issue or rotate, as :data:`HELP` says."""
    from datetime import timedelta

    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.webhook.certificates.rotation import Rules
    from multiarch.webhook.certificates.run import SystemClock, Target, run

    with open_cluster(access.access) as cluster:
        place = namespace or cluster.namespace
        for option, name in (("--namespace", place), ("--service", service)):
            if not _LABEL.fullmatch(name):
                raise MultiarchError(f"{option} must be a name of lower-case letters, digits and hyphens: {name!r}.")
        host = f"{service}.{place}.svc"
        rules = Rules((host, f"{host}.cluster.local"), timedelta(days=days))
        target = Target(place, secret or f"{service}-tls", webhook or f"zz-{service}")
        run(cluster, target, rules, SystemClock(), say)
