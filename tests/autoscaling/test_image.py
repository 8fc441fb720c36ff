"""Aliases of images: what they stand for, and that AWS's parameters are Karpenter's."""

from __future__ import annotations

import pytest

from multiarch.autoscaling.image import get_alias, get_image_parameter, list_images, unpin_alias
from multiarch.errors import UnknownFactError
from multiarch.facts.ami_families import AmiFamily, get_ami_type
from multiarch.facts.instance_types import get_instance_type


@pytest.mark.parametrize(
    ("name", "alias", "path"),
    [
        ("AL2_x86_64", "al2@v20250715", "optimized-ami/1.32/amazon-linux-2/amazon-eks-node-1.32-v20250715"),
        ("AL2_ARM_64", "al2@v20250715", "optimized-ami/1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20250715"),
    ],
)
def test_amazon_linux_2_names_its_variant_before_the_node(name: str, alias: str, path: str) -> None:
    assert get_image_parameter(alias, get_ami_type(name), "1.32") == f"/aws/service/eks/{path}/image_id"


@pytest.mark.parametrize("alias", ["bottlerocket@1.52.0", "bottlerocket@v1.52.0"])
def test_bottlerocket_is_published_without_the_v(alias: str) -> None:
    found = get_image_parameter(alias, get_ami_type("BOTTLEROCKET_ARM_64_NVIDIA"), "1.35")
    assert found == "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.52.0/image_id"


def test_al2023_names_architecture_and_variant_twice() -> None:
    assert get_image_parameter("al2023@v20260715", get_ami_type("AL2023_x86_64_NEURON"), "1.35") == (
        "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/"
        "amazon-eks-node-al2023-x86_64-neuron-1.35-v20260715/image_id"
    )


@pytest.mark.parametrize(
    ("family", "release", "alias"),
    [
        (AmiFamily.AL2, "1.32.9-20251120", "al2@v20251120"),
        (AmiFamily.AL2023, "1.35.2-20260715", "al2023@v20260715"),
        (AmiFamily.BOTTLEROCKET, "1.52.0-ae0b4a82", "bottlerocket@v1.52.0"),
    ],
)
def test_an_alias_follows_from_the_release(family: AmiFamily, release: str, alias: str) -> None:
    assert get_alias(family, release) == alias
    assert unpin_alias(alias) == f"{alias.partition('@')[0]}@latest"


@pytest.mark.parametrize(
    ("family", "release"),
    [(AmiFamily.AL2023, "1.35.2"), (AmiFamily.CUSTOM, "1.35.2-20260715")],
)
def test_a_release_of_another_form_has_no_alias(family: AmiFamily, release: str) -> None:
    with pytest.raises(UnknownFactError):
        get_alias(family, release)


def test_images_are_those_that_the_types_boot_and_the_family_has() -> None:
    types = [get_instance_type(name) for name in ("m7g.large", "m7i.large", "g5g.xlarge", "inf2.xlarge")]
    assert [image.name for image in list_images(AmiFamily.AL2023, types)] == [
        "AL2023_ARM_64_NVIDIA",
        "AL2023_ARM_64_STANDARD",
        "AL2023_x86_64_NEURON",
        "AL2023_x86_64_STANDARD",
    ]
    assert "AL2_ARM_64_GPU" not in {image.name for image in list_images(AmiFamily.AL2, types)}
