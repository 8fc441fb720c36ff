import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.architectures import Architecture, from_ec2, from_uname, to_ami


@pytest.mark.parametrize(
    ("supported", "architecture"),
    [
        (["x86_64"], Architecture.AMD64),
        (["i386", "x86_64"], Architecture.AMD64),
        (["x86_64_mac"], Architecture.AMD64),
        (["arm64"], Architecture.ARM64),
        (["arm64_mac"], Architecture.ARM64),
    ],
)
def test_each_spelling_of_ec2_has_one_architecture(supported: list[str], architecture: Architecture) -> None:
    assert from_ec2(supported) is architecture


@pytest.mark.parametrize("supported", [[], ["i386"], ["riscv64"], ["x86_64", "arm64"], ["x86_64", "riscv64"]])
def test_what_ec2_does_not_say_today_is_an_error(supported: list[str]) -> None:
    with pytest.raises(UnknownFactError, match="EC2 architecture"):
        from_ec2(supported)


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", "amd64"), ("amd64", "amd64"), ("aarch64", "arm64"), ("arm64", "arm64")],
)
def test_uname_is_translated(machine: str, architecture: str) -> None:
    assert from_uname(machine) == architecture


@pytest.mark.parametrize("machine", ["", "armv7l", "i686", "X86_64", "aarch64_be", "s390x"])
def test_a_32_bit_or_foreign_machine_is_an_error_and_not_amd64(machine: str) -> None:
    with pytest.raises(UnknownFactError, match="machine name"):
        from_uname(machine)


def test_amis_spell_amd64_in_their_own_way() -> None:
    assert {architecture: to_ami(architecture) for architecture in Architecture} == {
        Architecture.AMD64: "x86_64",
        Architecture.ARM64: "arm64",
    }


@pytest.mark.parametrize("architecture", Architecture)
def test_what_goes_to_an_ami_comes_back_from_ec2(architecture: Architecture) -> None:
    assert from_ec2([to_ami(architecture)]) is architecture
