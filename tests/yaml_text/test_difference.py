"""The names in the header of a patch."""

from __future__ import annotations

import pytest

from multiarch.yaml_text.difference import format_patch


@pytest.mark.parametrize(
    ("name", "header"), [("stack.yaml", "--- a/stack.yaml\n"), ("/home/me/stack.yaml", "--- /home/me/stack.yaml\n")]
)
def test_an_absolute_name_stays_as_it_is(name: str, header: str) -> None:
    assert format_patch(name, "a: 1\n", "a: 2\n").startswith(header)
