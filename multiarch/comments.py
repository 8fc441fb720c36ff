"""Keep one comment on a merge request, or one issue, that later runs update in place, on GitLab and GitHub.

An entry is found again by the hidden first line of its Markdown and by its author. PyGithub and python-gitlab send the
requests; what they raise becomes a MultiarchError in one place, without the token. An attempt that fails for a moment
is repeated as a whole: it finds what the earlier one created.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from ssl import get_default_verify_paths
from time import sleep
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import getproxies_environment

import gitlab
from github import Auth, Github, GithubException, RateLimitExceededException
from requests import RequestException, Response
from requests.exceptions import SSLError

from multiarch.errors import MultiarchError, OutsideError
from multiarch.escaping import escaped
from multiarch.files import read_text
from multiarch.retries import RetryPolicy

LIMITS = {"gitlab": 1_000_000, "github": 65_536}
"""Maximum number of characters of a comment: GitLab's application limits; GitHub's answer of status 422."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,98}[A-Za-z0-9])?")
_MARKER = re.compile(r"\A\s*(<!-- multiarch [^\n]{0,200}? -->)[ \t]*(?:\r?\n|\Z)")
_ANSWER_SECONDS, _PAGE = 60, 100
_LIMITED, _SERVER_ERROR = 429, 500
_POLICY = RetryPolicy(retries=8, first_wait=2.0)
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


@dataclass(frozen=True, slots=True)
class Posted:
    """The outcome: ``created``, ``updated``, ``unchanged``, ``closed`` or ``none``. ``url`` may be empty."""

    action: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """The comments of a merge request, or the open issues of a project.

    ``send`` takes a verb, a path, a query and a body; ``close`` closes connections. ``entries`` is the path of the
    list, ``entry`` that of each before its ID; ``text`` and ``key`` name the fields of its Markdown and its ID.
    ``closing`` are the values that close an issue.
    """

    send: Callable[..., Any]
    read_user: Callable[[], str]
    close: Callable[[], object]
    entries: str
    entry: str
    verb: str
    text: str = "body"
    key: str = "id"
    state: str = ""
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
        if not found:
            posted = Posted("created", _read_link(self.send("POST", self.entries, {}, wanted)))
            found = self._find(line)  # another job may have created one at the same time
        elif all(_normalize(found[0].get(name)) == _normalize(value) for name, value in wanted.items()):
            posted = Posted("unchanged", _read_link(found[0]))
        else:
            posted = Posted("updated", _read_link(self._change(found[0], wanted)))
        for each in found[1:]:
            with suppress(*_ERRORS):  # another job may have removed it; otherwise the next run does
                if self.closing:
                    self._change(each, self.closing)
                else:
                    self.send("DELETE", f"{self.entry}/{each[self.key]}", {}, None)
        return posted

    def _find(self, line: str) -> list[dict[str, Any]]:
        """Return what the token's user wrote below this marker, the oldest first."""
        user, found = self.read_user(), []
        for page in count(1):  # by number: no link of an answer is followed
            query = {"page": page, "per_page": _PAGE, **({"state": self.state} if self.state else {})}
            rows = self.send("GET", self.entries, query, None)
            found += [
                each
                for each in rows
                if str(each[self.text]).lstrip().startswith(line)
                and _read_author(each) == user
                and not each.get("system")
                and "pull_request" not in each
            ]
            if len(rows) < _PAGE:
                return sorted(found, key=lambda each: int(each[self.key]))
        return []

    def _change(self, entry: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
        changed: dict[str, Any] = self.send(self.verb, f"{self.entry}/{entry[self.key]}", {}, values)
        return changed


def detect_service(environment: Mapping[str, str]) -> str:
    """Return the service whose CI runs this process. Raises MultiarchError outside of both."""
    for name, found in (("GITLAB_CI", "gitlab"), ("GITHUB_ACTIONS", "github")):
        if environment.get(name, "").lower() == "true":
            return found
    hint = "Name the service: gitlab or github."
    raise MultiarchError("Neither GITLAB_CI nor GITHUB_ACTIONS is set: this is not a CI job.", hint=hint)


def post_report(service: str, post: Post, environment: Mapping[str, str], seconds: float) -> Posted:
    """Create, update or close the entry of this CI job; ``seconds`` bounds all waiting for limits and failures.

    Raises MultiarchError for what the job lacks, OutsideError for a service that fails or denies access.
    """
    line, body = post.mark_text(LIMITS[service])
    token = _read_token(f"{service.upper()}_TOKEN", environment, _TOKEN_HINTS[service])
    for attempt in count():
        try:
            with closing((_open_gitlab if service == "gitlab" else _open_github)(token, post, environment)) as place:
                return place.keep_one(post, line, body)
        except (*_ERRORS, OSError, LookupError, RuntimeError, TypeError, ValueError) as error:
            wait = _POLICY.wait(attempt)
            if not _is_transient(error) or attempt == _POLICY.retries or wait > seconds:
                # Not chained: what a library raised may contain the token, or a proxy's password.
                proxies = [each for each in getproxies_environment().values() if "@" in each]
                raise _explain(service, error, (token, *proxies)) from None
        seconds -= wait
        sleep(wait)
    raise AssertionError


def _open_gitlab(token: str, post: Post, environment: Mapping[str, str]) -> _Place:
    """Open the issues of this pipeline's project, or its merge request, which a fork has in the parent project."""
    url = _read_url(environment, "CI_API_V4_URL").removesuffix("/api/v4")
    project = quote(_read_variable(environment, "CI_PROJECT_ID"), safe="")
    authorities = environment.get("CI_SERVER_TLS_CA_FILE") or _find_authorities(environment)
    client = gitlab.Gitlab(url, oauth_token=token, timeout=_ANSWER_SECONDS, ssl_verify=authorities)

    def reject(response: Response, **_: object) -> None:
        # Before python-gitlab follows a redirect, or waits for a rate limit.
        if response.is_redirect or response.status_code == _LIMITED:
            response.close()
            raise gitlab.GitlabHttpError(response.reason, response.status_code)

    client.session.hooks["response"].append(reject)

    def send(verb: str, path: str, query: dict[str, Any], body: dict[str, Any] | None) -> Any:  # noqa: ANN401 (JSON)
        response = client.http_request(verb, path, query_data=query, post_data=body)
        return response.json() if response.content else None

    def read_user() -> str:
        return str(send("GET", "/user", {}, None)["username"])

    if post.title or post.close:
        issues = f"/projects/{project}/issues"
        closing = {"state_event": "close"}
        return _Place(
            send, read_user, client.session.close, issues, issues, "PUT", "description", "iid", "opened", closing
        )
    project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or project
    hint = "This is not a merge request pipeline: run the job in one."
    number = _read_variable(environment, "CI_MERGE_REQUEST_IID", hint)
    notes = f"/projects/{project}/merge_requests/{quote(number, safe='')}/notes"
    return _Place(send, read_user, client.session.close, notes, notes, "PUT")


def _open_github(token: str, post: Post, environment: Mapping[str, str]) -> _Place:
    """Open the issues of this workflow's repository, or the pull request that it runs for."""
    client = Github(
        base_url=_read_url({"GITHUB_API_URL": "https://api.github.com", **environment}, "GITHUB_API_URL"),
        auth=Auth.Token(token),
        timeout=_ANSWER_SECONDS,
        verify=_find_authorities(environment),
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )

    def send(verb: str, path: str, query: dict[str, Any], body: dict[str, Any] | None) -> Any:  # noqa: ANN401 (JSON)
        return client.requester.requestJsonAndCheck(verb, path, query, input=body)[1]

    def read_user() -> str:
        # GET /user rejects the tokens of apps, GITHUB_TOKEN included. GraphQL's name of a bot may lack [bot].
        answer = client.requester.graphql_query("query { viewer { login } }", {})[1]
        return str(answer["data"]["viewer"]["login"]).removesuffix("[bot]")

    issues = f"/repos/{_read_variable(environment, 'GITHUB_REPOSITORY')}/issues"
    if post.title or post.close:
        closing = {"state": "closed", "state_reason": "completed"}
        return _Place(
            send, read_user, client.close, issues, issues, "PATCH", key="number", state="open", closing=closing
        )
    comments = f"{issues}/{_read_pull_request(environment)}/comments"
    return _Place(send, read_user, client.close, comments, f"{issues}/comments", "PATCH")


def _read_pull_request(environment: Mapping[str, str]) -> int:
    """Return the number in the event, in the workflow run that came before, or in the ref."""
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        event = json.loads(read_text(Path(environment["GITHUB_EVENT_PATH"])))
        issue = event.get("issue") or {}
        found = event.get("pull_request") or ("pull_request" in issue and issue)
        return int((found or event["workflow_run"]["pull_requests"][0])["number"])
    if ref := re.fullmatch(r"refs/pull/([0-9]+)/(?:merge|head)", environment.get("GITHUB_REF", "")):
        return int(ref[1])
    hint = "Run the workflow on: pull_request."
    raise MultiarchError("GITHUB_EVENT_PATH and GITHUB_REF name no pull request.", hint=hint)


def _read_variable(environment: Mapping[str, str], name: str, hint: str = "The service's CI sets it.") -> str:
    if not environment.get(name, "").strip():
        raise MultiarchError(f"{name} is not set.", hint=hint)
    return environment[name].strip()


def _read_token(name: str, environment: Mapping[str, str], hint: str) -> str:
    token = _read_variable(environment, name, hint)
    if not re.fullmatch(r"[!-~]+", token):
        raise MultiarchError(f"{name} contains white space or a character that no token has.", hint=hint)
    return token


def _read_url(environment: Mapping[str, str], name: str) -> str:
    """Return the address of the API. Raises MultiarchError for one over which a token would be sent in clear text."""
    url = _read_variable(environment, name).rstrip("/")
    parts = urlsplit(url)
    loopback = parts.hostname == "localhost"
    with suppress(ValueError):
        loopback = loopback or ip_address(parts.hostname or "").is_loopback
    if parts.username or not parts.hostname or parts.scheme not in {"https", "http" if loopback else "https"}:
        raise MultiarchError(f"{name} is not the address of an API.", hint="Set it to https://HOST/… without a user.")
    return url


def _find_authorities(environment: Mapping[str, str]) -> str | bool:
    """Return the file of trusted authorities that the environment names, or this machine's; True: those of requests."""
    return environment.get("REQUESTS_CA_BUNDLE") or get_default_verify_paths().cafile or True


def _read_status(error: Exception) -> int:
    """Return the HTTP status of what a library raised, 0 without an answer."""
    return int(getattr(error, "status", None) or getattr(error, "response_code", None) or 0)


def _is_transient(error: Exception) -> bool:
    """Return whether another attempt may succeed: after a broken connection, a server's failure or a rate limit."""
    if isinstance(error, RequestException):
        return not isinstance(error, SSLError | ValueError)
    status = _read_status(error)
    return isinstance(error, RateLimitExceededException) or status == _LIMITED or status >= _SERVER_ERROR


def _explain(service: str, error: Exception, secrets: Iterable[str]) -> OutsideError:
    label, status = {"gitlab": "GitLab", "github": "GitHub"}[service], _read_status(error)
    text = str(getattr(error, "error_message", "") or getattr(error, "data", "") or error)
    for each in secrets:
        text = text.replace(each, "[secret]")
    text = escaped(text)[:300]
    if not status and not isinstance(error, OSError):
        hint = "Is its address that of the API?"
        return OutsideError(f"{label} answers in an unexpected form ({type(error).__name__}: {text}).", hint=hint)
    if not status:
        hint = "Check the address, the proxy settings and the authorities: SSL_CERT_FILE=FILE."
        return OutsideError(f"{label} can't be reached: {text}.", hint=hint)
    if _is_transient(error):
        return OutsideError(f"{label} failed (HTTP {status}: {text}).", hint="Run the job again.")
    hint = f"Check that the project exists and what the token may do. {_TOKEN_HINTS[service]}"
    return OutsideError(f"{label} does not let this job post (HTTP {status}: {text}).", hint=hint)


def _read_author(entry: Mapping[str, Any]) -> str:
    """Return who wrote it: ``author`` on GitLab, ``user`` on GitHub, where a deleted account is None."""
    user = entry.get("author") or entry.get("user") or {}
    return str(user.get("username") or user.get("login")).removesuffix("[bot]")


def _read_link(entry: Mapping[str, Any]) -> str:
    return str(entry.get("web_url") or entry.get("html_url") or "")


def _normalize(text: object) -> str:
    """Return the text without what servers change: line ends, and white space around it."""
    return str(text or "").replace("\r\n", "\n").strip()


def cut_markdown(text: str, limit: int) -> str:
    """Return the Markdown, or the lines of it that fit and a note; a code block and details left open are closed."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 400]
    kept = kept[: kept.rfind("\n") + 1] or kept
    closing = "\n```\n" if len(re.findall(r"^\s*```", kept, re.MULTILINE)) % 2 else ""
    closing += "\n</details>\n" * (kept.count("<details>") - kept.count("</details>"))
    return f"{kept}{closing}\n\n*Cut to fit: {len(kept):,} of {len(text):,} characters.*\n"
