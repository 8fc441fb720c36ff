"""A YAML file as values and lines; what YAML and Pulumi read differently is a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.errors import StackError
from multiarch.stack.yaml_source import parse_yaml_file, read_text, read_yaml_file


def test_every_key_and_list_item_has_its_line() -> None:
    document = parse_yaml_file("a: 1\nb:\n  - x\n  - y: 2\nc: {d: [3]}\n", "F")
    assert document.value == {"a": 1, "b": ["x", {"y": 2}], "c": {"d": [3]}}
    assert document.lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 4,
        ("b", 1, "y"): 4,
        ("c",): 5,
        ("c", "d"): 5,
        ("c", "d", 0): 5,
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("True", True),
        ("~", None),
        ("0o17", 15),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.30", 1.3),
        ('"1.30"', "1.30"),
        ("!!str 3", "3"),
        ("0x_", "0x_"),
        ("9" * 23, 1e23),
        ("22:22", "22:22"),
        ("-9999999999999999999", -10_000_000_000_000_000_000),
        ("18446744073709551615", 18446744073709551615),
    ],
)
def test_scalars_mean_what_they_mean_to_pulumi(written: str, value: object) -> None:
    found = parse_yaml_file(f"a: {written}", "F").value["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("2026-01-01", "date"),
        ("2026-01-01 10:00:00", "date"),
        ("!!bool x", "unknown-tag"),
        ("9" * 400, "not-a-number"),
        ("0471", "octal-number"),
        (".inf", "not-a-number"),
        ("1e999", "not-a-number"),
        ("!secret x", "unknown-tag"),
        ("!thing {x: 1}", "unknown-tag"),
    ],
)
def test_a_value_that_pulumi_reads_otherwise_is_a_fault_with_its_line(written: str, rule: str) -> None:
    faults = parse_yaml_file(f"x: 1\na: {written}\n", "F").faults
    assert [(fault.rule, fault.path, fault.line) for fault in faults] == [(rule, ("a",), 2)]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", ("a",), "duplicate key a, first on line 1"),
        ("b: [{c: 1,\n c: 2}]\n", ("b", 0, "c"), "duplicate key c, first on line 1"),
    ],
)
def test_a_key_that_is_there_twice_is_a_fault_at_any_depth(
    text: str, path: tuple[str | int, ...], message: str
) -> None:
    (fault,) = parse_yaml_file(text, "F").faults
    assert (fault.rule, fault.path, fault.message) == ("duplicate-key", path, message)
    assert fault.line == text.count("\n")


def test_a_fault_in_a_mapping_that_is_merged_where_it_is_written_is_one_of_the_mapping_around_it() -> None:
    faults = parse_yaml_file("a:\n  <<: [{1: x}, {b: 2,\n    b: 3}]\n", "F").faults
    assert [(each.rule, each.path, each.line) for each in faults] == [
        ("key-not-text", ("a",), 2),
        ("duplicate-key", ("a", "b"), 3),
    ]


def test_a_file_in_another_encoding_is_rejected_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(StackError, match="not UTF-8") as rejected:
        read_yaml_file(file)
    assert [problem.line for problem in rejected.value.problems] == [2]


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml_file(file).value == {"a": 1}


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(StackError, match="can't be read"):
        read_yaml_file(tmp_path / name)


def rejection(path: Path) -> str:
    with pytest.raises(StackError) as caught:
        read_yaml_file(path)
    (problem,) = caught.value.problems
    assert problem.rule == "unreadable-file"
    return problem.message


def test_a_device_is_rejected_unread() -> None:
    assert rejection(Path("/dev/zero")) == "The file can't be read: it is a device."


def test_a_file_of_a_megabyte_is_read_and_a_larger_one_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "F"
    path.write_bytes(b"a: 1\n" + b"#" * 999_995)
    assert read_yaml_file(path).value == {"a": 1}
    assert len(read_text(path)) == 1_000_000
    path.write_bytes(path.read_bytes() + b"#")
    assert rejection(path) == "The file can't be read: it is larger than 1 MB."
