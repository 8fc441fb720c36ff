"""``multiarch webhook policy``: the toleration without the webhook, by the API server alone."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from multiarch.cli.options import with_groups
from multiarch.cli.options.stacks import TaintOptions
from multiarch.errors import MultiarchError
from multiarch.webhook.policy import build_admission_policy
from multiarch.yaml_text.dump import dump_yaml

HELP = """Print a MutatingAdmissionPolicy in place of the webhook.

The API server then adds the toleration itself. It can't look at images, so it does so only in namespaces whose owners
declare that all of their images support amd64 and arm64:

  kubectl label namespace shop multiarch-eks/arm64-ready=true

Pods that opt out (annotation multiarch-eks/webhook: "off"), that exclude an architecture by node selector or affinity,
that name their node, or that tolerate the taint already are left alone, as by the webhook.

Kubernetes 1.36 and later have the API as v1. 1.34 and 1.35 have it as v1beta1, which is off unless the API server's
administrator turns it on; EKS does not.

\b
Examples:
  multiarch webhook policy | kubectl apply -f -
  multiarch webhook policy --stack payments-prod > arm64-policy.yaml

Exit code: 0; 2 for an invalid taint or stack."""


@with_groups
def policy(
    *,
    taints: TaintOptions,
    name: Annotated[str, typer.Option(metavar="NAME", help="The name of the objects.")] = "multiarch-tolerations",
    api_version: Annotated[
        Literal["v1", "v1beta1"], typer.Option(help="The version of admissionregistration.k8s.io.")
    ] = "v1",
) -> None:
    """Print the policy and its binding, as :data:`HELP` says."""
    taint = taints.arm64()
    if taint is None:
        raise MultiarchError("The arm64 nodes of the stack have no taint.", hint="There is nothing to tolerate.")
    typer.echo("---\n".join(dump_yaml(each) for each in build_admission_policy(name, [taint], api_version)), nl=False)
