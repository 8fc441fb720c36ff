"""Karpenter's AMI aliases such as ``al2023@v20260715``: their families, and where AWS publishes the images.

One alias resolves the images of both architectures and of all accelerators. Source: karpenter-provider-aws,
``pkg/providers/amifamily``, one file per family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from multiarch.autoscaling.spec import ROOT
from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily, AmiType, choose_ami_type, get_family
from multiarch.facts.architectures import format_ami_architecture
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.facts.kubernetes import LAST_AL2_VERSION, supports_al2
from multiarch.nodes.report import ProblemReport
from multiarch.nodes.spec import ClusterContext
from multiarch.schema.autoscaling import Karpenter

PATH: KeyPath = (*ROOT, "karpenter", "amiAlias")
LATEST = "latest"
_FAMILIES: Mapping[str, AmiFamily] = MappingProxyType({family.lower(): family for family in NODE_FAMILIES})
"""Karpenter's word for each family."""
_ALIAS = re.compile(r"([a-z0-9]+)@(.+)", re.ASCII)


def plan_image(settings: Karpenter, context: ClusterContext, report: ProblemReport) -> tuple[str, AmiFamily]:
    """Return the alias of the nodes' image and its family; report an invalid alias and one that is not pinned."""
    alias = settings.ami_alias or f"{context.ami_family.lower()}@{LATEST}"
    word, _, release = alias.partition("@")
    family = _FAMILIES.get(word, context.ami_family)
    if fault := _fault(alias):
        report("ami-alias", PATH, f"{fault}.", hint=f"Write an alias such as {_example(family)}.")
        return alias, context.ami_family
    if family is AmiFamily.AL2 and not supports_al2(context.version):
        # Of a family that the stack chose, the same is said of its node groups: one fault, told once.
        report(
            "al2-too-new",
            PATH if settings.ami_alias else ("amiFamily",),
            f"there are no Amazon Linux 2 images for Kubernetes {context.version}; {LAST_AL2_VERSION} is the last.",
            hint=f"Use {_example(AmiFamily.AL2023)}."
            if settings.ami_alias
            else "Use amiFamily AL2023 or Bottlerocket.",
        )
    elif release == LATEST:
        report("ami-not-pinned", PATH, f"{alias} follows AWS's releases: Karpenter replaces its nodes at each of them.")
    return alias, family


def is_pinned(alias: str | None) -> bool:
    """Return whether an alias names a release; None does not."""
    return alias is not None and not alias.endswith(f"@{LATEST}")


def unpin_alias(alias: str) -> str:
    """Return ``al2023@latest`` for ``al2023@v20260715``; an invalid alias is returned unchanged."""
    return alias if _fault(alias) else f"{alias.partition('@')[0]}@{LATEST}"


def list_images(family: AmiFamily, types: Iterable[InstanceType]) -> tuple[AmiType, ...]:
    """Return the images of a family that nodes of these types boot, sorted by name.

    Karpenter omits types for which a family has no image; so does this.
    """
    found = {}
    for each in types:
        accelerator = Accelerator.NONE if each.accelerator is Accelerator.OTHER else each.accelerator
        try:
            image = choose_ami_type(family, each.architecture, accelerator)
        except UnknownFactError:
            continue
        found[image.name] = image
    return tuple(found[name] for name in sorted(found))


def get_alias(family: AmiFamily, release: str) -> str:
    """Return the alias of an EKS release: ``al2023@v20260715`` for ``1.35.2-20260715``.

    Bottlerocket's ``1.52.0-ae0b4a82`` is ``bottlerocket@v1.52.0``. Raises UnknownFactError for a release of another
    form.
    """
    found = re.fullmatch(get_family(family).release, release, re.ASCII)
    if not found:
        raise UnknownFactError(f"{family} release", release)
    return f"{family.lower()}@v{found['alias']}"


def get_image_parameter(alias: str, image: AmiType, kubernetes_version: str) -> str:
    """Return the SSM parameter that Karpenter reads for an image of a pinned alias.

    ``…/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260715/image_id``;
    Bottlerocket's ``…/arm64/1.52.0/image_id``.
    """
    if image.architecture is None:
        raise UnknownFactError("published AMI type", image.name)
    release = alias.partition("@")[2]
    base, _, attribute = image.ssm_parameter(kubernetes_version, "image_id").rpartition("/")
    facts = get_family(image.family)
    name = (facts.pinned or facts.image_name).format(
        arch=format_ami_architecture(image.architecture),
        variant=image.variant,
        k=kubernetes_version,
        release=release,
        number=release.removeprefix("v"),
    )
    return f"{base.rpartition('/')[0]}/{name}/{attribute}"


def _example(family: AmiFamily) -> str:
    return f"{family.lower()}@{get_family(family).alias_example}"


def _fault(alias: str) -> str | None:
    match = _ALIAS.fullmatch(alias)
    if match is None or match[1] not in _FAMILIES:
        return f"{alias!r} is not an alias of an image; known are {', '.join(_FAMILIES)}, each with @ and a release"
    form = get_family(_FAMILIES[match[1]]).alias_release
    if match[2] != LATEST and not re.fullmatch(form, match[2], re.ASCII):
        return f"{alias!r} names no release of {match[1]}"
    return None
