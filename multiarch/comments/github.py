"""Comments of a pull request, and issues, on GitHub (REST API, and GraphQL for the token's own user).

Sources: GitHub REST API, "Issue comments", "Issues", "Using pagination"; GitHub Actions, "Default environment
variables" and "Automatic token authentication".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from multiarch import __version__
from multiarch.comments.errors import CommentError, GoneError
from multiarch.comments.model import Entry, Service
from multiarch.comments.transport import Api, Server, StatusError
from multiarch.errors import MultiarchError
from multiarch.files import read_text

_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_PULL = re.compile(r"refs/pull/([0-9]+)/(?:merge|head)")
_MISSING = frozenset({404, 410})
_TOKEN_HINT = "Set GITHUB_TOKEN: ${{ github.token }} in the job's env."  # noqa: S105 (not a token)
_FORK = (
    "Workflows of a fork's pull request get a token that only reads: post from a second workflow that runs on "
    "workflow_run."
)


class GitHub:
    """A repository on GitHub, and the user of its token."""

    def __init__(self, api: Api, graphql: Api, repository: str, *, fork: bool, needs: str) -> None:
        """``repository`` is OWNER/NAME; ``needs`` names the permission of a job, such as ``pull-requests: write``."""
        self._api = api
        self._graphql = graphql
        self._path = f"/repos/{repository}"
        self._fork = fork
        self._needs = needs

    @cached_property
    def user(self) -> str:
        """The login of the token's user, without ``[bot]``.

        GET /user refuses the tokens of apps, GITHUB_TOKEN included; GraphQL's viewer does not.
        """
        body = {"query": "query { viewer { login } }"}
        found = self.call(
            "read the token's user", lambda: self._graphql.request("POST", "", body, repeatable=True).value
        )
        try:
            return _plain(found["data"]["viewer"]["login"])
        except (KeyError, TypeError) as error:
            raise CommentError("GitHub did not say whose token it is.", hint=_TOKEN_HINT) from error

    def wrote(self, value: Mapping[str, Any]) -> bool:
        """Whether the token's user wrote this comment or issue."""
        return _plain(str((value.get("user") or {}).get("login", ""))) == self.user

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """The elements of a list of the repository."""
        return iter(self.call(f"read {path}", lambda: list(self._api.pages(f"{self._path}{path}", **query))))

    def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 (JSON)
        """Create, change or delete something of the repository. Raises GoneError if it does not exist."""
        what = {"POST": "create", "PATCH": "change", "DELETE": "delete"}[method]
        return self.call(f"{what} {path}", lambda: self._api.request(method, f"{self._path}{path}", body).value)

    def call(self, what: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 (JSON)
        """What GitHub answers. Raises CommentError with what to do."""
        try:
            return ask()
        except StatusError as error:
            text = f"GitHub does not let this job {what} (HTTP {error.status}: {error.message or 'no message'})."
            if error.status in _MISSING:
                hint = f"Check that it exists, and that the token may see it: `permissions: {self._needs}`."
                raise GoneError(text, hint=hint) from error
            raise CommentError(text, hint=self._hint(error)) from error

    def _hint(self, error: StatusError) -> str:
        if error.status == 401:  # noqa: PLR2004 (unauthorized)
            return f"The token is invalid or expired. {_TOKEN_HINT}"
        if error.status != 403:  # noqa: PLR2004 (forbidden)
            return ""
        if self._fork:
            return _FORK
        accepted = error.headers.get("X-Accepted-GitHub-Permissions", "")
        needed = f" (GitHub asks for {accepted})" if accepted.isprintable() and accepted else ""
        return f"Give the job `permissions: {self._needs}`{needed}."


class PullRequestComments:
    """The comments of one pull request, those on lines of its diff excepted."""

    service = Service.GITHUB

    def __init__(self, github: GitHub, number: int) -> None:
        """``number`` is the pull request's."""
        self._github = github
        self._path = f"/issues/{number}/comments"

    def own(self) -> Iterator[Entry]:
        """The comments of the token's user."""
        user = self._github.wrote
        return (_entry(each) for each in self._github.pages(self._path) if user(each))

    def create(self, body: str) -> Entry:
        """A new comment."""
        return _entry(self._github.change("POST", self._path, {"body": body}))

    def update(self, entry: Entry, body: str) -> Entry:
        """Another text in the comment's place."""
        return _entry(self._github.change("PATCH", f"/issues/comments/{entry.id}", {"body": body}))

    def remove(self, entry: Entry) -> None:
        """Delete the comment."""
        try:
            self._github.change("DELETE", f"/issues/comments/{entry.id}")
        except GoneError:
            return


class RepositoryIssues:
    """The open issues of one repository."""

    service = Service.GITHUB

    def __init__(self, github: GitHub, title: str) -> None:
        """``title`` is that of an issue that is created or updated."""
        self._github = github
        self._title = title

    def own(self) -> Iterator[Entry]:
        """The open issues that the token's user opened; GitHub lists pull requests among them."""
        for issue in self._github.pages("/issues", state="open", sort="created", direction="asc"):
            if "pull_request" not in issue and self._github.wrote(issue):
                yield _issue(issue)

    def create(self, body: str) -> Entry:
        """A new issue."""
        return _issue(self._github.change("POST", "/issues", {"title": self._title, "body": body}))

    def update(self, entry: Entry, body: str) -> Entry:
        """Another text, and the title, in the issue's place."""
        return _issue(self._github.change("PATCH", f"/issues/{entry.id}", {"title": self._title, "body": body}))

    def remove(self, entry: Entry) -> None:
        """Close the issue."""
        try:
            self._github.change("PATCH", f"/issues/{entry.id}", {"state": "closed", "state_reason": "completed"})
        except GoneError:
            return


def comments(environment: Mapping[str, str], seconds: float) -> PullRequestComments:
    """The comments of the pull request that this workflow runs for. Raises MultiarchError if there is none."""
    event = _event(environment)
    number = _number(event, environment)
    if number is None:
        raise MultiarchError(
            "GITHUB_EVENT_PATH and GITHUB_REF name no pull request.",
            hint="Run the workflow on: pull_request.",
        )
    github = _github(environment, seconds, fork=_is_fork(event), needs="pull-requests: write")
    return PullRequestComments(github, number)


def issues(environment: Mapping[str, str], title: str, seconds: float) -> RepositoryIssues:
    """The open issues of this workflow's repository."""
    return RepositoryIssues(_github(environment, seconds, fork=False, needs="issues: write"), title)


def _github(environment: Mapping[str, str], seconds: float, *, fork: bool, needs: str) -> GitHub:
    token = environment.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise MultiarchError("GITHUB_TOKEN is not set.", hint=f"{_TOKEN_HINT} It needs `permissions: {needs}`.")
    repository = environment.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(repository):
        raise MultiarchError("GITHUB_REPOSITORY is not OWNER/NAME.", hint="GitHub Actions sets it.")
    url = environment.get("GITHUB_API_URL") or "https://api.github.com"
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": f"multiarch-eks/{__version__}",
    }
    api = Api(Server("GitHub", url, "GITHUB_API_URL", headers, token), seconds)
    graphql = Api(Server("GitHub", _graphql(url), "GITHUB_API_URL", headers, token), seconds)
    return GitHub(api, graphql, repository, fork=fork, needs=needs)


def _graphql(url: str) -> str:
    """The address of GraphQL on the same server: ``/graphql`` on github.com, ``/api/graphql`` on an own server."""
    parts = urlsplit(url.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v3')}/graphql"


def _event(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """What started the workflow; empty without a file that can be read."""
    path = environment.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    try:
        value = json.loads(read_text(Path(path)))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _number(event: Mapping[str, Any], environment: Mapping[str, str]) -> int | None:
    """The pull request's number: of the event, of a comment in it, of the workflow that came before, or of the ref."""
    issue = event.get("issue")
    run = event.get("workflow_run")
    candidates = [
        event.get("pull_request"),
        issue if isinstance(issue, dict) and "pull_request" in issue else None,
        *((run.get("pull_requests") or ())[:1] if isinstance(run, dict) else ()),
    ]
    for each in candidates:
        if isinstance(each, dict) and isinstance(each.get("number"), int):
            return int(each["number"])
    found = _PULL.fullmatch(environment.get("GITHUB_REF", ""))
    return int(found[1]) if found else None


def _is_fork(event: Mapping[str, Any]) -> bool:
    """Whether the pull request comes from another repository; a deleted fork has none."""
    pull = event.get("pull_request")
    if not isinstance(pull, dict):
        return False
    sides = [((pull.get(side) or {}).get("repo") or {}).get("full_name") for side in ("head", "base")]
    return sides[0] != sides[1]


def _plain(login: str) -> str:
    """A login as REST and GraphQL both have it: GraphQL's name of a bot may lack ``[bot]``."""
    return login.removesuffix("[bot]").lower()


def _entry(value: Mapping[str, Any]) -> Entry:
    return Entry(int(value["id"]), str(value.get("body") or ""), str(value.get("html_url") or ""))


def _issue(value: Mapping[str, Any]) -> Entry:
    return Entry(
        int(value["number"]), str(value.get("body") or ""), str(value.get("html_url") or ""), str(value["title"])
    )
