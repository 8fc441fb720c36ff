"""Every shape of image, from a real registry to its verdicts."""

from __future__ import annotations

import asyncio
import json

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import DEEPEST, MOST_ENTRIES, inspect_image, inspect_manifest
from multiarch.images.model import EntryKind, ImageKind, Verdict
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST, Descriptor, Manifest
from tests.images.asking import inspected, judged
from tests.images.held import REFERENCE, Held
from tests.images.shapes import EMPTY, OCI_CONFIG, UNKNOWN, Repository, described, platform

AMD64, ARM64 = Architecture
SUPPORTED, UNSUPPORTED = Verdict.SUPPORTED, Verdict.UNSUPPORTED


def both(repository: Repository) -> tuple[Verdict, Verdict]:
    found = judged(repository)
    return found[AMD64].verdict, found[ARM64].verdict


@pytest.mark.parametrize("docker", [False, True])
@pytest.mark.parametrize("says", ["linux/amd64", "linux/arm64"])
def test_a_single_manifest_s_architecture_is_in_its_config(repository: Repository, says: str, *, docker: bool) -> None:
    made = repository.image(says, tag="latest", docker=docker, annotations={} if docker else {"b": "2", "a": "1"})
    got = inspected(repository)
    assert (got.kind, got.digest) == (ImageKind.IMAGE, made.digest)
    assert [(entry.kind, str(entry.platform)) for entry in got.entries] == [(EntryKind.IMAGE, says)]
    assert got.annotations == ({} if docker else {"a": "1", "b": "2"})
    assert both(repository) == ((SUPPORTED, UNSUPPORTED) if says == "linux/amd64" else (UNSUPPORTED, SUPPORTED))


def test_attestations_are_skipped(repository: Repository) -> None:
    image = repository.entry("linux/amd64")
    marks = {"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": str(image["digest"])}
    made = repository.artifact(OCI_CONFIG, "application/vnd.in-toto+json")
    repository.index([image, described(made, platform=UNKNOWN, annotations=marks), described(made, annotations=marks)])
    got = inspected(repository)
    assert [entry.kind for entry in got.entries] == [EntryKind.IMAGE, EntryKind.ATTESTATION, EntryKind.ATTESTATION]
    assert got.entries[1].annotations == marks
    assert both(repository) == (SUPPORTED, UNSUPPORTED)


def test_indexes_in_indexes_end_at_a_depth(repository: Repository) -> None:
    made = repository.image("linux/arm64")
    entry = described(made, platform=platform("linux/arm64"))
    for _ in range(DEEPEST - 1):
        entry = described(repository.index([entry], tag=None))
    repository.index([entry])
    assert judged(repository)[ARM64].verdict is SUPPORTED
    repository.index([described(repository.index([entry], tag=None))])
    deeper = judged(repository)[ARM64]
    assert deeper.verdict is Verdict.UNKNOWN
    assert f"more than {DEEPEST} levels" in deeper.reason


def test_indexes_in_an_index_have_no_more_entries_together_than_one() -> None:
    held = Held()
    row = {"mediaType": OCI_MANIFEST, "digest": f"sha256:{1:064x}", "size": 1, "platform": platform("linux/amd64")}
    held.index([held.index([row] * (MOST_ENTRIES // 2), note=number) for number in range(4)])
    got = asyncio.run(inspect_image(held, REFERENCE))
    entries = [entry for child in got.entries for entry in child.children]
    assert sum(entry.kind is EntryKind.IMAGE for entry in entries) == MOST_ENTRIES - 4
    assert [entry.note for entry in entries if entry.kind is EntryKind.UNREADABLE] == [
        "the index has 2048 entries; only the first 2044 are read",
        *["the index has 2048 entries; only the first 0 are read"] * 2,
    ]


def test_artifacts_are_named_and_have_no_verdict(repository: Repository) -> None:
    chart = "application/vnd.cncf.helm.config.v1+json"
    signature = "application/vnd.dev.cosign.simplesigning.v1+json"
    repository.artifact(chart, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", tag="chart")
    repository.artifact(OCI_CONFIG, signature, tag="signature")
    repository.artifact(EMPTY, "text/plain", tag="other", artifactType="application/vnd.example+type")
    subject = repository.image("linux/amd64", tag="subject")
    repository.artifact(EMPTY, EMPTY, tag="referrer", artifactType="application/spdx+json", subject=described(subject))
    for tag, note in {
        "chart": f"not an image: an artifact of type {chart}",
        "signature": f"not an image: an artifact of type {signature}",
        "other": "not an image: an artifact of type application/vnd.example+type",
        "referrer": "not an image: an artifact of type application/spdx+json",
    }.items():
        assert (inspected(repository, tag).kind, inspected(repository, tag).note) == (ImageKind.ARTIFACT, note)
        for found in judged(repository, tag).values():
            assert (found.verdict, found.reason) == (Verdict.UNKNOWN, note)


def test_an_image_with_an_artifact_type_still_runs(repository: Repository) -> None:
    repository.image("linux/arm64", tag="latest", artifactType="application/vnd.example+type")
    assert judged(repository)[ARM64].verdict is SUPPORTED


def test_an_artifact_in_an_index_is_not_read(repository: Repository) -> None:
    made = repository.artifact(EMPTY, "text/plain", artifactType="text/plain")
    repository.index([repository.entry("linux/arm64"), described(made, artifactType="text/plain")])
    assert [entry.kind for entry in inspected(repository).entries] == [EntryKind.IMAGE, EntryKind.ARTIFACT]
    repository.index([described(made)])
    assert [entry.kind for entry in inspected(repository).entries] == [EntryKind.ARTIFACT]


def test_a_child_that_is_not_there_is_named(repository: Repository) -> None:
    missing = Descriptor(OCI_MANIFEST, f"sha256:{7:064x}", 7)
    repository.index([repository.entry("linux/amd64"), described(missing)])
    found = judged(repository)
    assert found[AMD64].verdict is SUPPORTED
    assert found[ARM64].verdict is Verdict.UNKNOWN
    assert "not found" in found[ARM64].reason
    assert missing.digest in found[ARM64].reason


def test_a_config_that_is_not_json_is_malformed(repository: Repository) -> None:
    config = repository.server.push_blob(repository.name, b"[", OCI_CONFIG)
    content = {"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": described(config), "layers": []}
    repository.server.push_manifest(repository.name, "latest", content, OCI_MANIFEST)
    with pytest.raises(RegistryError) as caught:
        inspected(repository)
    assert caught.value.reason is RegistryReason.MALFORMED
    assert "is not JSON" in judged(repository)[ARM64].reason


def read(media_type: str, content: object) -> tuple[ImageKind, str]:
    """What a manifest is that no registry would take, or that the real one rejects."""
    manifest = Manifest(media_type, "sha256:1", json.dumps(content).encode())
    got = asyncio.run(inspect_manifest(Held(), REFERENCE, manifest))
    return got.kind, got.note


def test_an_index_that_is_an_image_too_is_rejected_as_runtimes_do() -> None:
    kind, note = read(OCI_INDEX, {"manifests": [], "layers": [{}], "config": {}})
    assert kind is ImageKind.UNRECOGNISED
    assert note == f"served as an index ({OCI_INDEX}), but its content is an image"
    assert read(OCI_MANIFEST, {"mediaType": OCI_INDEX})[0] is ImageKind.UNRECOGNISED


@pytest.mark.parametrize(
    "row",
    [5, {}, {"mediaType": OCI_MANIFEST}, {"mediaType": OCI_MANIFEST, "digest": "sha256:1", "size": 4}, {"digest": []}],
)
def test_an_entry_that_is_not_a_descriptor_is_said(row: object) -> None:
    manifest = Manifest(OCI_INDEX, "sha256:1", json.dumps({"manifests": [row]}).encode())
    (entry,) = asyncio.run(inspect_manifest(Held(), REFERENCE, manifest)).entries
    assert entry.kind is EntryKind.UNREADABLE
    assert entry.note.startswith("entry 1 of the index has no valid mediaType")
