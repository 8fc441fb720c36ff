"""Which stacks a change touches."""

from __future__ import annotations

import pytest

from multiarch.stack.affected import FileChange, list_affected

_OWN = "config/stacks/Pulumi.shop-dev.yaml"
_SHOP = (
    "config:\n  aws:region: eu-west-1\n  multiarch-eks:team: shop\n  multiarch-eks:session: {idleTimeoutMinutes: 5}\n"
)
_STACKS = ["shop-dev", "pay-dev"]
_PROJECT = """name: multiarch-eks
runtime: python
config:
  multiarch-eks:defaults:
    value:
      session: {idleTimeoutMinutes: 15}
"""


def _names(*changes: FileChange) -> list[str]:
    return list(list_affected(changes, _STACKS))


def test_a_stacks_own_values_touch_it_alone() -> None:
    after = _SHOP.replace("shop", "shops")
    assert list_affected([FileChange(_OWN, _SHOP, after)], _STACKS) == {"shop-dev": (f"{_OWN} changed",)}


def test_comments_and_layout_of_a_stack_file_touch_nothing() -> None:
    after = "# now with a comment\n" + _SHOP.replace("{idleTimeoutMinutes: 5}", "\n    idleTimeoutMinutes: 5 # minutes")
    assert _names(FileChange(_OWN, _SHOP, after)) == []


@pytest.mark.parametrize(("before", "after"), [("1", '"1"'), ("true", "1"), ("1.5", "1")])
def test_values_of_another_type_are_other_values(before: str, after: str) -> None:
    text = "config:\n  multiarch-eks:team: {}\n"
    assert _names(FileChange(_OWN, text.format(before), text.format(after))) == ["shop-dev"]


def test_a_new_stack_file_is_named_as_new() -> None:
    assert list_affected([FileChange(_OWN, None, _SHOP)], _STACKS) == {"shop-dev": (f"{_OWN} is new",)}


def test_a_file_that_is_not_yaml_counts() -> None:
    assert _names(FileChange(_OWN, _SHOP, "config: [")) == ["shop-dev"]


def test_a_deleted_file_touches_no_other_stack() -> None:
    assert _names(FileChange("config/stacks/Pulumi.gone-dev.yaml", _SHOP, None)) == []


def test_the_project_touches_all_if_its_values_differ() -> None:
    for after in (_PROJECT.replace("15", "20"), "[", None):
        assert _names(FileChange("Pulumi.yaml", _PROJECT, after)) == ["pay-dev", "shop-dev"]
    assert _names(FileChange("Pulumi.yaml", _PROJECT, _PROJECT + "  # a comment\n")) == []


@pytest.mark.parametrize(
    "path",
    [
        "__main__.py", "multiarch/facts/data/instance_types.csv", "charts/multiarch-webhook/templates/server.yaml",
        "requirements.txt", "helper.py", "config/stacks/other.txt", "data/README.md",
    ],
)  # fmt: skip
def test_what_the_program_may_read_touches_all(path: str) -> None:
    assert _names(FileChange(path)) == ["pay-dev", "shop-dev"]


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "docs/index.md", "tests/conftest.py", "config/stack.schema.json", ".github/workflows/review.yml",
        "config/stacks/addon-schemas/coredns_v1.12.4-eksbuild.1.json",
        "requirements-dev.txt", "requirements-dev.lock",
        "components/aws/__pycache__/network.cpython-311.pyc",
    ],
)  # fmt: skip
def test_what_the_program_never_reads_touches_none(path: str) -> None:
    assert _names(FileChange(path)) == []
