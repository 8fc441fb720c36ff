"""AWS's partitions and regions: which regions there are, which partition has them, and how names are written there.

Sources: botocore's ``partitions.json`` (regions' patterns, DNS suffixes) and ``endpoints.json`` (the regions that have
EKS); tests compare. The regions are ``data/regions.csv``, one name per line; ``multiarch facts refresh`` adds those
that EC2's DescribeRegions names. A region of a new geography needs a row here too: a guessed partition would give
wrong ARNs.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from multiarch.frozen import dataclass

REGIONS_FILE = Path(__file__).parent / "data" / "regions.csv"
ZONE_IDS_WITHOUT_EKS = ("cac1-az3", "use1-az3", "usw1-az2")
"""EKS can't use these zones for the control plane; their regions have enough others.

Source: EKS user guide, "Amazon EKS networking requirements for VPC and subnets".
"""


# Of a local zone or a Wavelength zone, what follows the region is a place: us-east-1-bos-1a, us-east-1-wl1-bos-wlz-1.
_ZONE = re.compile(r"(?P<region>[a-z]+(?:-[a-z]+)+-[0-9]+)(?:[a-z]|(?:-[a-z0-9]+)+)", re.ASCII)


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
_REGION = re.compile(r"(?P<geography>[a-z]+(?:-[a-z]+)?)-[a-z]+-[0-9]+", re.ASCII)


def find_partition(region: str) -> Partition | None:
    """Return the partition whose regions have names like ``region``, or None.

    Only the form counts: :func:`list_regions` says whether there is such a region.
    """
    match = _REGION.fullmatch(region)
    return _BY_GEOGRAPHY.get(match["geography"]) if match else None


def read_regions(path: Path) -> tuple[str, ...]:
    """Return the names in a file of regions, below its heading, in the order of the file."""
    return tuple(path.read_text(encoding="ascii").split()[1:])


@cache
def list_regions() -> tuple[str, ...]:
    """Return all regions that have EKS, sorted by name. Read once per process, on first use."""
    return read_regions(REGIONS_FILE)


def explain_unknown_region(text: str) -> str | None:
    """Say what to do about ``text`` where a region is expected: suggest the nearest one. None for a known region."""
    known = list_regions()
    if text in known:
        return None
    from difflib import get_close_matches  # noqa: PLC0415  (only needed once something is wrong)

    bare = text.strip().lower()
    near = get_close_matches(bare, known, n=4, cutoff=0.7)
    # Two letters that changed places are more likely than another letter; eu-west-1a is a zone of eu-west-1.
    near = [each for each in near if sorted(each) == sorted(bare) or bare.startswith(each)] or near[:2]
    first = f"Did you mean {' or '.join(near)}?" if near else "Write a region such as eu-west-1."
    # Of another form, it is not a region that AWS has just added.
    return f"{first} If AWS has just added {text}, run `multiarch facts refresh`." if find_partition(text) else first


def find_zone_region(text: str) -> str | None:
    """Return a zone's region; None for what is not written as zones are, or of an unknown region."""
    match = _ZONE.fullmatch(text)
    return match["region"] if match and match["region"] in list_regions() else None
