"""There is one comment, and one issue: on both services, whatever happens in between."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from multiarch.comments import places
from multiarch.comments.body import marker
from multiarch.comments.errors import CommentError
from multiarch.comments.model import Action, Place, Posted, Service
from multiarch.comments.posting import close, post
from multiarch.errors import MultiarchError
from tests.comments.stand_in import TOKEN, Fault, GitHubStandIn, GitLabStandIn, Reply, StandIn, serving

MARK = marker("review")
SLEPT: list[float] = []


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[Service, StandIn]]:
    with serving(GitLabStandIn()) as gitlab, serving(GitHubStandIn()) as github:
        yield {Service.GITLAB: gitlab, Service.GITHUB: github}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    SLEPT.clear()
    monkeypatch.setattr("multiarch.comments.transport.sleep", SLEPT.append)


@pytest.fixture(params=list(Service))
def service(request: pytest.FixtureRequest) -> Service:
    return Service(request.param)


@pytest.fixture
def server(servers: dict[Service, StandIn], service: Service) -> StandIn:
    url = servers[service].url
    fresh = GitLabStandIn() if service is Service.GITLAB else GitHubStandIn()
    servers[service].__dict__.update(fresh.__dict__)
    servers[service].url = url
    return servers[service]


@pytest.fixture
def environment(server: StandIn, service: Service, tmp_path: Path) -> dict[str, str]:
    return variables(server, service, tmp_path)


def variables(server: StandIn, service: Service, folder: Path, *, fork: bool = False) -> dict[str, str]:
    """The variables of a job for merge request or pull request 3."""
    if service is Service.GITLAB:
        return {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": f"{server.url}/api/v4",
            "CI_PROJECT_ID": "8" if fork else "7",
            "CI_MERGE_REQUEST_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "8" if fork else "7",
            "CI_MERGE_REQUEST_IID": "3",
            "GITLAB_TOKEN": TOKEN,
        }
    event = folder / "event.json"
    sides = {"head": "someone/clusters" if fork else "team/clusters", "base": "team/clusters"}
    repositories = {side: {"repo": {"full_name": name}} for side, name in sides.items()}
    event.write_text(json.dumps({"pull_request": {"number": 3, **repositories}}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": server.url,
        "GITHUB_REPOSITORY": "team/clusters",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_TOKEN": TOKEN,
    }


@pytest.fixture
def place(service: Service, environment: Mapping[str, str]) -> Place:
    return places.comments(service, environment, 300)


@pytest.fixture
def issues(service: Service, environment: Mapping[str, str]) -> Place:
    return places.issues(service, environment, "Drift", 300)


def comment_on(place: Place, text: str = "digest") -> Posted:
    return post(place, text, "review")


def test_the_first_post_creates_a_comment_and_the_next_ones_change_it(place: Place, server: StandIn) -> None:
    assert comment_on(place, "one").action is Action.CREATED
    assert comment_on(place, "two").action is Action.UPDATED
    assert comment_on(place, "two").action is Action.UNCHANGED
    assert server.bodies == [f"{MARK}\n\ntwo"]


def test_a_comment_is_found_on_any_page(place: Place, server: StandIn) -> None:
    for number in range(9):
        server.comment(f"comment {number}")
    own = server.comment(f"{MARK}\nold")
    server.page_size = 2
    assert comment_on(place).action is Action.UPDATED
    assert server.comments[own]["body"] == f"{MARK}\n\ndigest"
    assert len(server.comments) == 10


def test_no_link_takes_the_token_to_another_server(place: Place, server: StandIn) -> None:
    for number in range(9):
        server.comment(f"comment {number}")
    server.page_size = 2
    if isinstance(server, GitLabStandIn):
        server.keyset = True
    comment_on(place)
    lists = [each for each in server.requests if each.method == "GET" and each.path.endswith(("notes", "comments"))]
    assert [each.query.get("page", "1") for each in lists] == ["1", "2", "3", "4", "5"] * 2
    assert len({each.path for each in lists}) == 1


def test_the_comment_of_someone_else_is_left_alone(place: Place, server: StandIn) -> None:
    theirs = server.comment(f"{MARK}\nnot ours", user=99 if isinstance(server, GitLabStandIn) else "someone")
    assert comment_on(place).action is Action.CREATED
    assert server.comments[theirs]["body"] == f"{MARK}\nnot ours"


def test_a_comment_that_only_quotes_the_marker_is_left_alone(place: Place, server: StandIn) -> None:
    server.comment(f"see {MARK}")
    assert comment_on(place).action is Action.CREATED


def test_several_names_have_a_comment_each(place: Place, server: StandIn) -> None:
    comment_on(place, "one")
    post(place, "two", "nightly")
    comment_on(place, "three")
    assert sorted(server.bodies) == [f"{marker('nightly')}\n\ntwo", f"{MARK}\n\nthree"]


def test_a_text_with_a_marker_of_its_own_keeps_it_without_a_name(place: Place, server: StandIn) -> None:
    own = "<!-- multiarch review: clusters -->"
    post(place, f"{own}\n# Digest\n", None)
    assert post(place, f"{own}\n# Digest 2\n", None).action is Action.UPDATED
    assert server.bodies == [f"{own}\n# Digest 2\n"]


def test_an_issue_with_a_digest_is_found_by_its_name(issues: Place) -> None:
    digest = "<!-- multiarch review: clusters -->\n# Digest\n"
    assert post(issues, digest, "drift", title="Drift").action is Action.CREATED
    assert close(issues, "drift").action is Action.CLOSED


def test_duplicates_of_earlier_runs_are_removed(place: Place, server: StandIn) -> None:
    first = server.comment(f"{MARK}\none")
    server.comment(f"{MARK}\ntwo")
    comment_on(place)
    assert list(server.comments) == [first]


def test_a_comment_that_is_deleted_in_between_is_created_again(place: Place, server: StandIn) -> None:
    own = server.comment(f"{MARK}\nold")

    def delete_first(request: object) -> None:
        if getattr(request, "method", "") in {"PUT", "PATCH"}:
            server.comments.pop(own, None)

    server.before = delete_first
    assert comment_on(place).action is Action.CREATED
    assert server.bodies == [f"{MARK}\n\ndigest"]


def test_two_jobs_at_once_leave_one_comment(service: Service, server: StandIn, environment: Mapping[str, str]) -> None:
    together = threading.Barrier(2, timeout=10)

    def at_once(request: object) -> None:
        if getattr(request, "method", "") == "POST" and getattr(request, "path", "") != "/graphql":
            together.wait()

    server.before = at_once
    results: list[Posted] = []

    def job(text: str) -> None:
        results.append(comment_on(places.comments(service, environment, 300), text))

    jobs = [threading.Thread(target=job, args=(text,)) for text in ("one", "two")]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert len(results) == 2
    assert len(server.comments) == 1
    assert server.bodies[0] in {f"{MARK}\n\none", f"{MARK}\n\ntwo"}


@pytest.mark.parametrize("done", [False, True])
def test_a_connection_that_breaks_while_creating_leaves_one_comment(
    place: Place, server: StandIn, *, done: bool
) -> None:
    server.faults.append(Fault("POST", "/(notes|comments)$", done=done))
    comment_on(place)
    assert server.bodies == [f"{MARK}\n\ndigest"]
    assert len([path for path in server.asked("POST") if path != "/graphql"]) == (1 if done else 2)


def test_a_server_error_while_creating_is_not_repeated_blindly(place: Place, server: StandIn) -> None:
    server.faults.append(Fault("POST", "/(notes|comments)$", Reply(502), done=True))
    comment_on(place)
    assert server.bodies == [f"{MARK}\n\ndigest"]


@pytest.mark.parametrize("reply", [None, Reply(500), Reply(503, None, {"Retry-After": "7"})])
def test_reads_and_changes_are_repeated(place: Place, server: StandIn, reply: Reply | None) -> None:
    server.comment(f"{MARK}\nold")
    server.faults.append(Fault("GET", "/(notes|comments)$", reply))
    server.faults += [Fault(method, "", reply) for method in ("PUT", "PATCH")]
    assert comment_on(place).action is Action.UPDATED
    assert len(SLEPT) == 2
    assert min(SLEPT) >= (7 if reply and reply.headers else 0.5)


def limited(service: Service, kind: str) -> Reply:
    """The answers of both services to too many requests, and to too many at once."""
    if service is Service.GITLAB:
        headers = {"Retry-After": "42", "RateLimit-Remaining": "0", "RateLimit-Reset": str(int(time.time()) + 42)}
        return Reply(429, {"message": "This endpoint has been requested too many times. Try again later."}, headers)
    if kind == "secondary":
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        return Reply(403, {"message": message}, {"X-RateLimit-Remaining": "900"})
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 41)}
    return Reply(403, {"message": "API rate limit exceeded for installation."}, headers)


@pytest.mark.parametrize(("kind", "least"), [("primary", 41), ("secondary", 42)])
def test_rate_limits_are_waited_for_and_creating_is_then_repeated(
    place: Place, server: StandIn, service: Service, kind: str, least: int
) -> None:
    server.faults += [Fault("GET", "/(notes|comments)$", limited(service, kind))]
    server.faults += [Fault("POST", "/(notes|comments)$", limited(service, kind))]
    assert comment_on(place).action is Action.CREATED
    assert len(SLEPT) == 2
    assert all(least <= each <= 61 for each in SLEPT), SLEPT


def test_a_rate_limit_that_lasts_too_long_is_named(place: Place, server: StandIn, service: Service) -> None:
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    reply = Reply(429, {"message": "limit"}, {"Retry-After": "3001"} if service is Service.GITLAB else reset)
    server.faults.append(Fault("GET", "/(notes|comments)$", reply))
    with pytest.raises(CommentError, match=r"limits the rate of requests for another 300\d s, longer than"):
        comment_on(place)
    assert SLEPT == []


def test_a_server_that_stays_down_is_named(place: Place, server: StandIn) -> None:
    server.faults += [Fault("GET", "/(notes|comments)$", Reply(503, {"message": "maintenance"})) for _ in range(9)]
    with pytest.raises(CommentError, match=r"failed \(HTTP 503: maintenance\). Run the job again"):
        comment_on(place)
    assert len(SLEPT) == 4


def test_a_long_text_is_cut_to_what_the_service_takes(place: Place, server: StandIn, service: Service) -> None:
    comment_on(place, "<details>\n```\n" + "line\n" * 300_000)
    (body,) = server.bodies
    assert service.limit - 500 < len(body) <= service.limit
    assert body.startswith(MARK)
    assert body.endswith(" characters.*\n")
    assert "\n```\n\n</details>\n" in body


@pytest.mark.parametrize(
    ("status", "message", "gitlab", "github"),
    [
        (401, "Bad credentials", "scope api and the role Reporter", "Set GITHUB_TOKEN:"),
        (403, "Resource not accessible", "CI_JOB_TOKEN can't write comments", "`permissions: pull-requests: write`"),
        (404, "Not Found", "that the token's user is a member", "that the token may see it"),
    ],
)
def test_what_the_token_may_not_do_is_named_with_the_way_out(
    place: Place, server: StandIn, service: Service, status: int, message: str, gitlab: str, github: str
) -> None:
    server.faults += [Fault("GET", "/(notes|comments)$", Reply(status, {"message": f"{message} for {TOKEN}."}))]
    with pytest.raises(CommentError) as caught:
        comment_on(place)
    assert f"HTTP {status}: {message} for [secret]" in str(caught.value)
    assert (gitlab if service is Service.GITLAB else github) in caught.value.hint
    assert TOKEN not in repr(caught.value)


def test_github_names_the_permission_that_it_asks_for(servers: dict[Service, StandIn], tmp_path: Path) -> None:
    github = servers[Service.GITHUB]
    asked = {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"}
    github.faults[:] = [Fault("POST", "/comments$", Reply(403, {"message": "no"}, asked))]
    with pytest.raises(CommentError, match=r"GitHub asks for issues=write; pull_requests=write"):
        comment_on(places.comments(Service.GITHUB, variables(github, Service.GITHUB, tmp_path), 300))


def test_a_fork_is_told_how_its_comment_can_be_posted(
    servers: dict[Service, StandIn], service: Service, tmp_path: Path
) -> None:
    server = servers[service]
    forked = variables(server, service, tmp_path, fork=True)
    if service is Service.GITLAB:
        del forked["GITLAB_TOKEN"]
        with pytest.raises(MultiarchError, match="pipelines of a fork don't get the parent project's variables"):
            places.comments(service, forked, 300)
        return
    reply = Reply(403, {"message": "Resource not accessible by integration"})
    server.faults[:] = [Fault("POST", "/comments$", reply)]
    server.comments.clear()
    with pytest.raises(CommentError, match="post from a second workflow that runs on workflow_run"):
        comment_on(places.comments(service, forked, 300))


def test_a_pipeline_of_a_fork_comments_on_the_parent_project(servers: dict[Service, StandIn], tmp_path: Path) -> None:
    gitlab = servers[Service.GITLAB]
    gitlab.requests.clear()
    comment_on(places.comments(Service.GITLAB, variables(gitlab, Service.GITLAB, tmp_path, fork=True), 300))
    assert {path for path in gitlab.asked("GET") if path.endswith("notes")} == {
        "/api/v4/projects/7/merge_requests/3/notes"
    }


Change = Callable[[dict[str, str]], object]


@pytest.mark.parametrize(
    ("chosen", "change", "message"),
    [
        ("gitlab", lambda env: env.pop("GITLAB_TOKEN"), "GITLAB_TOKEN is not set.*protected variable"),
        ("gitlab", lambda env: env.pop("CI_MERGE_REQUEST_IID"), "not a merge request pipeline"),
        ("gitlab", lambda env: env.pop("CI_API_V4_URL"), "not a job of GitLab CI"),
        ("gitlab", lambda env: env.update(CI_API_V4_URL="http://gitlab.example.com/api/v4"), "in clear text"),
        ("gitlab", lambda env: env.update(CI_API_V4_URL="https://a:b@gitlab.example.com"), "not the address of an API"),
        ("gitlab", lambda env: env.update(CI_API_V4_URL="gitlab.example.com"), "not the address of an API"),
        ("github", lambda env: env.pop("GITHUB_TOKEN"), "GITHUB_TOKEN is not set.*pull-requests: write"),
        ("github", lambda env: env.pop("GITHUB_EVENT_PATH"), "name no pull request"),
        ("github", lambda env: env.update(GITHUB_EVENT_PATH="/no/such/file"), "name no pull request"),
        ("github", lambda env: env.update(GITHUB_REPOSITORY="clusters"), "GITHUB_REPOSITORY is not OWNER/NAME"),
        ("github", lambda env: env.update(GITHUB_API_URL="http://github.example.com/api/v3"), "in clear text"),
    ],
)
def test_a_job_that_lacks_something_says_what(
    servers: dict[Service, StandIn], tmp_path: Path, chosen: str, change: Change, message: str
) -> None:
    environment = variables(servers[Service(chosen)], Service(chosen), tmp_path)
    change(environment)
    with pytest.raises(MultiarchError, match=message) as caught:
        places.comments(Service(chosen), environment, 300)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("event", "ref"),
    [
        ({"pull_request": {"number": 3}}, ""),
        ({"issue": {"number": 3, "pull_request": {}}}, "refs/heads/main"),
        ({"workflow_run": {"pull_requests": [{"number": 3}]}}, "refs/heads/main"),
        ({"workflow_run": {"pull_requests": []}, "issue": {"number": 4}}, "refs/pull/3/merge"),
        ([], "refs/pull/3/merge"),
    ],
)
def test_the_pull_request_is_that_of_the_event_or_of_the_ref(
    servers: dict[Service, StandIn], tmp_path: Path, event: object, ref: str
) -> None:
    github = servers[Service.GITHUB]
    environment = variables(github, Service.GITHUB, tmp_path) | {"GITHUB_REF": ref}
    Path(environment["GITHUB_EVENT_PATH"]).write_text(json.dumps(event))
    github.requests.clear()
    comment_on(places.comments(Service.GITHUB, environment, 300))
    assert "/repos/team/clusters/issues/3/comments" in github.asked("GET")


def test_the_service_is_that_whose_ci_runs() -> None:
    assert places.service({"GITLAB_CI": "true"}) is Service.GITLAB
    assert places.service({"GITHUB_ACTIONS": "true"}) is Service.GITHUB
    with pytest.raises(MultiarchError, match="not a CI job"):
        places.service({})


def test_a_redirect_is_not_followed(place: Place, server: StandIn) -> None:
    server.faults += [Fault("GET", "/(notes|comments)$", Reply(301, None, {"Location": "https://elsewhere.example"}))]
    with pytest.raises(CommentError, match="was the project moved"):
        comment_on(place)


def test_a_server_that_is_not_there_is_named_without_the_token(service: Service, environment: dict[str, str]) -> None:
    environment |= dict.fromkeys(("CI_API_V4_URL", "GITHUB_API_URL"), "http://127.0.0.1:9/api/v4")
    with pytest.raises(CommentError, match="can't be reached") as caught:
        comment_on(places.comments(service, environment, 300))
    assert TOKEN not in str(caught.value)


def test_an_answer_that_is_not_json_is_named(place: Place, server: StandIn) -> None:
    server.faults += [Fault("GET", "/(notes|comments)$", Reply(200, {"a": 1}))]
    with pytest.raises(CommentError, match="other than a list"):
        comment_on(place)


def test_an_issue_is_opened_updated_and_closed(issues: Place, server: StandIn) -> None:
    opened = post(issues, "group api drifted", "drift", title="Drift")
    assert opened.action is Action.CREATED
    assert post(issues, "group api drifted", "drift", title="Drift").action is Action.UNCHANGED
    assert post(issues, "groups api, web drifted", "drift", title="Drift").action is Action.UPDATED
    assert len(server.issues) == 1
    closed = close(issues, "drift", "No drift any more.")
    assert closed == Posted(Action.CLOSED, opened.url)
    (issue,) = server.issues.values()
    assert issue["state"] == "closed"
    assert "No drift any more." in str(issue.get("description") or issue.get("body"))
    assert close(issues, "drift").action is Action.NONE


def test_a_closed_issue_stays_closed_and_a_new_one_is_opened(issues: Place, server: StandIn) -> None:
    post(issues, "drift", "drift", title="Drift")
    close(issues, "drift")
    assert post(issues, "drift again", "drift", title="Drift").action is Action.CREATED
    assert [each["state"].startswith("open") for each in server.issues.values()] == [False, True]


def test_githubs_pull_requests_are_no_issues(servers: dict[Service, StandIn], tmp_path: Path) -> None:
    github = servers[Service.GITHUB]
    github.issues.clear()
    github.issues[900] = {
        "number": 900,
        "title": "Drift",
        "body": f"{marker('drift')}\n",
        "state": "open",
        "user": {"login": GitHubStandIn.USER},
        "pull_request": {},
    }
    place = places.issues(Service.GITHUB, variables(github, Service.GITHUB, tmp_path), "Drift", 300)
    assert post(place, "drift", "drift", title="Drift").action is Action.CREATED
