"""AWS's partitions: which regions belong to which, and how names are written there.

Source: botocore's ``partitions.json`` (regions' patterns, DNS suffixes); a test compares. A region of a new
geography is refused until it is added here: a guessed partition would give wrong ARNs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition. ``name`` is the second part of its ARNs; its regions' names begin with one of ``geographies``."""

    name: str
    dns_suffix: str
    geographies: tuple[str, ...]

    @property
    def reverse_dns_prefix(self) -> str:
        """The DNS suffix backwards, as the AWS provider's ``getPartition`` has it: ``com.amazonaws``."""
        return ".".join(reversed(self.dns_suffix.split(".")))


PARTITIONS = (
    Partition("aws", "amazonaws.com", ("af", "ap", "ca", "eu", "il", "me", "mx", "sa", "us")),
    Partition("aws-cn", "amazonaws.com.cn", ("cn",)),
    Partition("aws-eusc", "amazonaws.eu", ("eusc-de",)),
    Partition("aws-iso", "c2s.ic.gov", ("us-iso",)),
    Partition("aws-iso-b", "sc2s.sgov.gov", ("us-isob",)),
    Partition("aws-iso-e", "cloud.adc-e.uk", ("eu-isoe",)),
    Partition("aws-iso-f", "csp.hci.ic.gov", ("us-isof",)),
    Partition("aws-us-gov", "amazonaws.com", ("us-gov",)),
)
"""All partitions, sorted by name."""

_BY_GEOGRAPHY = {geography: partition for partition in PARTITIONS for geography in partition.geographies}
# After the geography come one word and a number: us-gov-west-1 is of us-gov, never of us.
_REGION = re.compile(r"(?P<geography>[a-z]+(?:-[a-z]+)?)-[a-z]+-[0-9]+")


def partition_of(region: str) -> Partition | None:
    """The partition whose regions have names like ``region``, or None.

    Only the form counts: whether there is such a region is not known here.
    """
    match = _REGION.fullmatch(region)
    return _BY_GEOGRAPHY.get(match["geography"]) if match else None


def is_region(text: str) -> bool:
    """Whether ``text`` is written as some partition's regions are: ``eu-west-1``, ``us-gov-east-1``."""
    return partition_of(text) is not None
