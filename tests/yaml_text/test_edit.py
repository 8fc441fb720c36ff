"""One value is set, and every other byte of the file stays."""

from __future__ import annotations

import difflib
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from multiarch.errors import MultiarchError
from multiarch.stack.yaml_source import parse_yaml_file
from multiarch.yaml_text.additions import Addition
from multiarch.yaml_text.edit import set_value

TEXT = """\
# a stack
config:
  team: shop   # why

  groups:
    api:
      # types
      instanceTypes: [m7i.large]  # one
      minSize: 1
      # last
    flow: {instanceTypes: [a], labels: {}}
    long:
      instanceTypes:
        - x
        - y # yy
      ami: {id: ami-1}
    script:
      preBootstrap: |
        foo
        # bar
    pinned:
      ami:
        id: ami-2 # of today
  # the end
salt: x
"""


def changes(path: str, value: str = "new", comment: str = "", text: str = TEXT) -> list[str]:
    """The lines that setting a value removes and adds."""
    edited = set_value(text, Addition(("config", *path.split(".")), value, comment), below="instanceTypes")
    found = difflib.ndiff(text.splitlines(), edited.splitlines())
    return [line for line in found if line[0] in "+-"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("groups.api.minSize", ["-       minSize: 1", '+       minSize: "new" # note']),
        (
            "groups.flow.ami.release",
            [
                "-     flow: {instanceTypes: [a], labels: {}}",
                '+     flow: {instanceTypes: [a], labels: {}, ami: {release: "new"}}',
            ],
        ),
        (
            "groups.flow.labels.x",
            [
                "-     flow: {instanceTypes: [a], labels: {}}",
                '+     flow: {instanceTypes: [a], labels: {x: "new"}}',
            ],
        ),
        ("groups.long.ami.id", ["-       ami: {id: ami-1}", '+       ami: {id: "new"}']),
        ("groups.long.ami.release", ["-       ami: {id: ami-1}", '+       ami: {id: ami-1, release: "new"}']),
        ("groups.api.ami.release", ["+       ami:", '+         release: "new" # note']),
        ("groups.script.ami.amd64.id", ["+       ami:", "+         amd64:", '+           id: "new" # note']),
        ("groups.pinned.ami.id", ["-         id: ami-2 # of today", '+         id: "new" # note']),
        ("groups.more.ami.id", ["+     more:", "+       ami:", '+         id: "new" # note']),
        ("addons.coredns.version", ["+ ", "+   addons:", "+     coredns:", '+       version: "new" # note']),
        ("team", ["-   team: shop   # why", '+   team: "new" # note']),
    ],
)
def test_only_the_lines_of_the_value_change(path: str, expected: list[str]) -> None:
    assert changes(path, comment="note") == expected


def test_a_new_key_goes_below_a_given_one() -> None:
    edited = set_value(TEXT, Addition(("config", "groups", "long", "x"), "new"), below="instanceTypes")
    assert '        - y # yy\n      x: "new"\n      ami:' in edited


def test_a_key_is_added_behind_a_list_that_ends_with_an_alias() -> None:
    text = "config:\n  a: &a x\n  b:\n    instanceTypes:\n      - y\n      - *a # same\n      # of b\n\n    c: 1\n"
    edited = set_value(text, Addition(("config", "b", "e"), "new"), below="instanceTypes")
    assert edited == text.replace("*a # same\n", '*a # same\n    e: "new"\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("config:\n  a:\n", 'config:\n  a: "x"\n'),
        ("config:\n  a: # c\n", 'config:\n  a: "x" # c\n'),
        ("config: {a: , b: 1}\n", 'config: {a: "x", b: 1}\n'),
        ("config:\n  a: &v\n", 'config:\n  a: &v "x"\n'),
    ],
)
def test_a_value_is_set_where_none_is_written_and_an_anchor_stays(before: str, after: str) -> None:
    assert set_value(before, Addition(("config", "a"), "x")) == after


def test_keys_are_what_pulumi_reads_also_where_kubectl_would_take_them_for_truth_values() -> None:
    text = "config:\n  on:\n    y: 1\n"
    assert set_value(text, Addition(("config", "on", "y"), "x")) == 'config:\n  on:\n    y: "x"\n'


def test_line_ends_are_the_files_own() -> None:
    setting = Addition(("config", "addons", "coredns", "version"), "new")
    assert set_value(TEXT.replace("\n", "\r\n"), setting) == set_value(TEXT, setting).replace("\n", "\r\n")


def test_a_byte_order_mark_stays() -> None:
    setting = Addition(("config", "groups", "api", "minSize"), "new")
    assert set_value(f"\ufeff{TEXT}", setting) == f"\ufeff{set_value(TEXT, setting)}"


def test_a_file_without_a_last_line_end_can_be_added_to() -> None:
    assert set_value("config:\n  a: 1", Addition(("config", "b"), "x")) == 'config:\n  a: 1\n  b: "x"'


@pytest.mark.parametrize("path", [("config", "team", "x"), ("config", "groups", "api")])
def test_a_value_that_is_in_the_way_is_not_overwritten(path: tuple[str, ...]) -> None:
    with pytest.raises(MultiarchError, match=r"can't be replaced|is not a mapping"):
        set_value(TEXT, Addition(path, "new"))


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_value_that_two_places_share_is_set_in_neither(name: str) -> None:
    with pytest.raises(MultiarchError, match="other places share"):
        set_value("config:\n  a: &a {k: x}\n  b: *a\n", Addition(("config", name, "k"), "new"))


def test_a_text_that_is_not_yaml_is_rejected_with_its_line() -> None:
    with pytest.raises(MultiarchError, match=r"^line 2: not valid YAML: "):
        set_value("config:\n  a: {b: '\n", Addition(("config", "c"), "new"))
    with pytest.raises(MultiarchError, match=r"^the file is empty$"):
        set_value("# nothing\n", Addition(("config", "c"), "new"))


def test_a_mapping_that_is_merged_in_is_not_hidden_by_a_new_one() -> None:
    text = "a: &a {ami: {amd64: {id: x}, arm64: {}}}\nb:\n  <<: *a\n"
    with pytest.raises(MultiarchError, match="ami is merged in by <<"):
        set_value(text, Addition(("b", "ami", "arm64", "id"), "new"))


_KEYS = st.sampled_from(["a", "b", "c", "instanceTypes", "ami"])
_VALUES = st.recursive(
    st.text(alphabet="ab #:{}[]\"'\n", max_size=6) | st.integers(),
    lambda inner: st.dictionaries(_KEYS, inner, min_size=1, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(
    st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4),
    st.lists(_KEYS, min_size=1, max_size=4),
    st.booleans(),
)
def test_the_value_is_set_and_all_others_stay(values: dict[str, object], path: list[str], flow: bool) -> None:  # noqa: FBT001
    text = dumped(values, flow=flow)
    try:
        edited = set_value(text, Addition(tuple(path), "new"))
    except MultiarchError:
        return
    expected: object = values
    for key in path[:-1]:
        assert isinstance(expected, dict)
        expected = expected.setdefault(key, {})
    assert isinstance(expected, dict)
    expected[path[-1]] = "new"
    assert parse_yaml_file(edited, "F").value == values


def dumped(values: object, *, flow: bool) -> str:
    """Write YAML with ruamel, in blocks or in braces."""
    stream = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    yaml.dump(values, stream)
    return stream.getvalue()
