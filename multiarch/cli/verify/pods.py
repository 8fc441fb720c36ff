"""``multiarch verify pods``: which architecture runs in every container, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, output_option, show
from multiarch.cli.memory import few_collections
from multiarch.cli.options import with_groups
from multiarch.cli.options.aws import AwsOptions
from multiarch.cli.options.cluster import ClusterOptions, ManifestsArgument, SourceOptions
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.terminal import progress, say, say_notes
from multiarch.errors import MultiarchError
from multiarch.observed.images import use_registry
from multiarch.observed.objects import ObjectSource, check_namespaces, read_manifest_objects
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.registry.credentials.model import Credentials
    from multiarch.registry.model import Registry
    from multiarch.verify.pods.containers import PodReader
    from multiarch.verify.pods.model import Pods, PodVerification
    from multiarch.verify.pods.verification import Reports

HELP = """Show which architecture runs in each container.

Reads the live cluster of the kubeconfig, or the output of `kubectl get pods,nodes,replicasets,jobs -A -o yaml`. For
every container that runs, or failed to start for its architecture, the registry is asked what its imageID's digest is:

\b
  proven        a platform manifest or config of the node's architecture; or its process is (--on-node)
  consistent    an index, which has the platform that the node's runtime must choose
  wrong         an image or process of another architecture, or an index without the node's platform
  cannot tell   with the reason, and what would settle it

With --on-node the nodes are asked through SSM Run Command which manifest of the index containerd holds for the
container, and of which architecture its process is. The script only reads;
docs/how-to/verify-permissions.md has the IAM policy.

\b
Examples:
  multiarch verify pods                              every namespace of the current context
  multiarch verify pods -n shop -l app=api --on-node
  kubectl get pods,nodes -A -o yaml | multiarch verify pods --manifests - --output json

Exit code: 0; 1 if anything is wrong, or with --fail-on cannot-tell not known; 2 for invalid input; 3 if the
cluster or AWS can't be reached."""


class FailOn(StrEnum):
    """What exits with 1."""

    WRONG = "wrong"
    CANNOT_TELL = "cannot-tell"


@with_groups
def pods(
    paths: ManifestsArgument = None,
    *,
    source: SourceOptions,
    cluster: ClusterOptions,
    on_node: Annotated[
        bool, typer.Option("--on-node", help="Also ask the nodes through SSM, which settles what is only consistent.")
    ] = False,
    aws: AwsOptions,
    fail_on: Annotated[
        FailOn, typer.Option(metavar="wrong|cannot-tell", help="Exit with 1 on wrong, or also on cannot tell.")
    ] = FailOn.WRONG,
    output: Annotated[Format, output_option("records", "findings")] = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Verify pods, as :data:`HELP` says."""
    from multiarch.cli.verify.pod_report import pod_report
    from multiarch.verify.pods.model import Proof

    objects = source.choose_objects(cluster, paths)
    if not on_node and (aws.region or aws.profile):
        raise MultiarchError("--region and --profile are only used with --on-node.", hint="Leave them out, or add it.")
    with few_collections():
        found, credentials = _read(objects)
        reports = _asked(found, aws) if on_node else None
        verification, notes = use_registry(
            registries.access, partial(_verified, found, reports), credentials=credentials
        )
    show(pod_report(verification), output)
    say_notes(notes)
    _summarise(verification)
    failing = (Proof.WRONG,) if fail_on is FailOn.WRONG else (Proof.WRONG, Proof.CANNOT_TELL)
    if verification.has(*failing):
        raise typer.Exit(1)


def _read(source: ObjectSource) -> tuple[Pods, Credentials | None]:
    """The containers and their nodes, and the cluster's credentials for their images."""
    from multiarch.kubernetes.cluster import open_cluster
    from multiarch.kubernetes.resources import Kind
    from multiarch.verify.pods.containers import PodReader

    reader = PodReader()
    if source.files:
        objects, _ = read_manifest_objects(source.files)
        reader.read(objects)
        if not reader.pods:
            hint = "It reads the status of live Pods: kubectl get pods,nodes,replicasets -A -o yaml"
            raise MultiarchError(f"{', '.join(source.files)}: no Pods found.", hint=hint)
        return reader.result(), None
    with open_cluster(source.access) as cluster:
        check_namespaces(cluster, source.namespaces)
        namespaces = source.namespaces or None
        reader.read(cluster.objects([Kind.POD], namespaces=namespaces, selector=source.selector))
        reader.read(cluster.objects([Kind.NODE]))
        _read_owners(reader, cluster, namespaces)
        found = reader.result()
        secrets = read_pull_secrets(cluster, found.containers)
        say_notes(secrets.notes)
        return found, secrets.credentials


def _read_owners(reader: PodReader, cluster: Cluster, namespaces: Sequence[str] | None) -> None:
    """Read what owns the owners of pods. Without permission for it, pods are grouped by their direct owners."""
    from multiarch.kubernetes.errors import ForbiddenError
    from multiarch.kubernetes.resources import Kind

    for kind in (Kind.REPLICA_SET, Kind.JOB):
        if kind in reader.owner_kinds():
            try:
                reader.read(cluster.objects([kind], namespaces=namespaces))
            except ForbiddenError as error:
                say(f"note: {error}")


def _asked(found: Pods, aws: AwsOptions) -> Reports:
    """What the nodes say, by instance. Raises MultiarchError for what concerns all of them, such as no permission."""
    from multiarch.verify.on_node.collect import collect
    from multiarch.verify.pods.verification import instances

    wanted = instances(found)
    if not wanted:
        return {}
    ssm = aws.client("ssm", region=_region(found))
    with progress("asking nodes") as step:
        return collect(ssm, wanted, containers=True, progress=step)


def _region(found: Pods) -> str | None:
    """The region that the labels of all nodes name, if they name one."""
    named = {node.region for node in found.nodes.values() if node.region}
    return named.pop() if len(named) == 1 else None


async def _verified(found: Pods, reports: Reports | None, registry: Registry) -> PodVerification:
    from multiarch.verify.pods.verification import verify_pods

    with progress("reading digests") as step:
        return await verify_pods(registry, found, reports, looked_up=step)


def _summarise(verification: PodVerification) -> None:
    from multiarch.verify.pods.model import Proof

    for note in verification.notes:
        say(f"note: {note}")
    if verification.not_started:
        say(f"note: {counted(verification.not_started, 'container')} not started and so not verified.")
    counts: Mapping[Proof, int] = {proof: verification.count(proof) for proof in Proof}
    parts = ", ".join(f"{number} {proof}" for proof, number in counts.items())
    say(f"{counted(len(verification.judged), 'container')}: {parts}.")
