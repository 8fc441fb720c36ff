"""Karpenter's image: aliases such as ``al2023@v20260715``, what they stand for, and where AWS publishes them.

One alias resolves the images of both architectures and of all accelerators. Source: karpenter-provider-aws,
``pkg/providers/amifamily``, one file per family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from multiarch.autoscaling.spec import ROOT, AutoscalingContext, KarpenterSpec
from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts.ami_families import AmiFamily, AmiType, choose_ami_type
from multiarch.facts.architectures import to_ami
from multiarch.facts.instance_types import Accelerator, InstanceType
from multiarch.facts.kubernetes import LAST_AL2_VERSION, supports_al2
from multiarch.nodes.report import Report

PATH: KeyPath = (*ROOT, "karpenter", "amiAlias")
LATEST = "latest"
_WORDS: Mapping[str, AmiFamily] = MappingProxyType(
    {"al2": AmiFamily.AL2, "al2023": AmiFamily.AL2023, "bottlerocket": AmiFamily.BOTTLEROCKET}
)
_ALIAS = re.compile(r"([a-z0-9]+)@(.+)", re.ASCII)
# Amazon Linux is released by date; Bottlerocket has versions, with or without a v before them.
_DATE, _NUMBERS = re.compile(r"v[0-9]{8}", re.ASCII), re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+", re.ASCII)
_EXAMPLES = MappingProxyType({"al2": "v20250715", "al2023": "v20260715", "bottlerocket": "v1.52.0"})


def plan_image(spec: KarpenterSpec, context: AutoscalingContext, report: Report) -> tuple[str, AmiFamily]:
    """Return the alias of the nodes' image and its family, reporting one that can't be or that is not pinned."""
    derived = next(word for word, family in _WORDS.items() if family is context.ami_family)
    alias = spec.ami_alias or f"{derived}@{LATEST}"
    if fault := _fault(alias):
        word = alias.partition("@")[0]
        example = f"{word}@{_EXAMPLES[word]}" if word in _EXAMPLES else f"{derived}@{_EXAMPLES[derived]}"
        report("ami-alias", PATH, f"{fault}.", hint=f"It looks like {example}.", value=alias)
        return alias, context.ami_family
    word, _, release = alias.partition("@")
    family = _WORDS[word]
    if family is AmiFamily.AL2 and not supports_al2(context.version):
        # Of a family that the stack chose, the same is said of its node groups: one fault, told once.
        report(
            "al2-too-new",
            PATH if spec.ami_alias else ("amiFamily",),
            f"there are no Amazon Linux 2 images for Kubernetes {context.version}; {LAST_AL2_VERSION} is the last.",
            hint=f"Use al2023@{_EXAMPLES['al2023']}." if spec.ami_alias else "Use amiFamily AL2023 or Bottlerocket.",
            value=spec.ami_alias or str(family),
        )
    elif release == LATEST:
        report(
            "ami-not-pinned",
            PATH,
            f"{alias} follows AWS's releases: Karpenter replaces its nodes at each of them.",
            value=spec.ami_alias,
        )
    return alias, family


def is_pinned(alias: str | None) -> bool:
    """Whether an alias names a release; one that is left out does not."""
    return alias is not None and not alias.endswith(f"@{LATEST}")


def unpinned(alias: str) -> str:
    """``al2023@latest`` for ``al2023@v20260715``; what is no alias comes back as it is."""
    return alias if _fault(alias) else f"{alias.partition('@')[0]}@{LATEST}"


def images(family: AmiFamily, types: Iterable[InstanceType]) -> tuple[AmiType, ...]:
    """Return the images of a family that nodes of these types boot, sorted by name.

    Karpenter leaves types out for which a family has no image; so does this.
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


def alias_of(family: AmiFamily, release: str) -> str:
    """Return the alias of an EKS release: ``al2023@v20260715`` for ``1.35.2-20260715``.

    Bottlerocket's ``1.52.0-ae0b4a82`` is ``bottlerocket@v1.52.0``. Raises UnknownFactError for a release of another
    form.
    """
    word = next((word for word, each in _WORDS.items() if each is family), "")
    before, _, after = release.partition("-")
    alias = f"{word}@v{before if family is AmiFamily.BOTTLEROCKET else after}"
    if _fault(alias):
        raise UnknownFactError(f"{family} release", release)
    return alias


def parameter(alias: str, image: AmiType, kubernetes_version: str) -> str:
    """Return the SSM parameter that Karpenter reads for an image of a pinned alias.

    ``…/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260715/image_id``;
    Bottlerocket's ``…/arm64/1.52.0/image_id``.
    """
    if image.architecture is None:
        raise UnknownFactError("published AMI type", image.name)
    release = alias.partition("@")[2]
    base, _, attribute = image.ssm_parameter(kubernetes_version, "image_id").rpartition("/")
    name = {
        AmiFamily.AL2: f"amazon-eks{image.variant}-node-{kubernetes_version}-{release}",
        AmiFamily.AL2023: (
            f"amazon-eks-node-al2023-{to_ami(image.architecture)}-{image.variant}-{kubernetes_version}-{release}"
        ),
        AmiFamily.BOTTLEROCKET: release.removeprefix("v"),
    }[image.family]
    return f"{base.rpartition('/')[0]}/{name}/{attribute}"


def _fault(alias: str) -> str | None:
    match = _ALIAS.fullmatch(alias)
    if match is None or match[1] not in _WORDS:
        return f"{alias!r} is no alias of an image; known are {', '.join(_WORDS)}, each with @ and a release"
    form = _NUMBERS if _WORDS[match[1]] is AmiFamily.BOTTLEROCKET else _DATE
    if match[2] != LATEST and not form.fullmatch(match[2]):
        return f"{alias!r} names no release of {match[1]}"
    return None
