"""The public parameters of EKS's images."""

from __future__ import annotations

import pytest

from sandbox.aws.facts import AMI_TYPES, CLUSTER_VERSIONS, architecture_of, latest_release, offered
from tests.sandbox.served import Served

MINORS = list(CLUSTER_VERSIONS)


@pytest.mark.parametrize("minor", MINORS)
def test_every_parameter_names_an_image_of_the_right_architecture(aws: Served, minor: str) -> None:
    ssm, ec2 = aws.client("ssm"), aws.client("ec2")
    for row in AMI_TYPES.values():
        if not offered(row, minor):
            continue
        image = ssm.get_parameter(Name=row.ssm_parameter(minor, "image_id"))["Parameter"]["Value"]
        assert ec2.describe_images(ImageIds=[image])["Images"][0]["Architecture"] == architecture_of(row)
        release = ssm.get_parameter(Name=row.ssm_parameter(minor, "release_version"))["Parameter"]["Value"]
        assert release == latest_release(row, minor)


def test_images_come_back_after_moto_is_emptied(aws: Served) -> None:
    name = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/recommended/image_id"
    before = aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    aws.empty()
    assert aws.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == before
