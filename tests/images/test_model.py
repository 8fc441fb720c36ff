"""Platforms in one spelling."""

from __future__ import annotations

import pytest

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.images.model import parse_platform, read_platform


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("linux", "arm64", "v8"), "linux/arm64"),
        (("linux", "arm64", ""), "linux/arm64"),
        (("Linux", "AArch64", ""), "linux/arm64"),
        (("linux", "arm64", "v9"), "linux/arm64/v9"),
        (("linux", "arm", ""), "linux/arm/v7"),
        (("linux", "arm", "v6"), "linux/arm/v6"),
        (("linux", "armel", ""), "linux/arm/v6"),
        (("linux", "amd64", "v1"), "linux/amd64"),
        (("linux", "amd64", "v3"), "linux/amd64/v3"),
        (("linux", "i386", "i686"), "linux/386"),
        (("", "arm64", ""), "?/arm64"),
        (("linux", "", ""), "linux/?"),
    ],
)
def test_spellings_that_mean_the_same_are_one(written: tuple[str, str, str], meant: str) -> None:
    read = read_platform(dict(zip(("os", "architecture", "variant"), written, strict=True)))
    assert str(read) == meant
    assert read.raw == "/".join(filter(None, written))


def test_a_platform_is_one_architecture_s_or_none_s() -> None:
    assert parse_platform("linux/arm64/v8").runs_on(Architecture.ARM64)
    assert parse_platform("arm64").runs_on(Architecture.ARM64)
    assert not parse_platform("linux/arm/v7").runs_on(Architecture.ARM64)
    assert not parse_platform("windows/amd64").runs_on(Architecture.AMD64)
    assert not parse_platform("linux/amd64/v3").runs_on(Architecture.AMD64)
    assert parse_platform("linux/amd64/v3").needs_more_than(Architecture.AMD64)
    assert not parse_platform("linux/amd64/v1").needs_more_than(Architecture.AMD64)


@pytest.mark.parametrize("text", ["", "linux/", "/arm64", "a/b/c/d", "linux/arm 64", "linux//v8", "linux/\n"])
def test_a_text_that_is_not_a_platform_is_rejected(text: str) -> None:
    with pytest.raises(MultiarchError, match="Invalid platform"):
        parse_platform(text)
