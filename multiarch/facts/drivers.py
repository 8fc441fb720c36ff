"""Instance families whose GPUs need a newer driver than the EKS images had before some release.

Source: amazon-eks-ami, ``doc/usage/g7-ami.md`` (G7 needs NVIDIA 595, the images have 580) and its release v20260917,
whose AL2023 images have both and choose at the first start; of Bottlerocket it is not documented.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.instance_types import InstanceType

_DRIVERS: Mapping[str, str] = MappingProxyType({"g7": "595"})
"""The oldest major version of the NVIDIA driver for an instance family."""
_SINCE: Mapping[tuple[AmiFamily, str], str] = MappingProxyType({(AmiFamily.AL2023, "595"): "20260917"})
"""The first release of a family's images with a driver."""
_DATE = re.compile(r"[0-9]{8}$", re.ASCII)


def explain_missing_driver(family: AmiFamily, instance: InstanceType, release: str | None) -> str | None:
    """Say why an EKS image may lack the driver for an instance type, in a clause; None where it has one.

    ``release`` is that of the image, an EKS release (``1.35.2-20260917``) or Karpenter's (``v20260917``), None where
    AWS chooses it.
    """
    driver = _DRIVERS.get(instance.family)
    if driver is None:
        return None
    needs = f"{instance.name} needs NVIDIA driver {driver}"
    since = _SINCE.get((family, driver))
    if since is None:
        return f"{needs}, which no {family} image is known to have"
    date = _DATE.search(release or "")
    if date is None:
        return f"{needs}, which {family} images have since release {since}, and the image is not pinned"
    return None if date[0] >= since else f"{needs}, which {family} images have since release {since}, not in {release}"
