"""Sentences with names of others in them, as comments on GitHub and GitLab."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.markdown import escape_comment

SPAN = re.compile(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is replaced by a new one.", "It is replaced by a new one."),
        ("version: 1.35 → 1.36; until 2027-03-27 (standard).", "version: 1.35 → 1.36; until 2027-03-27 (standard)."),
        ("-2 vCPUs, +12.30 per month; 1 × large", "-2 vCPUs, +12.30 per month; 1 × large"),
        ("arn:aws:iam::1:role/x, and more", "`arn:aws:iam::1:role/x`, and more"),
        ("Run `multiarch stack pin`.", "Run `multiarch stack pin`."),
        ("<img src=x onerror=y> hello", "`<img src=x onerror=y>` hello"),
        ("ask @all or @team/x", "ask `@all` or `@team/x`"),
        ("see https://x.y and www.x.y", "see `https://x.y` and `www.x.y`"),
        ("#12 !3 GH-12 JIRA-7 deadbeef12 x-deadbeef12", "`#12 !3 GH-12 JIRA-7 deadbeef12 x-deadbeef12`"),
        ("1. first", "`1`. first"),
        ("a ` b `` c", "a `` ` `` b ``` `` ``` c"),
        ("a\n## b", "`a\\n##` b"),
        ("*bold* _it_ ~x~ [a](b) ![i](u) $m$", "`*bold* _it_ ~x~ [a](b) ![i](u) $m$`"),
    ],
)
def test_words_stay_and_everything_else_is_code(text: str, shown: str) -> None:
    assert escape_comment(text) == shown


def test_a_pipe_does_not_end_a_cell() -> None:
    assert escape_comment("a|b", in_table=True) == "`a\\|b`"
    assert "|" not in escape_comment("a\\|b", in_table=True)


@given(st.text(alphabet=st.sampled_from("ab1 `|\\<>@#/!~&$*_[](){}:.,;-+='\"\n\u202e→GH"), max_size=40), st.booleans())
def test_outside_of_code_there_is_nothing_to_obey(text: str, in_table: bool) -> None:  # noqa: FBT001  (hypothesis)
    shown = escape_comment(text, in_table=in_table)
    assert shown.isprintable()
    outside = SPAN.sub("", shown)
    assert not re.search(r"[`<>@#|\\~&$*_\[\]{}/]|\+(?!\d)", outside), shown
    assert not re.match(r"\s*(?:[-+=]|\d+[.)])(?:\s|$)", shown)
    if in_table:
        assert not re.search(r"(?<!\\)\|", shown)
