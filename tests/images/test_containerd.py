"""What containerd 2 makes of an index: features, marks, and JSON as Go decodes it. No registry."""

from __future__ import annotations

import asyncio

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_image
from multiarch.images.model import Judgement, Verdict
from multiarch.images.verdict import judge_image
from multiarch.registry.model import OCI_MANIFEST
from tests.images.held import REFERENCE, Held
from tests.images.shapes import UNKNOWN, platform

AMD64, ARM64 = Architecture
MARK = {"vnd.docker.reference.type": "attestation-manifest"}


def judged(held: Held, architecture: Architecture = ARM64) -> Judgement:
    return judge_image(asyncio.run(inspect_image(held, REFERENCE)), architecture)


def image(held: Held, says: str = "linux/arm64", **entry: object) -> dict[str, object]:
    return held.image(platform(says)) | entry


def featured(*features: str, **more: str) -> dict[str, object]:
    return {**platform("linux/arm64", **more), "os.features": list(features)}


def test_an_entry_with_features_is_for_nodes_that_have_them() -> None:
    held = Held()
    held.index([image(held, platform=featured("erofs")), image(held, "linux/amd64", platform=platform("linux/amd64"))])
    got = judged(held)
    assert got.verdict is Verdict.UNKNOWN
    assert got.reason == (
        "only linux(+erofs)/arm64, which does not run on every arm64 instance; "
        "containerd only selects linux/arm64 from an index"
    )
    assert judged(held, AMD64).verdict is Verdict.SUPPORTED


def test_an_entry_without_features_is_selected_after_one_with_them() -> None:
    held = Held()
    plain = image(held, platform=featured(), annotations={"plain": "yes"})
    held.index([image(held, platform=featured("b", "a")), plain])
    got = judged(held)
    assert (got.verdict, got.digest) == (Verdict.SUPPORTED, plain["digest"])


def test_features_in_a_config_count_only_behind_an_index() -> None:
    held = Held()
    made = held.image(featured("erofs"))
    assert judged(held).verdict is Verdict.SUPPORTED
    held.index([made])
    assert judged(held).verdict is Verdict.UNKNOWN


def test_a_mark_does_not_hide_a_real_platform() -> None:
    held = Held()
    held.index([image(held, platform=platform("linux/arm64"), annotations=MARK)])
    assert judged(held).verdict is Verdict.SUPPORTED
    held.index([image(held, annotations=MARK)])
    assert judged(held).verdict is Verdict.SUPPORTED
    held.index([image(held, platform=UNKNOWN, annotations=MARK)])
    assert judged(held).reason == "index has no runnable entry"


@pytest.mark.parametrize("value", [None, [], {}, [{}]])
def test_an_index_with_an_image_s_key_is_rejected_whatever_its_value(value: object) -> None:
    held = Held()
    for key in ("layers", "config", "fsLayers"):
        held.index([image(held, platform=platform("linux/arm64"))], **{key: value})
        assert judged(held).verdict is Verdict.UNKNOWN
    held.image(platform("linux/arm64"), manifests=value)
    assert judged(held).verdict is Verdict.UNKNOWN


def test_nulls_and_unknown_keys_have_no_type() -> None:
    held = Held()
    entry = image(held, platform=platform("linux/arm64") | {"variant": None}, annotations={"a": None}, other=[1])
    held.index([entry, None], annotations=None, subject=None, other=5)
    assert judged(held).verdict is Verdict.SUPPORTED


def test_an_entry_without_a_digest_is_named_by_its_place() -> None:
    held = Held()
    held.index([{"mediaType": OCI_MANIFEST, "digest": "", "size": 1}])
    assert judged(held).reason == (
        "no readable entry is linux/arm64, and entry 1 of the index has no valid mediaType, digest or size"
    )
    held.index([{"mediaType": OCI_MANIFEST, "digest": "", "size": 1}, image(held)])
    assert judged(held).reason.endswith("but containerd only tries one entry, and an entry (unreadable) comes first")
