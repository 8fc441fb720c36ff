"""Drivers that EKS images lacked before some release: newer ones of some GPUs, and EFA's.

Sources: amazon-eks-ami, ``doc/usage/g7-ami.md`` (G7 needs NVIDIA 595, the images have 580) and its release v20260917,
whose AL2023 images have both and choose at the first start; of Bottlerocket it is not documented. For EFA its pull
request 2697 and the table of packages of each release: before v20260505 the images for NVIDIA and Neuron alone have it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.instance_types import Accelerator, InstanceType

_DRIVERS: Mapping[str, str] = MappingProxyType({"g7": "595"})
"""The oldest major version of the NVIDIA driver for an instance family."""
_SINCE: Mapping[tuple[AmiFamily, str], str] = MappingProxyType({(AmiFamily.AL2023, "595"): "20260917"})
"""The first release of a family's images with a driver."""
_EFA_SINCE: Mapping[AmiFamily, str] = MappingProxyType({AmiFamily.AL2023: "20260505"})
"""The first release of a family whose images without drivers of accelerators have the EFA driver."""
_DATE = re.compile(r"[0-9]{8}$", re.ASCII)


def explain_missing_driver(
    family: AmiFamily, instance: InstanceType, release: str | None, *, efa: bool = False
) -> str | None:
    """Say why an EKS image may lack the driver for an instance type, in a clause; None where it has one.

    ``release`` is that of the image, an EKS release (``1.35.2-20260917``) or Karpenter's (``v20260917``), None where
    AWS chooses it. ``efa``: pods use its EFA interfaces, if it has some; the releases that AWS chooses have
    the driver.
    """
    driver = _DRIVERS.get(instance.family)
    if driver is None:
        return _explain_missing_efa(family, instance, release) if efa and instance.efa_cards else None
    needs = f"{instance.name} needs NVIDIA driver {driver}"
    since = _SINCE.get((family, driver))
    if since is None:
        return f"{needs}, which no {family} image is known to have"
    date = _DATE.search(release or "")
    if date is None:
        return f"{needs}, which {family} images have since release {since}, and the image is not pinned"
    return None if date[0] >= since else f"{needs}, which {family} images have since release {since}, not in {release}"


def _explain_missing_efa(family: AmiFamily, instance: InstanceType, release: str | None) -> str | None:
    since, date = _EFA_SINCE.get(family), _DATE.search(release or "")
    if since is None or date is None or date[0] >= since:
        return None
    if instance.accelerator in {Accelerator.NVIDIA, Accelerator.NEURON}:
        return None
    return (
        f"{instance.name} needs the EFA driver, which its {family} images have since release {since}, not in {release}"
    )
