"""Keep one comment on a merge request, or one issue, that later runs update in place, on GitLab and GitHub.

An entry is found again by the hidden first line of its Markdown and by its author. PyGithub and python-gitlab send the
requests, again after a failure for a moment: what is then there twice is removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from ssl import get_default_verify_paths
from typing import Any, NamedTuple
from urllib.parse import quote
from urllib.request import getproxies_environment

import gitlab
from github import Auth, Github, GithubException, GithubRetry
from requests import RequestException

from multiarch.errors import MultiarchError, OutsideError
from multiarch.escaping import escape_terminal
from multiarch.files import read_text
from multiarch.markdown import cut_markdown

LIMITS = {"gitlab": 1_000_000, "github": 65_536}
"""Maximum number of characters of a comment: GitLab's application limits; GitHub's answer of status 422."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?")
_MARKER = re.compile(r"\A\s*(<!-- multiarch [^\n]{0,200}? -->)[ \t]*(?:\r?\n|\Z)")
_ANSWER_SECONDS, _PAGE, _SERVER_ERROR, _RETRIES = 60, 100, 500, 9
_LONGEST_WAIT = 300
"""Maximum seconds to wait for GitHub's rate limit."""
_ERRORS = (GithubException, gitlab.GitlabError, RequestException)
_TOKEN_HINTS = {
    "gitlab": "Set GITLAB_TOKEN, as a masked CI/CD variable, to a project access token with the scope api and the role "
    "Reporter; CI_JOB_TOKEN can't write comments. Pipelines of unprotected branches don't get protected variables, and "
    "pipelines of a fork don't get the parent project's.",
    "github": "Set GITHUB_TOKEN: ${{ github.token }} in the job's env, with `permissions: pull-requests: write`, for "
    "issues `issues: write`. For a fork's pull request, post from a second workflow that runs on workflow_run.",
}


@dataclass(frozen=True, slots=True)
class Post:
    """What to post: an issue with ``title`` or ``close``, otherwise a comment.

    Without ``name`` the marker that ``text`` begins with is kept. Without ``create`` only an existing entry is changed.
    """

    text: str
    name: str | None = None
    title: str = ""
    close: bool = False
    create: bool = True

    def mark_text(self, limit: int) -> tuple[str, str]:
        """Return the marker, and the Markdown of at most ``limit`` characters that begins with it."""
        found = _MARKER.match(self.text)
        if found and self.name is None:
            return found[1], cut_markdown(self.text.lstrip(), limit)
        name = self.name or "report"
        if not _NAME.fullmatch(name) or "--" in name:
            hint = "Use up to 100 letters, digits, dots, slashes, underscores and single hyphens."
            raise MultiarchError(f"{name!r} can't name a comment.", hint=hint)
        line = f"<!-- multiarch post: {name} -->"
        return line, cut_markdown(f"{line}\n\n{(self.text[found.end() :] if found else self.text).lstrip()}", limit)


class Posted(NamedTuple):
    """The outcome: ``created``, ``updated``, ``closed`` or ``none``. ``url`` may be empty."""

    action: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """The comments of a merge request, or the open issues of a project; ``user`` writes there.

    ``send`` takes a verb, a path, a query and a body. ``entries`` is the path of the list, ``entry`` that of each
    before its ID; ``text`` and ``key`` name the fields of its Markdown and its ID; ``closing`` closes an issue.
    """

    send: Callable[[str, str, Mapping[str, object], Mapping[str, str] | None], Any]
    user: str
    entries: str
    entry: str
    verb: str
    text: str = "body"
    key: str = "id"
    query: Mapping[str, str] = field(default_factory=dict)
    closing: Mapping[str, str] | None = None

    def keep_one(self, post: Post, line: str, body: str) -> Posted:
        """Create, update or close the entry; of several the oldest stays."""
        found = self._find(line)
        wanted = {self.text: body, **({"title": post.title} if post.title else {})}
        if post.close:
            for each in found:
                self._change(each, {**(wanted if post.text.strip() else {}), **(self.closing or {})})
            return Posted("closed", _read_link(found[0])) if found else Posted("none")
        if not found and not post.create:
            return Posted("none")
        if found:
            posted = Posted("updated", _read_link(self._change(found[0], wanted)))
        else:
            posted = Posted("created", _read_link(self.send("POST", self.entries, {}, wanted)))
            found = self._find(line)  # another job, or a failed attempt, may have created one too
        for each in found[1:]:
            with suppress(*_ERRORS):  # another job may have removed it; otherwise the next run does
                self._change(each, self.closing)
        return posted

    def _find(self, line: str) -> list[dict[str, Any]]:
        """Return what the token's user wrote below this marker, the oldest first."""
        found: list[dict[str, Any]] = []
        for page in count(1):  # by number: no link of an answer is followed
            rows = self.send("GET", self.entries, {"page": page, "per_page": _PAGE, **self.query}, None)
            ours = (each for each in rows if not each.get("system") and "pull_request" not in each)
            ours = (each for each in ours if str(each[self.text]).lstrip().startswith(line))
            found += [each for each in ours if _read_author(each) == self.user]
            if len(rows) < _PAGE:
                break
        return sorted(found, key=lambda each: int(each[self.key]))

    def _change(self, entry: Mapping[str, Any], values: Mapping[str, str] | None) -> Any:  # noqa: ANN401 (JSON)
        """Set values of an entry; without any, delete it."""
        verb = "DELETE" if values is None else self.verb
        return self.send(verb, f"{self.entry}/{entry[self.key]}", {}, values)


def detect_service(environment: Mapping[str, str]) -> str:
    """Return the service whose CI runs this process. Raises MultiarchError outside of both."""
    for name, found in (("GITLAB_CI", "gitlab"), ("GITHUB_ACTIONS", "github")):
        if environment.get(name, "").lower() == "true":
            return found
    hint = "Name the service: gitlab or github."
    raise MultiarchError("Neither GITLAB_CI nor GITHUB_ACTIONS is set: this is not a CI job.", hint=hint)


def post_report(service: str, post: Post, environment: Mapping[str, str]) -> Posted:
    """Create, update or close the entry of this CI job.

    Raises MultiarchError for what the job lacks, OutsideError for a service that fails or denies access.
    """
    line, body = post.mark_text(LIMITS[service])
    token = _read_variable(environment, f"{service.upper()}_TOKEN", _TOKEN_HINTS[service])
    try:
        with {"gitlab": _open_gitlab, "github": _open_github}[service](token, post, environment) as place:
            posted = place.keep_one(post, line, body)
            return posted._replace(url=posted.url.replace(token, "[secret]"))
    except (*_ERRORS, OSError, LookupError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        # Not chained: what a library raised may contain the token, or a proxy's password.
        proxies = [each for each in getproxies_environment().values() if "@" in each]
        raise _explain(service, error, (token, *proxies)) from None


@contextmanager
def _open_gitlab(token: str, post: Post, environment: Mapping[str, str]) -> Iterator[_Place]:
    """Open the issues of this pipeline's project, or its merge request, which a fork has in the parent project."""
    url = _read_url(environment, "CI_API_V4_URL").removesuffix("/api/v4")
    project = _read_variable(environment, "CI_PROJECT_ID")
    trusted = environment.get("CI_SERVER_TLS_CA_FILE") or _find_authorities(environment)
    with gitlab.Gitlab(
        url, oauth_token=token, timeout=_ANSWER_SECONDS, ssl_verify=trusted, retry_transient_errors=True
    ) as client:
        client.session.max_redirects = 0

        def send(verb: str, path: str, query: Mapping[str, object], body: Mapping[str, str] | None) -> Any:  # noqa: ANN401
            answer = client.http_request(verb, path, dict(query), dict(body) if body else None, max_retries=_RETRIES)
            return answer.json() if answer.content else {}

        of_issues: tuple[Any, ...] = ("description", "iid", {"state": "opened"}, {"state_event": "close"})
        if post.title or post.close:
            path = f"/projects/{quote(project, safe='')}/issues"
        else:
            project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or project
            hint = "This is not a merge request pipeline: run the job in one."
            number = quote(_read_variable(environment, "CI_MERGE_REQUEST_IID", hint), safe="")
            path, of_issues = f"/projects/{quote(project, safe='')}/merge_requests/{number}/notes", ()
        yield _Place(send, str(send("GET", "/user", {}, None)["username"]), path, path, "PUT", *of_issues)


@contextmanager
def _open_github(token: str, post: Post, environment: Mapping[str, str]) -> Iterator[_Place]:
    """Open the issues of this workflow's repository, or the pull request that it runs for."""
    url = _read_url({"GITHUB_API_URL": "https://api.github.com", **environment}, "GITHUB_API_URL")
    issues = f"/repos/{_read_variable(environment, 'GITHUB_REPOSITORY')}/issues"
    comments = "" if post.title or post.close else f"{issues}/{_read_pull_request(environment)}/comments"
    retry = GithubRetry(max_rate_limit_wait=_LONGEST_WAIT, total=_RETRIES, backoff_factor=0.1, allowed_methods=None)
    trusted = _find_authorities(environment)
    with closing(
        Github(base_url=url, auth=Auth.Token(token), timeout=_ANSWER_SECONDS, verify=trusted, retry=retry)
    ) as client:

        def send(verb: str, path: str, query: Mapping[str, object], body: Mapping[str, str] | None) -> Any:  # noqa: ANN401
            return client.requester.requestJsonAndCheck(verb, path, dict(query), input=body)[1]

        # GET /user rejects the tokens of apps, GITHUB_TOKEN included. GraphQL's name of a bot may lack [bot].
        viewer = client.requester.graphql_query("query { viewer { login } }", {})[1]["data"]["viewer"]
        user = str(viewer["login"]).removesuffix("[bot]")
        if comments:
            yield _Place(send, user, comments, f"{issues}/comments", "PATCH")
        else:
            close = {"state": "closed", "state_reason": "completed"}
            yield _Place(send, user, issues, issues, "PATCH", "body", "number", {"state": "open"}, close)


def _find_authorities(environment: Mapping[str, str]) -> str | bool:
    """Return the file of trusted authorities that the environment names, or this machine's; True: those of requests."""
    return environment.get("REQUESTS_CA_BUNDLE") or get_default_verify_paths().cafile or True


def _read_pull_request(environment: Mapping[str, str]) -> str:
    """Return the number in the event, in the workflow run that came before, or in the ref."""
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        event = json.loads(read_text(Path(environment["GITHUB_EVENT_PATH"])))
        issue = event.get("issue") or {}
        found = event.get("pull_request") or ("pull_request" in issue and issue)
        return str(int((found or event["workflow_run"]["pull_requests"][0])["number"]))
    hint = "Run the workflow on: pull_request."
    if ref := re.fullmatch(r"refs/pull/([0-9]+)/(?:merge|head)", environment.get("GITHUB_REF", "")):
        return ref[1]
    raise MultiarchError("GITHUB_EVENT_PATH and GITHUB_REF name no pull request.", hint=hint)


def _read_variable(environment: Mapping[str, str], name: str, hint: str = "The service's CI sets it.") -> str:
    """Return a variable. Raises MultiarchError for one that is not set, or has white space that no value has."""
    value = environment.get(name, "").strip()
    if not re.fullmatch(r"[!-~]+", value):
        problem = "contains white space or a character that it can't have" if value else "is not set"
        raise MultiarchError(f"{name} {problem}.", hint=hint)
    return value


def _read_url(environment: Mapping[str, str], name: str) -> str:
    """Return the address of the API. Raises MultiarchError for one over which a token would be sent in clear text."""
    url = _read_variable(environment, name).rstrip("/")
    if not re.fullmatch(r"(https://[^/@]+|http://(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?)(/[^@]*)?", url):
        raise MultiarchError(f"{name} is not the address of an API.", hint="Set it to https://HOST/… without a user.")
    return url


def _explain(service: str, error: Exception, secrets: Iterable[str]) -> OutsideError:
    """Return what happened, without the secrets, and what to do about it."""
    status = int(getattr(error, "status", None) or getattr(error, "response_code", None) or 0)
    text = str(getattr(error, "error_message", "") or getattr(error, "data", "") or error)
    for each in secrets:
        text = text.replace(each, "[secret]")
    text = escape_terminal(text)[:300]
    said, hint = f"answers in an unexpected form ({type(error).__name__}: {text})", "Is its address that of the API?"
    if isinstance(error, OSError):
        said = f"can't be reached: {text}"
        hint = "Check the address, the proxy settings and the authorities: SSL_CERT_FILE=FILE."
    elif status >= _SERVER_ERROR:
        said, hint = f"failed (HTTP {status}: {text})", "Run the job again."
    elif status:
        said = f"does not let this job post (HTTP {status}: {text})"
        hint = f"Check that the project exists and what the token may do. {_TOKEN_HINTS[service]}"
    return OutsideError(f"{'GitLab' if service == 'gitlab' else 'GitHub'} {said}.", hint=hint)


def _read_author(entry: Mapping[str, Any]) -> str:
    """Return who wrote it: ``author`` on GitLab, ``user`` on GitHub, where a deleted account is None."""
    user = entry.get("author") or entry.get("user") or {}
    return str(user.get("username") or user.get("login")).removesuffix("[bot]")


def _read_link(entry: Mapping[str, Any]) -> str:
    return str(entry.get("web_url") or entry.get("html_url") or "")
