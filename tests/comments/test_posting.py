"""There is one comment, and one issue, on stand-ins for both services, whatever happens in between."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from multiarch.comments import LIMITS, Post, Posted, post_report
from multiarch.errors import MultiarchError, OutsideError
from sandbox import certificates
from tests.comments.stand_in import TOKEN, Fault, GitHubStandIn, GitLabStandIn, Reply, Request, StandIn, serving

MARK = "<!-- multiarch post: review -->"


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture(params=["gitlab", "github"])
def server(request: pytest.FixtureRequest) -> Iterator[StandIn]:
    with serving(GitLabStandIn() if request.param == "gitlab" else GitHubStandIn()) as found:
        yield found


@pytest.fixture
def environment(server: StandIn, tmp_path: Path) -> dict[str, str]:
    """The variables of a job of both services; that of GitLab runs in a fork."""
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 3}}))
    gitlab = {"CI_API_V4_URL": f"{server.url}/api/v4", "CI_PROJECT_ID": "7", "GITLAB_TOKEN": TOKEN}
    github = {"GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": "team/clusters", "GITHUB_TOKEN": f"{TOKEN}\n"}
    number = {"CI_MERGE_REQUEST_IID": "3", "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    return {**gitlab, **github, **number}


@pytest.fixture
def service(server: StandIn) -> str:
    return "gitlab" if isinstance(server, GitLabStandIn) else "github"


@pytest.fixture
def send(service: str, environment: dict[str, str]) -> Callable[..., Posted]:
    def post(text: str = "digest", **more: str | bool) -> Posted:
        return post_report(service, Post(text, **{"name": "review", **more}), environment)  # type: ignore[arg-type]

    return post


def test_the_first_post_creates_a_comment_and_the_next_ones_change_it(
    send: Callable[..., Posted], server: StandIn
) -> None:
    assert send("one", create=False).action == "none"
    assert [send(text).action for text in ("one", "two", "two")] == ["created", "updated", "updated"]
    assert send("# Other", name="nightly").action == "created"
    own = "<!-- multiarch review: clusters -->\n# Digest"
    assert [send(text, name=None).action for text in (own, f"{own} 2")] == ["created", "updated"]
    assert server.bodies == [
        f"{MARK}\n\ntwo",
        "<!-- multiarch post: nightly -->\n\n# Other",
        "<!-- multiarch review: clusters -->\n# Digest 2",
    ]


def test_the_oldest_own_comment_is_found_on_any_page_and_others_are_left_alone(
    send: Callable[..., Posted], server: StandIn
) -> None:
    others = {server.comment(f"{MARK}\nnot ours", "someone"), server.comment(f"quotes {MARK}")}
    others |= {server.comment(f"comment {number}") for number in range(120)}
    own, _ = server.comment(f"{MARK}\nold"), server.comment(f"{MARK}\nduplicate")
    assert send().action == "updated"
    assert set(server.comments) == {*others, own}
    assert server.comments[own]["body"] == f"{MARK}\n\ndigest"


def test_an_issue_is_opened_updated_and_closed(send: Callable[..., Posted], server: StandIn) -> None:
    opened = send("group api", title="Drift")
    assert [send(text, title="Drift").action for text in ("group api", "group web")] == ["updated", "updated"]
    assert send("No drift.", close=True) == Posted("closed", opened.url)
    assert send("", close=True).action == "none"
    ((_, issue),) = server.issues.items()
    assert (issue["state"], issue["title"], "No drift." in issue[server.TEXT]) == ("closed", "Drift", True)
    issue |= {"state": server.OPEN, "pull_request": {}, "system": True}
    assert send("drift again", title="Drift").action == "created"
    assert len(server.issues) == 2


def test_two_jobs_at_the_same_time_leave_one_comment(send: Callable[..., Posted], server: StandIn) -> None:
    together = threading.Barrier(2, timeout=10)
    path = type(server).COMMENTS

    def wait(request: Request) -> None:
        if (request.method, request.path) == ("POST", path):
            together.wait()

    server.before = wait
    jobs = [threading.Thread(target=send, args=(text,)) for text in ("one", "two")]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert len(server.comments) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("reply", [None, Reply(502), Reply(429, {"message": "limit"}, {"Retry-After": "9"})])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH"])
def test_a_failure_in_between_leaves_one_comment(
    send: Callable[..., Posted], server: StandIn, method: str, reply: Reply | None, *, done: bool
) -> None:
    if method in {"PUT", "PATCH"}:
        server.comment(f"{MARK}\nold")
    server.faults.append(Fault(method, "(notes|comments)", reply, done=done))
    send()
    assert server.bodies == [f"{MARK}\n\ndigest"]


def test_a_service_that_stays_down_is_named_within_the_time(
    send: Callable[..., Posted], server: StandIn, slept: list[float]
) -> None:
    server.faults += [Fault("GET", "(notes|comments)$", Reply(503, {"message": "maintenance"})) for _ in range(99)]
    with pytest.raises(OutsideError, match=r"HTTP 503: .*maintenance.*Run the job again|too many 503"):
        send()
    assert 30 < sum(slept) <= 300


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(401, {"message": f"Bad credentials for {TOKEN}"}), r"HTTP 401: .*Bad credentials for \[secret\]"),
        (
            Reply(403, {"message": "Resource not accessible"}),
            "Resource not accessible.*(Reporter|pull-requests: write)",
        ),
        (
            Reply(301, None, {"Location": "https://elsewhere.example/"}),
            "GitLab can.t be reached|does not let|unexpected form",
        ),
        (Reply(200, {"a": 1}), "answers in an unexpected form"),
    ],
)
def test_a_service_that_denies_access_is_named_without_the_token(
    send: Callable[..., Posted], server: StandIn, reply: Reply, message: str
) -> None:
    server.faults.append(Fault("GET", "(notes|comments)$", reply))
    with pytest.raises(OutsideError, match=message) as caught:
        send()
    assert TOKEN not in f"{caught.value!r} {caught.value}"


def test_a_long_text_is_cut_to_what_the_service_takes(
    send: Callable[..., Posted], server: StandIn, service: str
) -> None:
    send("<details>\n```\n" + "line\n" * 300_000)
    (body,) = server.bodies
    assert LIMITS[service] - 500 < len(body) <= LIMITS[service]
    assert body.startswith(MARK)
    assert body.endswith(" characters.*\n")
    assert "\n```\n\n</details>\n" in body


@pytest.mark.parametrize(
    ("chosen", "variable", "value", "message"),
    [
        ("gitlab", "GITLAB_TOKEN", "", "GITLAB_TOKEN is not set.*pipelines of a fork"),
        ("gitlab", "GITLAB_TOKEN", f"{TOKEN}\nsecond", "GITLAB_TOKEN contains white space"),
        ("gitlab", "CI_MERGE_REQUEST_IID", "", "not a merge request pipeline"),
        ("gitlab", "CI_API_V4_URL", "http://gitlab.example.com/api/v4", "not the address of an API"),
        ("gitlab", "CI_SERVER_TLS_CA_FILE", "/no/such/file", "can't be reached"),
        ("github", "GITHUB_EVENT_PATH", "/no/such/file", "name no pull request"),
        ("github", "GITHUB_API_URL", "https://127.0.0.1:9", "can't be reached"),
    ],
)
def test_a_job_that_lacks_something_says_what(
    environment: dict[str, str], chosen: str, variable: str, value: str, message: str
) -> None:
    url = {"CI_API_V4_URL": "https://127.0.0.1:9/api/v4"} if variable == "CI_SERVER_TLS_CA_FILE" else {}
    with pytest.raises(MultiarchError, match=message) as caught:
        post_report(chosen, Post("digest"), {**environment, **url, variable: value})
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("server", ["github"], indirect=True)
@pytest.mark.parametrize(
    ("event", "ref"),
    [
        ({"issue": {"number": 3, "pull_request": {}}}, "refs/heads/main"),
        ({"workflow_run": {"pull_requests": [{"number": 3}]}}, "refs/heads/main"),
        ({"workflow_run": {"pull_requests": []}, "issue": {"number": 4}}, "refs/pull/3/merge"),
    ],
)
def test_the_pull_request_is_that_of_the_event_or_of_the_ref(
    environment: dict[str, str], event: object, ref: str
) -> None:
    Path(environment["GITHUB_EVENT_PATH"]).write_text(json.dumps(event))
    assert post_report("github", Post("digest"), {**environment, "GITHUB_REF": ref}).action == "created"


def test_the_environments_authorities_and_proxy_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = certificates.authority()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificates.issue(authority).write(tmp_path, "server"))
    file, _ = authority.write(tmp_path, "ca")
    with serving(GitLabStandIn(), context) as server:
        job = {"CI_API_V4_URL": f"{server.url}/api/v4", "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3"}
        job["GITLAB_TOKEN"] = TOKEN
        with pytest.raises(OutsideError, match=r"certificate verify failed.*SSL_CERT_FILE"):
            post_report("gitlab", Post("digest"), job)
        assert server.requests == []
        trusted = {**job, "CI_SERVER_TLS_CA_FILE": str(file)}
        assert post_report("gitlab", Post("digest"), trusted).action == "created"
        for proxy in ("http://user:pass-word@127.0.0.1:9", "http://user:pass-word@["):
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            with pytest.raises(OutsideError, match="can't be reached") as caught:
                post_report("gitlab", Post("digest"), trusted)
            assert "pass-word" not in str(caught.value)
