import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.architectures import (
    Architecture,
    format_ami_architecture,
    is_elf_without_processor,
    name_elf_machine,
    normalise_platform,
    parse_ec2_architecture,
    parse_elf_machine,
)


def test_each_spelling_of_ec2_has_one_architecture() -> None:
    for supported in (["x86_64"], ["i386", "x86_64"], ["x86_64_mac"]):
        assert parse_ec2_architecture(supported) is Architecture.AMD64
    assert parse_ec2_architecture(["arm64_mac"]) is Architecture.ARM64
    for each in Architecture:
        assert parse_ec2_architecture([format_ami_architecture(each)]) is each


@pytest.mark.parametrize("supported", [[], ["i386"], ["x86_64", "arm64"], ["x86_64", "riscv64"]])
def test_what_ec2_does_not_say_today_is_an_error(supported: list[str]) -> None:
    with pytest.raises(UnknownFactError, match="EC2 architecture"):
        parse_ec2_architecture(supported)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("arm64", "v8"), ("arm64", "")),
        (("AArch64", ""), ("arm64", "")),
        (("x86_64", "V1"), ("amd64", "")),
        (("amd64", "v3"), ("amd64", "v3")),
        (("arm", "8"), ("arm", "v8")),
        (("armel", ""), ("arm", "v6")),
        (("riscv64", "rva23"), ("riscv64", "rva23")),
    ],
)
def test_images_spellings_that_mean_the_same_are_one(written: tuple[str, str], meant: tuple[str, str]) -> None:
    assert normalise_platform(*written) == meant
    assert normalise_platform(*meant) == meant


def test_elf_s_numbers_are_an_architecture_only_with_its_word_size_and_byte_order() -> None:
    assert parse_elf_machine(62, bits=64, little_endian=True) is Architecture.AMD64
    assert parse_elf_machine(183, bits=64, little_endian=True) is Architecture.ARM64
    assert parse_elf_machine(183, bits=64, little_endian=False) is None
    assert parse_elf_machine(62, bits=32, little_endian=True) is None
    assert parse_elf_machine(40, bits=32, little_endian=True) is None
    assert [name_elf_machine(number) for number in (40, 62, 247, 1234)] == ["arm", "amd64", "BPF", "machine 1234"]
    assert [is_elf_without_processor(number) for number in (62, 183, 247)] == [False, False, True]
