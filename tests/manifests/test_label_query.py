from __future__ import annotations

import pytest

from multiarch.manifests.label_query import LabelQueryError, parse_label_query


@pytest.mark.parametrize("wrong", ["=a", "a in b", "a,,b"])
def test_a_label_selector_that_kubectl_rejects_is_rejected(wrong: str) -> None:
    with pytest.raises(LabelQueryError, match="is not a label selector"):
        parse_label_query(wrong)
