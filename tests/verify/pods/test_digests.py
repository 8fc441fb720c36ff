"""What a digest is the digest of: required of a real registry, through the real client."""

from __future__ import annotations

from multiarch.verify.pods.digests import Question, look_up
from multiarch.verify.pods.model import DigestKind, RegistryDigest
from tests.images.asking import asked
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository

__all__ = ["images_registry", "repository"]


def found(image_id: str, *images: str) -> RegistryDigest:
    question = Question(image_id, images)
    return asked(lambda registry: look_up(registry, [question]))[question]


def name(repository: Repository) -> str:
    return f"{repository.server.host}/{repository.name}"


def test_index_and_manifest_are_told_apart(repository: Repository) -> None:
    entries = [repository.entry("linux/amd64"), repository.entry("linux/arm64")]
    top = repository.index(entries)
    arm = str(entries[1]["digest"])
    image = f"{name(repository)}:latest"
    got = found(f"{name(repository)}@{top.digest}", image)
    assert (got.kind, got.digest, got.platform) == (DigestKind.INDEX, top.digest, None)
    assert got.inspected is not None
    assert [str(each.platform) for each in got.inspected.entries] == ["linux/amd64", "linux/arm64"]
    got = found(f"{name(repository)}@{arm}", image)
    assert (got.kind, str(got.platform)) == (DigestKind.MANIFEST, "linux/arm64")


def test_a_lying_entry_is_told_by_the_config_behind_the_manifest(repository: Repository) -> None:
    lie = repository.entry("linux/amd64", declares="linux/arm64")
    repository.index([lie])
    got = found(f"{name(repository)}@{lie['digest']}")
    assert str(got.platform) == "linux/amd64"


def test_the_digest_still_counts_when_the_tag_has_moved(repository: Repository) -> None:
    old = repository.image("linux/arm64", tag="latest")
    repository.image("linux/amd64", tag="latest")
    assert str(found(f"{name(repository)}@{old.digest}", f"{name(repository)}:latest").platform) == "linux/arm64"


def test_the_images_own_repository_is_asked_when_that_of_the_image_id_has_it_not(repository: Repository) -> None:
    made = repository.image("linux/arm64", tag="1")
    mirror = f"{repository.server.host}/mirror/of-it@{made.digest}"
    assert str(found(mirror, f"{name(repository)}:1").platform) == "linux/arm64"
    imported = f"docker.io/library/import-2026-11-21@{made.digest}"
    assert str(found(imported, f"{name(repository)}:1").platform) == "linux/arm64"


def test_what_no_registry_has_is_unknown_with_the_reason(repository: Repository) -> None:
    repository.image("linux/arm64", tag="1")
    gone, image = f"sha256:{'0' * 64}", f"{name(repository)}:1"
    got = found(f"{name(repository)}@{gone}", image)
    assert got.kind is DigestKind.UNKNOWN
    assert got.reason == (
        f"{name(repository)} no longer has {gone}: the tag has moved since and the image was deleted, or it "
        "was imported"
    )
    got = found(f"127.0.0.1:1/team/app@{gone}")
    assert got.reason.startswith("127.0.0.1:1: unreachable: ")
    assert got.settled_by == "Check the registry's name, the network and the proxy settings"


def test_artifacts_and_manifests_without_an_architecture_are_unknown(repository: Repository) -> None:
    chart = repository.artifact("application/vnd.cncf.helm.config.v1+json", "application/tar+gzip", tag="chart")
    got = found(f"{name(repository)}@{chart.digest}")
    assert (got.kind, got.reason) == (
        DigestKind.UNKNOWN,
        "not an image: an artifact of type application/vnd.cncf.helm.config.v1+json",
    )
    silent = repository.image(None, tag="silent")
    got = found(f"{name(repository)}@{silent.digest}")
    assert (got.kind, got.platform, got.reason) == (DigestKind.MANIFEST, None, "its config has no architecture")


def test_each_distinct_question_is_asked_once(repository: Repository) -> None:
    made = repository.image("linux/arm64", tag="1")
    top = repository.index([repository.entry("linux/amd64")], tag="2")
    image = f"{name(repository)}:1"
    questions = [
        Question(f"{name(repository)}@{made.digest}", (image,)),
        Question(f"{name(repository)}@{top.digest}", (image,)),
    ]
    counts: list[tuple[int, int]] = []

    got = asked(lambda registry: look_up(registry, questions * 3, looked_up=lambda *pair: counts.append(pair)))
    assert [got[each].kind for each in questions] == [DigestKind.MANIFEST, DigestKind.INDEX]
    assert counts[-1] == (2, 2)
