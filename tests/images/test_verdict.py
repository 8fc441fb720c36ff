"""Verdicts from what an index says; no registry."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.images.model import EntryKind, ImageKind, Inspected, Judgement, PlatformEntry, Verdict, parse_platform
from multiarch.images.verdict import judge_architectures, judge_image, judge_volume
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from multiarch.registry.reference import parse_reference
from tests.images.held import Held

AMD64, ARM64 = Architecture
SUPPORTED, UNSUPPORTED, UNKNOWN = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.UNKNOWN
REFERENCE = parse_reference("example.com/team/image:1")


def entry(
    platform: str | None, number: int = 0, *, declared: bool = True, kind: EntryKind = EntryKind.IMAGE
) -> PlatformEntry:
    read = None if platform is None else parse_platform(platform)
    digest = f"sha256:{number:064x}"
    return PlatformEntry(kind, read, digest, 500, OCI_MANIFEST, declared=declared and platform is not None)


def nested(platform: str | None, *children: PlatformEntry, number: int = 99) -> PlatformEntry:
    read = None if platform is None else parse_platform(platform)
    digest = f"sha256:{number:064x}"
    return PlatformEntry(EntryKind.INDEX, read, digest, 500, OCI_INDEX, declared=read is not None, children=children)


def unreadable(number: int = 50) -> PlatformEntry:
    return PlatformEntry(
        EntryKind.UNREADABLE, None, f"sha256:{number:064x}", 1, OCI_MANIFEST, note="gone", declared=False
    )


def index(*entries: PlatformEntry) -> Inspected:
    return Inspected(REFERENCE, ImageKind.INDEX, OCI_INDEX, "sha256:1", 500, entries)


def single(platform: str | None) -> Inspected:
    note = "" if platform else "its config has no architecture"
    only = PlatformEntry(
        EntryKind.IMAGE, parse_platform(platform) if platform else None, "sha256:1", 5, OCI_MANIFEST, {}, note
    )
    return Inspected(REFERENCE, ImageKind.IMAGE, OCI_MANIFEST, "sha256:1", 500, (only,))


def judged(inspected: Inspected) -> tuple[Judgement, Judgement]:
    return judge_image(inspected, AMD64), judge_image(inspected, ARM64)


def both(inspected: Inspected) -> tuple[Verdict, Verdict]:
    amd64, arm64 = judged(inspected)
    assert amd64.reason
    assert arm64.reason
    return amd64.verdict, arm64.verdict


@pytest.mark.parametrize(
    ("platforms", "amd64", "arm64"),
    [
        (["linux/amd64", "linux/arm64"], SUPPORTED, SUPPORTED),
        (["linux/amd64", "linux/arm64/v8"], SUPPORTED, SUPPORTED),
        (["linux/amd64", "linux/arm/v7"], SUPPORTED, UNSUPPORTED),
        (["linux/386"], UNSUPPORTED, UNSUPPORTED),
        (["windows/amd64", "windows/arm64"], UNSUPPORTED, UNSUPPORTED),
        (["linux/amd64/v3"], UNKNOWN, UNSUPPORTED),
        (["linux/amd64/v3", "linux/amd64"], SUPPORTED, UNSUPPORTED),
        (["linux/arm64/v9"], UNSUPPORTED, UNKNOWN),
        (["linux/s390x", "linux/ppc64le"], UNSUPPORTED, UNSUPPORTED),
        ([], UNSUPPORTED, UNSUPPORTED),
    ],
)
def test_an_index_runs_where_it_has_a_linux_entry(platforms: list[str], amd64: Verdict, arm64: Verdict) -> None:
    assert both(index(*(entry(platform, at) for at, platform in enumerate(platforms)))) == (amd64, arm64)


def test_the_digest_is_the_manifest_s_that_runs() -> None:
    amd64, arm64 = judged(index(entry("linux/amd64", 1), entry("linux/arm64/v8", 2), entry("linux/arm64", 3)))
    assert amd64 == Judgement(AMD64, SUPPORTED, "index has linux/amd64", f"sha256:{1:064x}")
    assert arm64.digest == f"sha256:{2:064x}"


def test_reasons_name_what_is_there() -> None:
    amd64, arm64 = judged(index(entry("linux/amd64"), entry("linux/arm/v6"), entry("linux/arm/v7")))
    assert arm64.reason == (
        "index has linux/amd64, linux/arm/v6 and linux/arm/v7, but not linux/arm64; "
        "containerd would try linux/arm/v7, which is 32-bit"
    )
    assert amd64.reason == "index has linux/amd64"
    many = judge_image(index(*(entry(f"linux/a{n}", n) for n in range(12))), ARM64)
    assert many.reason.startswith("index has linux/a0, linux/a1, linux/a10, linux/a11, linux/a2, ")
    assert many.reason.endswith("linux/a5 and 4 more, but not linux/arm64")
    assert judge_image(index(), ARM64).reason == "index is empty"


def test_a_variant_that_not_all_instances_have_is_unknown_with_the_reason() -> None:
    assert judge_image(index(entry("linux/amd64/v3")), AMD64).reason == (
        "only linux/amd64/v3, which does not run on every amd64 instance; "
        "containerd only selects linux/amd64 from an index"
    )
    assert both(single("linux/amd64/v3")) == (UNKNOWN, UNSUPPORTED)


def test_an_entry_without_a_platform_is_what_its_config_says() -> None:
    amd64, arm64 = judged(index(entry("linux/amd64", 1), entry("linux/arm64", 2, declared=False)))
    assert (amd64.verdict, arm64.verdict) == (SUPPORTED, SUPPORTED)
    assert arm64.reason == "index entry without platform; its config says linux/arm64"


def test_of_two_entries_without_a_platform_containerd_tries_the_first_alone() -> None:
    amd64, arm64 = judged(index(entry("linux/amd64", 1, declared=False), entry("linux/arm64", 2, declared=False)))
    assert amd64.verdict is SUPPORTED
    assert arm64.verdict is UNKNOWN
    assert arm64.reason == (
        f"sha256:{2:064x}, which has no platform in the index, is linux/arm64, but containerd only tries one entry, "
        f"and sha256:{1:064x} (linux/amd64) comes first"
    )


def test_nested_indexes_are_entered() -> None:
    inner = nested(None, entry("linux/arm64", 5))
    assert both(index(entry("linux/amd64", 1), inner)) == (SUPPORTED, SUPPORTED)
    assert judge_image(index(inner), ARM64).reason == "nested index has linux/arm64"
    assert both(index(nested("linux/amd64", entry("linux/arm64", 5)))) == (UNSUPPORTED, UNKNOWN)


@pytest.mark.parametrize("kind", [ImageKind.ARTIFACT, ImageKind.UNRECOGNISED])
def test_what_is_not_an_image_is_neither_supported_nor_unsupported(kind: ImageKind) -> None:
    inspected = Inspected(REFERENCE, kind, "a/b", "sha256:1", 5, note="not an image: a Helm chart")
    assert judge_image(inspected, ARM64) == Judgement(ARM64, UNKNOWN, "not an image: a Helm chart", None)


_ENTRIES = st.recursive(
    st.builds(
        entry,
        st.sampled_from(["linux/amd64", "linux/arm64", "linux/arm/v7", "linux/386", "windows/amd64", "linux/arm64/v9"]),
        st.integers(0, 9),
        declared=st.booleans(),
        kind=st.sampled_from(EntryKind).filter(lambda kind: kind is not EntryKind.INDEX),
    )
    | st.builds(unreadable),
    lambda inner: st.builds(
        lambda platform, children: nested(platform, *children),
        st.none() | st.just("linux/arm64"),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)


@given(st.lists(_ENTRIES, max_size=6), st.sampled_from(Architecture))
def test_supported_names_a_manifest_of_that_architecture_and_all_else_names_none(
    entries: list[PlatformEntry], architecture: Architecture
) -> None:
    got = judge_image(index(*entries), architecture)
    assert got.reason
    found = list(entries)
    for each in found:
        found.extend(each.children)
    fitting = {
        each.digest
        for each in found
        if each.kind is EntryKind.IMAGE and each.platform is not None and each.platform.runs_on(architecture)
    }
    if got.verdict is SUPPORTED:
        assert got.digest in fitting
    else:
        assert got.digest is None
    if got.verdict is UNSUPPORTED:
        assert not fitting


def test_what_a_registry_rejects_is_unknown_with_its_words() -> None:
    found = asyncio.run(judge_architectures(Held(), REFERENCE, (ARM64, AMD64)))
    assert [each.architecture for each in found] == [ARM64, AMD64]
    for each in found:
        assert each.verdict is UNKNOWN
        assert each.reason.startswith("not found. ")


@pytest.mark.parametrize(
    ("inspected", "amd64", "arm64"),
    [
        (index(entry("linux/amd64"), entry("linux/arm64", 1)), SUPPORTED, SUPPORTED),
        (index(entry("linux/amd64")), SUPPORTED, UNSUPPORTED),
        (index(entry("linux/amd64"), entry("linux/arm/v7", 1)), SUPPORTED, SUPPORTED),
        (index(entry("windows/amd64")), UNSUPPORTED, UNSUPPORTED),
        (index(), UNSUPPORTED, UNSUPPORTED),
        (single("linux/amd64"), SUPPORTED, SUPPORTED),
        (single("linux/amd64/v3"), SUPPORTED, SUPPORTED),
        (single("windows/amd64"), UNSUPPORTED, UNSUPPORTED),
        (single(None), UNKNOWN, UNKNOWN),
    ],
)
def test_a_volume_s_image_is_pulled_by_platform_and_not_run(
    inspected: Inspected, amd64: Verdict, arm64: Verdict
) -> None:
    found = [judge_volume(inspected, each) for each in (AMD64, ARM64)]
    assert [each.verdict for each in found] == [amd64, arm64]
    assert all(each.reason and (each.digest is not None) == (each.verdict is SUPPORTED) for each in found)
