import botocore.session
import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.ami_families import (
    NODE_FAMILIES,
    AmiFamily,
    Devices,
    SsmAttribute,
    choose_ami_type,
    explain_boot_failure,
    get_ami_type,
    get_family,
    list_ami_types,
)
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import Accelerator, get_instance_type

AMD64, ARM64 = Architecture.AMD64, Architecture.ARM64
NONE, NVIDIA, NEURON, OTHER = Accelerator.NONE, Accelerator.NVIDIA, Accelerator.NEURON, Accelerator.OTHER


def test_the_rows_are_exactly_the_values_of_the_eks_api() -> None:
    model = botocore.session.get_session().get_service_model("eks")
    assert set(list_ami_types()) == set(model.shape_for("AMITypes").enum)


PUBLISHED = [row for row in list_ami_types().values() if row.family in NODE_FAMILIES]


def test_a_name_says_the_same_as_its_row() -> None:
    for row in list_ami_types().values():
        assert (row.architecture is ARM64) == ("ARM_64" in row.name)
        assert (row.architecture is AMD64) == ("x86_64" in row.name)
        assert row.fips == row.name.endswith("_FIPS")
        assert (row.accelerator is NVIDIA) == ("NVIDIA" in row.name or row.name.endswith("_GPU"))
        assert (row.accelerator is NEURON) == row.name.endswith("_NEURON")
        assert row.name.lower().startswith(row.family.lower())


@pytest.mark.parametrize(
    ("name", "attribute", "path"),
    [
        ("AL2_x86_64", "release_version", "eks/optimized-ami/1.32/amazon-linux-2/recommended/release_version"),
        ("AL2_x86_64_GPU", "image_id", "eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id"),
        (
            "AL2023_ARM_64_NVIDIA",
            "image_id",
            "eks/optimized-ami/1.32/amazon-linux-2023/arm64/nvidia/recommended/image_id",
        ),
        ("BOTTLEROCKET_ARM_64", "release_version", "bottlerocket/aws-k8s-1.32/arm64/latest/image_version"),
        (
            "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
            "release_version",
            "bottlerocket/aws-k8s-1.32-nvidia-fips/x86_64/latest/image_version",
        ),
    ],
)
def test_an_image_is_published_under_its_own_parameter(name: str, attribute: SsmAttribute, path: str) -> None:
    assert get_ami_type(name).ssm_parameter("1.32", attribute) == f"/aws/service/{path}"


def test_no_two_images_share_a_parameter() -> None:
    assert len({row.ssm_parameter("1.35", "image_id") for row in PUBLISHED}) == len(PUBLISHED) == 16


@pytest.mark.parametrize("name", ["CUSTOM", "WINDOWS_FULL_2025_x86_64"])
def test_a_parameter_that_aws_does_not_publish_is_not_made_up(name: str) -> None:
    with pytest.raises(UnknownFactError, match="AMI type"):
        get_ami_type(name).ssm_parameter("1.35", "image_id")


def test_an_unknown_ami_type_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownFactError) as caught:
        get_ami_type("AL2023_ARM64_STANDARD")
    assert "AL2023_ARM_64_STANDARD" in caught.value.hint


@pytest.mark.parametrize(
    ("family", "architecture", "accelerator", "fips", "name"),
    [
        (AmiFamily.AL2, AMD64, NVIDIA, False, "AL2_x86_64_GPU"),
        (AmiFamily.AL2023, AMD64, NONE, False, "AL2023_x86_64_STANDARD"),
        (AmiFamily.BOTTLEROCKET, AMD64, NEURON, False, "BOTTLEROCKET_x86_64"),
        (AmiFamily.BOTTLEROCKET, AMD64, NVIDIA, True, "BOTTLEROCKET_x86_64_NVIDIA_FIPS"),
    ],
)
def test_the_image_follows_from_family_architecture_and_accelerator(
    family: AmiFamily,
    architecture: Architecture,
    accelerator: Accelerator,
    fips: bool,  # noqa: FBT001  (a column)
    name: str,
) -> None:
    assert choose_ami_type(family, architecture, accelerator, fips=fips).name == name


def test_an_image_that_is_not_published_is_an_error_that_says_so() -> None:
    with pytest.raises(UnknownFactError, match=r"AL2 for arm64 with nvidia accelerators.*AWS publishes none"):
        choose_ami_type(AmiFamily.AL2, ARM64, NVIDIA)
    with pytest.raises(UnknownFactError, match=r"Bottlerocket for amd64 with neuron accelerators and FIPS"):
        choose_ami_type(AmiFamily.BOTTLEROCKET, AMD64, NEURON, fips=True)


def test_each_family_boots_from_its_own_device_and_bottlerocket_keeps_data_apart() -> None:
    for family in (AmiFamily.AL2, AmiFamily.AL2023):
        assert get_family(family).devices == Devices("/dev/xvda")
        assert get_family(family).devices.node_storage == "/dev/xvda"
    assert get_family(AmiFamily.BOTTLEROCKET).devices == Devices("/dev/xvda", data="/dev/xvdb", root_gib=4)
    assert get_family(AmiFamily.BOTTLEROCKET).devices.node_storage == "/dev/xvdb"


def test_first_generation_graviton_does_not_run_amazon_linux_2023() -> None:
    reason = explain_boot_failure(AmiFamily.AL2023, get_instance_type("a1.large"))
    assert reason is not None
    assert "Graviton2" in reason
    assert explain_boot_failure(AmiFamily.AL2, get_instance_type("a1.large")) is None
    assert explain_boot_failure(AmiFamily.AL2023, get_instance_type("m6g.large")) is None
