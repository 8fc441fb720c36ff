"""The image of a node group: its amiType and release, checked against the instance types.

The EKS API rejects an amiType of another architecture only when the group is created; here it is rejected earlier.
"""

from __future__ import annotations

import re

from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts.ami_families import (
    AmiFamily,
    AmiType,
    choose_ami_type,
    explain_boot_failure,
    get_ami_type,
    get_family,
)
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.nodes.model import AmiSource, BootstrapCase, NodeGroupKind
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext, NodeGroupSpec

_STACKS: KeyPath = ("amiFamily",)


def get_bootstrap_case(spec: NodeGroupSpec) -> BootstrapCase:
    """Return who starts the kubelet: it follows from the kind of group and whether it has a custom AMI."""
    if spec.kind is NodeGroupKind.SELF_MANAGED:
        return BootstrapCase.SELF_MANAGED
    return BootstrapCase.CUSTOM_AMI if spec.ami.id else BootstrapCase.EKS


def plan_ami_type(
    spec: NodeGroupSpec,
    context: ClusterContext,
    types: tuple[InstanceType, ...],
    architecture: Architecture,
    report: ProblemReport,
) -> AmiType | None:
    """Return the amiType for the types, or the one that the team set if it fits; None after a reported problem."""
    accelerators = sorted({instance.accelerator for instance in types})
    if len(accelerators) > 1:
        examples = ", ".join(f"{a}: {next(t.name for t in types if t.accelerator is a)}" for a in accelerators)
        report(
            "mixed-accelerators",
            spec.types_path,
            f"the types need different drivers ({examples}); a node group has one image.",
        )
        return None
    if spec.ami_type is not None:
        chosen = _written(spec, types[0], architecture, report)
    else:
        chosen = _derived(spec, spec.ami_family or context.ami_family, types[0], architecture, report)
    if chosen is None:
        return None
    for instance in types:
        if reason := explain_boot_failure(chosen.family, instance):
            report("image-does-not-boot", spec.types_path, f"{reason}.")
            return None
    return chosen


def _derived(
    spec: NodeGroupSpec, family: AmiFamily, instance: InstanceType, architecture: Architecture, report: ProblemReport
) -> AmiType | None:
    """Choose the family's image for the architecture and the accelerator."""
    wanted = instance.accelerator
    if wanted is Accelerator.OTHER:
        report(
            "no-driver-image",
            spec.types_path,
            f"no EKS image has drivers for {instance.name}'s accelerator; the ordinary image is used.",
        )
        wanted = Accelerator.NONE
    try:
        return choose_ami_type(family, architecture, wanted)
    except UnknownFactError as error:
        report(
            "no-such-image",
            spec.types_path,
            f"{instance.name} is {architecture} with accelerator {wanted}: {error.message}",
            hint=error.hint or "Choose another amiFamily.",
        )
        return None


def _written(
    spec: NodeGroupSpec, instance: InstanceType, architecture: Architecture, report: ProblemReport
) -> AmiType | None:
    """Check the amiType that the team set."""
    path = (*spec.path, "amiType")
    try:
        found = get_ami_type(spec.ami_type or "")
    except UnknownFactError as error:
        report("unknown-ami-type", path, error.message, hint=error.hint)
        return None
    if found.family in {AmiFamily.WINDOWS, AmiFamily.CUSTOM}:
        hint = (
            "Omit amiType and give ami.id."
            if found.family is AmiFamily.CUSTOM
            else "Windows nodes are not planned here."
        )
        report("unsupported-ami-type", path, f"{found.name} can't be written here.", hint=hint)
        return None
    fits = True
    if spec.ami_family is not None and found.family is not spec.ami_family:
        report("ami-family-mismatch", path, f"{found.name} is {found.family} and amiFamily is {spec.ami_family}.")
        fits = False
    if found.architecture is not architecture:
        hint = _suggest(found, architecture, instance.accelerator)
        report(
            "ami-type-architecture",
            path,
            f"{found.name} is {found.architecture} and {instance.name} is {architecture}.",
            hint=hint,
        )
        fits = False
    elif not found.serves(instance.accelerator) and instance.accelerator is not Accelerator.OTHER:
        report(
            "ami-type-accelerator",
            path,
            f"{found.name} is for accelerator {found.accelerator} and {instance.name} has {instance.accelerator}.",
            hint=_suggest(found, architecture, instance.accelerator),
        )
        fits = False
    return found if fits else None


def _suggest(found: AmiType, architecture: Architecture, accelerator: Accelerator) -> str:
    """Suggest the amiType of the same family that fits."""
    try:
        fitting = choose_ami_type(found.family, architecture, accelerator, fips=found.fips)
    except UnknownFactError:
        return (
            f"{found.family} has no image for {architecture} with accelerator {accelerator}; choose another amiFamily."
        )
    return f"Write {fitting.name}, or omit amiType."


def check_amazon_linux_2(
    spec: NodeGroupSpec, context: ClusterContext, family: AmiFamily, report: ProblemReport
) -> None:
    """Report AL2 images, which exist up to Kubernetes 1.32 and get no updates since 2025-11-26."""
    if family is not AmiFamily.AL2:
        return
    # A family that is set for the whole stack is reported once, not for each group.
    path = (*spec.path, "amiType" if spec.ami_type else "amiFamily") if spec.ami_type or spec.ami_family else _STACKS
    last = kubernetes.LAST_AL2_VERSION
    if not kubernetes.supports_al2(context.version):
        report(
            "al2-too-new",
            path,
            f"there are no Amazon Linux 2 images for Kubernetes {context.version}; {last} is the last.",
        )
        return
    report(
        "al2-ended",
        path,
        f"Amazon Linux 2 reached its end on {kubernetes.AL2_END}, its EKS images get no updates since "
        f"{kubernetes.AL2_IMAGES_END}, "
        f"and {last} is the last Kubernetes version with them.",
    )


def plan_ami(spec: NodeGroupSpec, context: ClusterContext, chosen: AmiType, report: ProblemReport) -> AmiSource:
    """Return where the image comes from, and whether it is pinned."""
    if spec.ami.release is not None:
        _check_release(spec, context, chosen, report)
    if spec.ami.id is None:
        _check_pinned(spec, chosen, report)
    return AmiSource(spec.ami.id, spec.ami.release, chosen.ssm_parameter(context.version, "image_id"))


def _check_pinned(spec: NodeGroupSpec, chosen: AmiType, report: ProblemReport) -> None:
    """Report an image that AWS chooses. Only an ID in the launch template holds.

    Sources: EKS API, UpdateNodegroupVersion, ``releaseVersion`` ("By default, the latest available AMI version … is
    used"), and "You cannot roll back a node group to an earlier … AMI version"; terraform-provider-aws,
    ``internal/service/eks/node_group.go``, resourceNodeGroupUpdate: a release is sent only if it changed.
    """
    if spec.kind is NodeGroupKind.SELF_MANAGED:
        then = "it is looked up at every run, and each release of AWS replaces the nodes"
    elif spec.ami.release is None:
        then = "EKS takes the newest one when it creates the group and at every change of its launch template"
    else:
        report(
            "ami-release-alone",
            spec.ami_path,
            f"{spec.ami.release} holds until the launch template changes (tags, disk): EKS then takes the newest "
            "release, and rejects the way back.",
            hint="Omit bootstrap.mode, and run `multiarch stack pin STACK`."
            if spec.settings.bootstrap.mode == "eks"
            else "",
        )
        return
    report("ami-not-pinned", spec.path, f"the {chosen.name} image is not pinned: {then}.")


def _check_release(spec: NodeGroupSpec, context: ClusterContext, chosen: AmiType, report: ProblemReport) -> None:
    path = (*spec.ami_path, "release")
    release = spec.ami.release or ""
    if spec.kind is NodeGroupKind.SELF_MANAGED and spec.ami.id is None:
        report("release-self-managed", path, "a self-managed group takes an AMI ID, not an EKS release alone.")
        return
    facts = get_family(chosen.family)
    found = re.fullmatch(facts.release, release)
    if not found:
        example = facts.release_example.format(k=context.version)
        report(
            "ami-release",
            path,
            f"{release!r} is not a release of {chosen.family}.",
            hint=f"Write a release such as {example}.",
        )
    elif found.groupdict().get("minor", context.version) != context.version:
        report(
            "ami-release-version",
            path,
            f"{release} is an image for Kubernetes {found[1]} and the cluster is {context.version}.",
        )
