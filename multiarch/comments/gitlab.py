"""Notes of a merge request, and issues, on GitLab (REST API v4).

Sources: GitLab docs, "Notes API", "Issues API", "REST API: pagination", "Predefined CI/CD variables".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

from multiarch import __version__
from multiarch.comments.errors import CommentError, GoneError
from multiarch.comments.model import Entry, Service
from multiarch.comments.transport import Api, Server, StatusError
from multiarch.errors import MultiarchError

_MISSING = 404
_ALLOWED = (
    "Set GITLAB_TOKEN, as a masked CI/CD variable, to a project access token with the scope api and the role Reporter; "
    "CI_JOB_TOKEN can't write comments."
)
_HINTS = {401: f"The token is invalid, expired or revoked. {_ALLOWED}", 403: _ALLOWED}


class GitLab:
    """A project on GitLab, and the user of its token."""

    def __init__(self, api: Api, project: str) -> None:
        """``project`` is its ID or its path."""
        self._api = api
        self._project = f"/projects/{quote(project, safe='')}"

    @cached_property
    def user(self) -> int:
        """The ID of the token's user."""
        return int(self.call("read the token's user", lambda: self._api.get("/user"))["id"])

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """The elements of a list of the project."""
        return iter(self.call(f"read {path}", lambda: list(self._api.pages(f"{self._project}{path}", **query))))

    def change(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 (JSON)
        """Create, change or delete something of the project. Raises GoneError if it does not exist."""
        what = {"POST": "create", "PUT": "change", "DELETE": "delete"}[method]
        return self.call(f"{what} {path}", lambda: self._api.request(method, f"{self._project}{path}", body).value)

    def call(self, what: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 (JSON)
        """What GitLab answers. Raises CommentError with what to do."""
        try:
            return ask()
        except StatusError as error:
            text = f"GitLab does not let this job {what} (HTTP {error.status}: {error.message or 'no message'})."
            if error.status == _MISSING:
                hint = "Check that the project and the merge request exist, and that the token's user is a member."
                raise GoneError(text, hint=hint) from error
            raise CommentError(text, hint=_HINTS.get(error.status, "")) from error


class MergeRequestNotes:
    """The notes of one merge request."""

    service = Service.GITLAB

    def __init__(self, gitlab: GitLab, iid: int) -> None:
        """``iid`` is the number that the merge request has in its project."""
        self._gitlab = gitlab
        self._path = f"/merge_requests/{iid}/notes"

    def own(self) -> Iterator[Entry]:
        """The notes of the token's user, without GitLab's own."""
        user = self._gitlab.user
        for note in self._gitlab.pages(self._path, sort="asc", order_by="created_at"):
            if not note.get("system") and (note.get("author") or {}).get("id") == user:
                yield _note(note)

    def create(self, body: str) -> Entry:
        """A new note."""
        return _note(self._gitlab.change("POST", self._path, {"body": body}))

    def update(self, entry: Entry, body: str) -> Entry:
        """Another text in the note's place."""
        return _note(self._gitlab.change("PUT", f"{self._path}/{entry.id}", {"body": body}))

    def remove(self, entry: Entry) -> None:
        """Delete the note."""
        try:
            self._gitlab.change("DELETE", f"{self._path}/{entry.id}")
        except GoneError:
            return


class ProjectIssues:
    """The open issues of one project."""

    service = Service.GITLAB

    def __init__(self, gitlab: GitLab, title: str) -> None:
        """``title`` is that of an issue that is created or updated."""
        self._gitlab = gitlab
        self._title = title

    def own(self) -> Iterator[Entry]:
        """The open issues that the token's user opened."""
        found = self._gitlab.pages(
            "/issues", state="opened", scope="all", author_id=self._gitlab.user, order_by="created_at", sort="asc"
        )
        return map(_issue, found)

    def create(self, body: str) -> Entry:
        """A new issue."""
        return _issue(self._gitlab.change("POST", "/issues", {"title": self._title, "description": body}))

    def update(self, entry: Entry, body: str) -> Entry:
        """Another text, and the title, in the issue's place."""
        return _issue(self._gitlab.change("PUT", f"/issues/{entry.id}", {"title": self._title, "description": body}))

    def remove(self, entry: Entry) -> None:
        """Close the issue."""
        try:
            self._gitlab.change("PUT", f"/issues/{entry.id}", {"state_event": "close"})
        except GoneError:
            return


def connect(environment: Mapping[str, str], seconds: float) -> Api:
    """The API of the GitLab that this job runs on. Raises MultiarchError for a missing variable or token."""
    token = environment.get("GITLAB_TOKEN", "").strip()
    if not token:
        raise _no_token(environment)
    return Api(
        Server(
            "GitLab",
            _variable(environment, "CI_API_V4_URL"),
            "CI_API_V4_URL",
            {
                "Authorization": f"Bearer {token}",
                "Accept": "application/json",
                "User-Agent": f"multiarch-eks/{__version__}",
            },
            token,
            environment.get("CI_SERVER_TLS_CA_FILE") or None,
        ),
        seconds,
    )


def comments(environment: Mapping[str, str], seconds: float) -> MergeRequestNotes:
    """The notes of this pipeline's merge request, which is in the parent project if the pipeline is of a fork.

    Raises MultiarchError outside of a merge request pipeline.
    """
    iid = environment.get("CI_MERGE_REQUEST_IID", "")
    if not iid.isdigit():
        raise MultiarchError(
            "CI_MERGE_REQUEST_IID is not set: this is not a merge request pipeline.",
            hint='Run the job with rules: - if: $CI_PIPELINE_SOURCE == "merge_request_event".',
        )
    project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or _variable(environment, "CI_PROJECT_ID")
    return MergeRequestNotes(GitLab(connect(environment, seconds), project), int(iid))


def issues(environment: Mapping[str, str], title: str, seconds: float) -> ProjectIssues:
    """The open issues of this pipeline's project."""
    return ProjectIssues(GitLab(connect(environment, seconds), _variable(environment, "CI_PROJECT_ID")), title)


def _no_token(environment: Mapping[str, str]) -> MultiarchError:
    source = environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "")
    if source and source != environment.get("CI_MERGE_REQUEST_PROJECT_ID", source):
        return MultiarchError(
            "GITLAB_TOKEN is not set: pipelines of a fork don't get the parent project's variables.",
            hint="A member of the parent project can run a pipeline for the merge request there (Pipelines, Run "
            "pipeline) after a review of the change.",
        )
    return MultiarchError(
        "GITLAB_TOKEN is not set.",
        hint=f"{_ALLOWED} A protected variable is missing in pipelines of unprotected branches.",
    )


def _variable(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise MultiarchError(f"{name} is not set: this is not a job of GitLab CI.", hint=f"Set {name}.")
    return value


def _note(value: Mapping[str, Any]) -> Entry:
    return Entry(int(value["id"]), str(value.get("body") or ""), str(value.get("web_url") or ""))


def _issue(value: Mapping[str, Any]) -> Entry:
    return Entry(
        int(value["iid"]), str(value.get("description") or ""), str(value.get("web_url") or ""), str(value["title"])
    )
