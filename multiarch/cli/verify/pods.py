"""``multiarch verify pods``: which architecture runs in every container, and how that is known."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.options import with_groups
from multiarch.cli.options.aws import AwsOptions
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument, SourceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.terminal import print_message, print_notes, show_progress
from multiarch.cli.verify.pod_report import build_pod_report
from multiarch.errors import MultiarchError
from multiarch.plurals import format_count
from multiarch.runs.verify_pods import verify_containers
from multiarch.verify.pods.model import PodVerification, Proof

HELP = """Show which architecture runs in each container.

Reads the live cluster of the kubeconfig, or the output of `kubectl get pods,nodes,replicasets,jobs -A -o yaml`. For
every container that runs, or failed to start for its architecture, the registry says what its imageID's digest is:

\b
  proven        a platform manifest or config of the node's architecture; or its process is (--on-node)
  consistent    an index, which has the platform that the node's runtime must choose
  wrong         an image or process of another architecture, or an index without the node's platform
  cannot tell   with the reason, and what would settle it

With --on-node the nodes say through SSM Run Command which manifest of the index containerd holds for the
container, and of which architecture its process is. The script only reads;
docs/how-to/verify-permissions.md has the IAM policy.

\b
Examples:
  multiarch verify pods                              every namespace of the current context
  multiarch verify pods -n shop -l app=api --on-node
  kubectl get pods,nodes -A -o yaml | multiarch verify pods --manifests - --output json

Exit code: 0; 1 if anything is wrong, or with --fail-on cannot-tell not known; 2 for invalid input; 3 if the
cluster or AWS can't be reached."""


@with_groups
def pods(
    paths: ManifestsArgument = None,
    *,
    source: SourceOptions,
    cluster: ClusterOptions,
    on_node: Annotated[
        bool, typer.Option("--on-node", help="Also query the nodes through SSM, which settles what is only consistent.")
    ] = False,
    aws: AwsOptions,
    fail_on: Annotated[
        Literal["wrong", "cannot-tell"],
        typer.Option(metavar="wrong|cannot-tell", help="Exit with 1 on wrong, or also on cannot tell."),
    ] = "wrong",
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Verify pods, as :data:`HELP` says."""
    objects = source.choose_objects(cluster, paths)
    if not on_node and (aws.region or aws.profile):
        raise MultiarchError("--region and --profile are only used with --on-node.", hint="Omit them, or add it.")
    verification = verify_containers(
        objects, registries.access, on_node=aws.open if on_node else None, progress=show_progress
    )
    print_report(build_pod_report(verification), output)
    _summarise(verification)
    failing = (Proof.WRONG,) if fail_on == "wrong" else (Proof.WRONG, Proof.CANNOT_TELL)
    if any(verification.count(proof) for proof in failing):
        raise typer.Exit(1)


def _summarise(verification: PodVerification) -> None:
    print_notes(verification.notes)
    if verification.not_started:
        print_message(f"note: {format_count(verification.not_started, 'container')} not started and so not verified.")
    parts = ", ".join(f"{verification.count(proof)} {proof}" for proof in Proof)
    print_message(f"{format_count(len(verification.judged), 'container')}: {parts}.")
