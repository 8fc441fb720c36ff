"""A rendering's marks name the partition that the region is in."""

from __future__ import annotations

import pytest

from components.rendering.marked_values import Where, call
from multiarch.errors import UnknownFactError


@pytest.mark.parametrize(
    ("region", "arn", "suffix", "reverse"),
    [
        ("cn-north-1", "arn:aws-cn:eks:cn-north-1:", "amazonaws.com.cn", "cn.com.amazonaws"),
        ("eusc-de-east-1", "arn:aws-eusc:eks:eusc-de-east-1:", "amazonaws.eu", "eu.amazonaws"),
        ("us-gov-west-1", "arn:aws-us-gov:eks:us-gov-west-1:", "amazonaws.com", "com.amazonaws"),
        ("us-isob-east-1", "arn:aws-iso-b:eks:us-isob-east-1:", "sc2s.sgov.gov", "gov.sgov.sc2s"),
        (None, "arn:aws:eks:REGION:", "amazonaws.com", "com.amazonaws"),
    ],
)
def test_arns_and_look_ups_are_of_the_regions_partition(
    region: str | None, arn: str, suffix: str, reverse: str
) -> None:
    where = Where.of(region)
    assert where.arn("eks", "cluster/shop").startswith(arn)
    told = call("aws:index/getPartition:getPartition", {}, where)
    assert (told["dnsSuffix"], told["reverseDnsPrefix"]) == (suffix, reverse)


def test_a_region_of_no_partition_is_not_taken_for_a_commercial_one() -> None:
    with pytest.raises(UnknownFactError, match="mars-north-1"):
        Where.of("mars-north-1")
