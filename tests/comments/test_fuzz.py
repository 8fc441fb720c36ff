"""Whatever GitLab and GitHub answer ends in an outcome or in the module's error, and never shows the token."""

from __future__ import annotations

import traceback
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multiarch.comments import Post, post_report
from multiarch.errors import OutsideError
from tests.comments.stand_in import TOKEN, Reply, StandIn
from tests.comments.test_posting import MARK, environment, server, service, slept

__all__ = ["environment", "server", "service", "slept"]

_ODD: tuple[object, ...] = (None, True, -1, "", "\ud800\x1b[31m", TOKEN, f"{MARK}\nold", [], {})
_ENTRY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("id", "iid", "number"), st.sampled_from((7, *_ODD))),
        **dict.fromkeys(("author", "user"), st.sampled_from(({"username": "project_7_bot", "login": "x"}, *_ODD))),
        **dict.fromkeys(("body", "description", "message", "error", "web_url", "html_url"), st.sampled_from(_ODD)),
        "data": st.sampled_from(({"viewer": {"login": "github-actions"}}, {"viewer": TOKEN}, *_ODD)),
    },
)
_BODY = (
    _ENTRY
    | st.lists(_ENTRY | st.sampled_from(_ODD), max_size=3)
    | st.sampled_from((*_ODD, b"{", b"\xff\xfe", b"[" * 100_000, f"<html>{TOKEN}".encode()))
)
_HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "Content-Encoding": st.sampled_from(("gzip", "x")),
        "Retry-After": st.sampled_from(("0", "-1", "99999999999", "soon")),
        "X-RateLimit-Reset": st.sampled_from(("0", "x", "99999999999999999999")),
        "Location": st.sampled_from((f"/{TOKEN}", "http://[", f"https://u:{TOKEN}@127.0.0.1:9/")),
    },
)
_STATUS = st.sampled_from((200, 200, 200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503))


@given(
    valid=st.integers(0, 3),
    reply=st.builds(Reply, _STATUS, _BODY, _HEADERS),
    post=st.sampled_from((Post("x", "review"), Post("x", "review", title="t"), Post("x", "review", close=True))),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_answer_ends_in_an_outcome_or_in_the_modules_error_and_shows_no_token(
    server: StandIn, service: str, environment: dict[str, str], valid: int, reply: Reply, post: Post
) -> None:
    answered, usual = count(), type(server).answer
    server.answer = lambda request: usual(server, request) if next(answered) < valid else reply  # type: ignore[method-assign]
    try:
        shown = repr(post_report(service, post, environment))
    except OutsideError as error:
        shown = "".join(traceback.format_exception(error)) + repr(vars(error))
    assert TOKEN not in shown
