from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.manifests.quantities import (
    QuantityError,
    format_bytes,
    format_cpu,
    parse_quantity,
    round_up,
    round_up_to_millis,
)

WRITTEN: list[tuple[object, Fraction | int]] = [
    ("0", 0),
    ("-2", -2),
    ("500m", Fraction(1, 2)),
    (".5", Fraction(1, 2)),
    ("1.5Gi", 3 * 2**29),
    ("129e6", 129_000_000),
    ("1e-3", Fraction(1, 1000)),
    ("0e999999999", 0),
    ("1e-999999999", Fraction(1, 10**9)),
    ("0.1n", Fraction(1, 10**9)),
    (2, 2),
    (0.5, Fraction(1, 2)),
    (1e16, 10**16),
]


@pytest.mark.parametrize(("written", "value"), WRITTEN)
def test_a_quantity_has_its_exact_value(written: object, value: Fraction | int) -> None:
    assert parse_quantity(written) == value


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("", "such as 500m or 2Gi"),
        ("1,5", "such as 500m or 2Gi"),
        ("٣", "such as 500m or 2Gi"),
        (True, "such as 500m or 2Gi"),
        (float("nan"), "such as 500m or 2Gi"),
        ("8Ei", "The largest quantity is 9223372036854775807."),
        ("1e999999999", "The largest quantity is 9223372036854775807."),
    ],
)
def test_what_is_not_a_quantity_is_rejected_with_a_fix(written: object, hint: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(written)
    assert caught.value.hint.endswith((hint, f"{hint}."))


UNITS = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("0.001"), "": Decimal(1), "k": Decimal(1000),
    "M": Decimal(10) ** 6, "G": Decimal(10) ** 9, "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30, "e2": Decimal(100), "E-1": Decimal("0.1"),
}  # fmt: skip


@given(
    whole=st.integers(0, 10**6),
    after=st.integers(0, 999),
    digits=st.integers(0, 3),
    suffix=st.sampled_from(sorted(UNITS)),
    negative=st.booleans(),
)
def test_any_number_and_suffix_agree_with_decimal_arithmetic(
    whole: int, after: int, digits: int, suffix: str, *, negative: bool
) -> None:
    number = f"{whole}.{after:0{digits}d}" if digits else str(whole)
    value = parse_quantity(f"{'-' if negative else ''}{number}{suffix}")
    expected = Decimal(number) * UNITS[suffix] * (-1 if negative else 1)
    nano = Decimal("1e-9")
    rounded = expected.quantize(nano, rounding="ROUND_UP") if abs(expected) < 10**15 else expected
    assert value == Fraction(rounded)


@given(st.text(alphabet="0123456789.eE+-numkKMGTPi ", max_size=8))
def test_a_text_is_either_read_or_rejected(text: str) -> None:
    try:
        value = parse_quantity(text)
    except QuantityError:
        return
    assert abs(value) < 2**63
    assert (value * 10**9).denominator == 1


def test_amounts_are_rounded_up_to_what_the_scheduler_counts() -> None:
    assert round_up_to_millis(parse_quantity("0.0001")) == 1
    assert round_up_to_millis(parse_quantity("1.0005")) == 1001
    assert round_up(parse_quantity("1500m")) == 2
    assert round_up(parse_quantity("1Gi")) == 2**30


@pytest.mark.parametrize(("millicores", "words"), [(0, "0"), (250, "250m"), (3920, "3.92")])
def test_cpus_are_written_as_people_write_them(millicores: int, words: str) -> None:
    assert format_cpu(millicores) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0"), (12, "12"), (1024, "1Ki"), (3 * 2**29, "1.5Gi"), (7 * 2**20, "7Mi"), (2**41, "2Ti")]
)
def test_bytes_are_written_as_people_write_them(count: int, words: str) -> None:
    assert format_bytes(count) == words
