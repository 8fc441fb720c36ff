from typing import Any

import pytest

from multiarch.manifests.values import ManifestError, ObjectReference, Value


def value(raw: object) -> Value:
    return Value(raw, ObjectReference(3, "Deployment", "shop/api"))


def test_an_error_has_document_kind_name_and_path_as_fields() -> None:
    with pytest.raises(ManifestError, match=r"^document 3, Deployment shop/api: spec\.replicas: must be") as caught:
        value({"spec": {"replicas": 1.5}})["spec"]["replicas"].whole(1, least=0)
    error = caught.value
    assert (error.document, error.kind, error.name, error.path) == (3, "Deployment", "shop/api", "spec.replicas")


def test_what_is_missing_and_what_is_null_have_the_default() -> None:
    for empty in (value({})["a"], value({"a": None})["a"], value(None)["a"]):
        assert (empty.text("x"), empty.whole(2, least=0), empty.truth(), empty.texts()) == ("x", 2, False, ())
        assert (dict(empty.mapping()), empty.pairs(), empty.quantities()) == ({}, (), {})


@pytest.mark.parametrize(
    ("read", "raw", "words"),
    [
        ("mapping", [], "a: must be a mapping, not []."),
        ("texts", {}, "a: must be a list, not {}."),
        ("texts", ["x", 1], "a[1]: must be a string, not 1. Put it in quotes."),
        ("text", True, "a: must be a string, not True. YAML reads true, false"),
        ("required_text", "", "a: is missing or empty."),
        ("truth", "yes", "a: must be true or false, not 'yes'."),
        ("pairs", {1: "x"}, "a: the key 1 must be a string. Put it in quotes."),
        ("quantities", {"cpu": "-1"}, "a.cpu: must not be negative: -1."),
        ("mapping", "x" * 100, f"a: must be a mapping, not '{'x' * 56}..."),
    ],
)
def test_a_value_of_another_type_is_rejected(read: str, raw: Any, words: str) -> None:  # noqa: ANN401 # any YAML
    with pytest.raises(ManifestError) as caught:
        getattr(value({"a": raw})["a"], read)()
    assert words in str(caught.value)
