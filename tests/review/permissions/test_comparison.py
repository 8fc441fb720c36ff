"""What two policies differ in, held against IAM's decision about every request of a small world."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.review.permissions.comparison import Grant, widened
from multiarch.review.permissions.document import read
from multiarch.review.permissions.effort import Effort
from tests.review.permissions.evaluation import Effect, Policy, Request, effect, meets


def compared(old: Policy, new: Policy) -> list[Grant]:
    documents = [json.dumps({"Version": "2012-10-17", "Statement": list(each)}) for each in (old, new)]
    before, after = map(read, documents)
    assert not before.problem
    assert not after.problem
    return widened(before.statements, after.statements, Effort())


ONE = st.just("a:A")
ANY = st.just("*")


def one_or_more(values: Sequence[str]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values) | st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


def element(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    if values in (ONE, ANY):
        return values.map(lambda value: {name: value})
    return st.tuples(st.sampled_from([name, name, name, f"Not{name}"]), values).map(lambda pair: {pair[0]: pair[1]})


def policies(
    actions: st.SearchStrategy[Any],
    resources: st.SearchStrategy[Any],
    conditions: st.SearchStrategy[Any] | None = None,
    principals: st.SearchStrategy[Any] | None = None,
) -> st.SearchStrategy[list[dict[str, Any]]]:
    def joined(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
        return {key: value for part in parts for key, value in part.items()}

    parts = [
        st.sampled_from([{"Effect": "Allow"}, {"Effect": "Allow"}, {"Effect": "Deny"}]),
        element("Action", actions),
        element("Resource", resources),
    ]
    if conditions is not None:
        parts.append(st.one_of(st.just({}), conditions.map(lambda condition: {"Condition": condition})))
    if principals is not None:
        parts.append(element("Principal", principals))
    return st.lists(st.tuples(*parts).map(joined), max_size=4)


PATTERNS = st.text(alphabet="ab*?", min_size=1, max_size=4)
SOME_PATTERNS = PATTERNS | st.lists(PATTERNS, min_size=1, max_size=3)
WORLD = ["".join(letters) for size in range(6) for letters in product("abc", repeat=size)]


@given(policies(SOME_PATTERNS, ANY), policies(SOME_PATTERNS, ANY))
def test_of_actions_exactly_those_are_reported_that_are_decided_better(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    better = [
        request for request in (Request(action, "r") for action in WORLD) if effect(new, request) > effect(old, request)
    ]
    grants = compared(old, new)
    assert bool(grants) is bool(better)
    assert all(any(meets(grant.elements, request) for grant in grants) for request in better)


ACTIONS = one_or_more(["s3:Get", "S3:PUT", "s3:*", "s3:?et", "iam:Pass", "*", "*:Get"])
RESOURCES = one_or_more(["b", "b/*", "b/x", "*", "?", "*/x"])
REQUESTS = [
    Request(action, resource)
    for action in ("s3:Get", "s3:Put", "s3:Set", "s3:Other", "iam:Pass", "iam:Get", "x")
    for resource in ("b", "c", "b/x", "b/y", "c/x", "cc")
]


@given(policies(ACTIONS, RESOURCES), policies(ACTIONS, RESOURCES))
def test_of_actions_and_resources_exactly_those_are_reported(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    better = [request for request in REQUESTS if effect(new, request) > effect(old, request)]
    grants = compared(old, new)
    assert bool(grants) is bool(better)
    assert all(any(meets(grant.elements, request) for grant in grants) for request in better)
    assert all(grant.allows or any(effect(old, each) is Effect.DENIED for each in REQUESTS) for grant in grants)
    assert not compared(new, new)


def condition(operators: Sequence[str], values: Sequence[str], key: str = "k") -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True)
    return st.dictionaries(st.sampled_from(operators), several.map(lambda wanted: {key: wanted}), max_size=2)


def held_to(old: Policy, new: Policy, requests: Iterable[Request], *, exactly: bool) -> None:
    better = [request for request in requests if effect(new, request) > effect(old, request)]
    grants = compared(old, new)
    if exactly:
        assert bool(grants) is bool(better)
    assert all(any(meets(grant.elements, request) for grant in grants) for request in better)
    assert not compared(new, new)


BASES = ("Equals", "NotEquals", "Like", "NotLike", "EqualsIgnoreCase", "NotEqualsIgnoreCase")
OF_STRINGS = [f"String{base}{end}" for base in BASES for end in ("", "IfExists")]
WITH_STRINGS = condition(OF_STRINGS, ["a", "A", "ab", "a*", "?", "*b"]) | st.sampled_from(
    [{"Null": {"k": "true"}}, {"Null": {"K": ["false"]}}]
)
STRINGS: list[Request] = [
    Request("a:A", "r", context=context)
    for context in [{}, *({"k": "".join(text)} for size in range(3) for text in product("aAbBc*?", repeat=size))]
]


@given(policies(ONE, ANY, WITH_STRINGS), policies(ONE, ANY, WITH_STRINGS))
def test_of_conditions_on_strings_exactly_those_are_reported_that_are_looser(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    held_to(old, new, STRINGS, exactly=True)


OF_NUMBERS = [
    f"{kind}{base}{end}"
    for kind, base, end in product(
        ("Numeric",),
        ("Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan", "GreaterThanEquals"),
        ("", "IfExists"),
    )
]
WITH_NUMBERS = condition(OF_NUMBERS, ["1", "2", "3.5"])
NUMBERS: list[Request] = [
    Request("a:A", "r", context=context)
    for context in [{}, *({"k": str(half / 2)} for half in range(10)), {"k": "1.25"}, {"k": "2.7"}]
]


@given(policies(ONE, ANY, WITH_NUMBERS), policies(ONE, ANY, WITH_NUMBERS))
def test_of_conditions_on_numbers_exactly_those_are_reported_that_are_looser(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    held_to(old, new, NUMBERS, exactly=True)


DAYS = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00Z"]
WITH_DATES = condition([name.replace("Numeric", "Date") for name in OF_NUMBERS], DAYS)
MOMENTS = [*DAYS, "2025-12-31T00:00:00Z", "2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z", "2026-04-01T00:00:00Z"]
DATES: list[Request] = [Request("a:A", "r", context=each) for each in [{}, *({"k": day} for day in MOMENTS)]]


@given(policies(ONE, ANY, WITH_DATES), policies(ONE, ANY, WITH_DATES))
def test_of_conditions_on_dates_exactly_those_are_reported_that_are_looser(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    held_to(old, new, DATES, exactly=True)


NETWORKS = ["10.0.0.0/30", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.0/8", "0.0.0.0/0", "::/0", "fd00::/127", "10.0.0.3/32"]
WITH_ADDRESSES = condition(["IpAddress", "NotIpAddress", "IpAddressIfExists"], NETWORKS)
ADDRESSES: list[Request] = [
    Request("a:A", "r", context=context)
    for context in [
        {},
        *({"k": f"10.0.0.{last}"} for last in range(5)),
        {"k": "10.9.0.1"},
        {"k": "9.0.0.0"},
        {"k": "fd00::"},
        {"k": "fd00::2"},
    ]
]


@given(policies(ONE, ANY, WITH_ADDRESSES), policies(ONE, ANY, WITH_ADDRESSES))
def test_of_conditions_on_addresses_exactly_those_are_reported_that_are_looser(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    held_to(old, new, ADDRESSES, exactly=True)


QUANTIFIED = [f"{quantifier}:String{base}" for quantifier in ("ForAllValues", "ForAnyValue") for base in BASES[:4]]
WITH_SETS = condition(
    [*QUANTIFIED, "ForAnyValue:StringEqualsIfExists", "ForAllValues:StringLikeIfExists"], ["a", "b", "a*"]
)
SETS: list[Request] = [
    Request("a:A", "r", context=context)
    for context in [
        {},
        *({"k": list(several)} for size in range(4) for several in product(("a", "b", "ac", "a*", "d"), repeat=size)),
    ]
]


@given(policies(ONE, ANY, WITH_SETS), policies(ONE, ANY, WITH_SETS))
def test_of_conditions_on_keys_with_several_values_exactly_those_are_reported_that_are_looser(
    old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    held_to(old, new, SETS, exactly=True)


ARNS = [
    "arn:aws:iam::1:role/a",
    "arn:aws:iam::1:role/*",
    "arn:aws:iam::*:role/?",
    "arn:*:iam::1:*",
    "arn:aws:iam::?:role/a",
]
WITH_ARNS = condition(["ArnLike", "ArnEquals", "ArnNotLike", "ArnNotEquals", "StringLike"], ARNS)
NAMED: list[Request] = [
    Request("a:A", "r", context=context)
    for context in [
        {},
        *(
            {"k": f"arn:{partition}:iam::{account}:{rest}"}
            for partition, account, rest in product(
                ("aws", "aws-cn", "x:y"), ("1", "2", "12", "1:2"), ("role/a", "role/ab", "role/a:b", "user/a")
            )
        ),
    ]
]


@given(policies(ONE, ANY, WITH_ARNS), policies(ONE, ANY, WITH_ARNS))
def test_of_conditions_on_arns_nothing_is_passed_over(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    held_to(old, new, NAMED, exactly=False)


VARIABLE_RESOURCES = one_or_more(
    ["${u}", "h/${u}", "h/${u}/*", "h/*", "h/b", "h/b/*", "??????", "*", "${v}", "h/${u}${v}"]
)
WITH_VARIABLES = condition(
    ["StringEquals", "StringLike", "StringNotEquals", "StringNotLike"], ["${u}", "b", "${u}*", "*"]
)
FILLED = [
    Request("a:A", resource, context=context, variables={"u": u, "v": v})
    for resource in ("b", "h/b", "h/b/c", "h/", "h/bc", "bc", "h/c", "h/c/b", "abcdef")
    for context in ({}, {"k": "b"}, {"k": "c"}, {"k": "bc"})
    for u, v in (("b", "c"), ("c", "b"), ("", "b"), ("b/c", ""), ("b", "b"))
]


@given(policies(ONE, VARIABLE_RESOURCES, WITH_VARIABLES), policies(ONE, VARIABLE_RESOURCES, WITH_VARIABLES))
def test_of_variables_nothing_is_passed_over(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    held_to(old, new, FILLED, exactly=False)


PRINCIPALS = st.sampled_from(
    [
        "*",
        {"AWS": "*"},
        {"AWS": "arn:aws:iam::111122223333:role/a"},
        {"AWS": ["arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/b"]},
        {"Service": "ec2.amazonaws.com"},
        {
            "Service": ["ec2.amazonaws.com", "eks.amazonaws.com"],
            "Federated": "arn:aws:iam::111122223333:oidc-provider/x",
        },
    ]
)
CALLERS = [
    Request("a:A", "r", principal)
    for principal in (
        "AWS:arn:aws:iam::111122223333:role/a",
        "AWS:arn:aws:iam::111122223333:role/b",
        "AWS:arn:aws:iam::111122223333:role/c",
        "Service:ec2.amazonaws.com",
        "Service:eks.amazonaws.com",
        "Federated:arn:aws:iam::111122223333:oidc-provider/x",
    )
]


@given(policies(ONE, ANY, principals=PRINCIPALS), policies(ONE, ANY, principals=PRINCIPALS))
def test_of_principals_exactly_those_are_reported(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> None:
    held_to(old, new, CALLERS, exactly=True)
