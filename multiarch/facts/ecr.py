"""Host names of Amazon ECR.

Sources: https://docs.aws.amazon.com/general/latest/gr/ecr.html (host names) and
https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html (where layers and configs are)
"""

from __future__ import annotations

import re

from multiarch.facts.partitions import find_partition
from multiarch.frozen import dataclass

PUBLIC_HOSTS = frozenset({"public.ecr.aws", "ecr-public.aws.com"})
PUBLIC_REGION = "us-east-1"
"""The only region that hands out tokens for ECR's public gallery."""

_HOST = re.compile(
    r"(?P<account>[0-9]{12})\.dkr(?:\.ecr|-ecr)(?P<fips>-fips)?\.(?P<region>[a-z]+(?:-[a-z]+)+-[0-9]+)\.(?P<suffix>.+)"
)
# The suffixes of dual-stack host names, by partition.
_DUAL_STACK = {"aws": "on.aws", "aws-us-gov": "on.aws", "aws-cn": "on.amazonwebservices.com.cn"}
_BUCKET = re.compile(
    r"prod-(?P<region>[a-z]+(?:-[a-z]+)+-[0-9]+)-starport-layer-bucket\.s3\.(?:dualstack\.)?(?P=region)\.(?P<suffix>.+)"
)


@dataclass(frozen=True, slots=True)
class EcrHost:
    """The parts of an ECR registry's host name; ``account`` is empty for the public gallery."""

    account: str
    region: str
    fips: bool = False
    public: bool = False


def parse_ecr_host(registry: str) -> EcrHost | None:
    """Parse a host name; None if it is not one of ECR's.

    ``ACCOUNT.dkr.ecr.REGION.SUFFIX`` (``dkr.ecr-fips`` for FIPS), ``ACCOUNT.dkr-ecr.REGION.on.aws`` (dual-stack),
    where SUFFIX is the DNS suffix of the region's partition.
    """
    if registry in PUBLIC_HOSTS:
        return EcrHost("", PUBLIC_REGION, public=True)
    match = _HOST.fullmatch(registry)
    if match is None:
        return None
    partition = find_partition(match["region"])
    if partition is None:
        return None
    dual = registry.startswith(f"{match['account']}.dkr-ecr")
    suffix = _DUAL_STACK.get(partition.name) if dual else partition.dns_suffix
    if match["suffix"] != suffix:
        return None
    return EcrHost(match["account"], match["region"], fips=bool(match["fips"]))


def may_be_vpc_endpoint(host: str) -> bool:
    """Return whether VPC endpoints can give ``host`` a private address: private ECR, and its layers in S3.

    Only AWS, and who owns the VPC's DNS, can give these names an address. Most other names below ``amazonaws.com`` are
    somebody's machine or load balancer.
    """
    found = parse_ecr_host(host)
    if found is not None:
        return not found.public
    match = _BUCKET.fullmatch(host)
    partition = None if match is None else find_partition(match["region"])
    return match is not None and partition is not None and match["suffix"] == partition.dns_suffix
