"""What a manifest says it is, whatever anybody wrote into it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from multiarch.images.manifests import annotations_of, descriptor_of, kind_of
from multiarch.images.model import ImageKind, platform_of
from multiarch.registry.model import MANIFEST_TYPES

KEYS = ["mediaType", "config", "layers", "manifests", "annotations", "artifactType", "schemaVersion", "digest", "size"]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(MANIFEST_TYPES)
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)


@given(st.sampled_from([*MANIFEST_TYPES, "", "text/html"]), st.dictionaries(st.sampled_from(KEYS), ANYTHING))
def test_any_json_is_of_some_kind_and_what_is_not_an_image_or_index_has_a_note(
    media_type: str, content: dict[str, object]
) -> None:
    kind, note = kind_of(media_type, content)
    assert (note == "") == (kind in (ImageKind.IMAGE, ImageKind.INDEX))
    assert note.isprintable()


@given(ANYTHING)
def test_any_json_is_a_descriptor_or_none(value: object) -> None:
    found = descriptor_of(value)
    if found is not None:
        assert value == json.loads(json.dumps(value))
        assert found.size >= 0
    if isinstance(value, dict):
        assert all(isinstance(text, str) for text in annotations_of(value).values())
        platform_of(value)
