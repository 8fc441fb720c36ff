"""Keep one issue about a finding: open it, update it in place, close it when there is nothing left to say.

    issue.py gitlab|github open --title TITLE FILE…     the files' text becomes the issue's
    issue.py gitlab|github close --title TITLE          close it with a comment, if it is open

The issue is found by a hidden marker in its text, made of the title, so people may rename it. Standard library only.

Environment: GitLab CI_API_V4_URL, CI_PROJECT_ID, GITLAB_TOKEN (scope api); GitHub GITHUB_API_URL, GITHUB_REPOSITORY,
GITHUB_TOKEN (permission issues: write). Exit codes: 0, 2 for wrong usage, 3 if the API refuses or can't be reached.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LABEL = "multiarch-eks"
MOST = 60_000
"""Characters of an issue's text; GitHub takes 65,536. The whole report is the job's artifact."""
TRIES, LONGEST_WAIT = 4, 60.0
_RETRIED, _FORBIDDEN = (429, 502, 503, 504), 403


class ApiError(Exception):
    """The API refused a request, or can't be reached."""


@dataclass(frozen=True, slots=True)
class Forge:
    """One project's issues. ``body`` names the field of an issue's text, ``key`` that of its number."""

    base: str
    headers: dict[str, str]
    body: str
    key: str
    change: str
    note: str
    closed: dict[str, str]

    def found(self, marker: str) -> dict[str, Any] | None:
        """The open issue with this marker."""
        state = "opened" if self.key == "iid" else "open"
        pages = self._pages(f"{self.base}?labels={LABEL}&state={state}&per_page=100")
        return next((issue for issue in pages if marker in (issue.get(self.body) or "")), None)

    def _pages(self, url: str) -> Iterator[dict[str, Any]]:
        while url:
            answer, link = self.ask("GET", url)
            yield from answer
            after = re.search(r'<([^>]+)>;\s*rel="next"', link)
            # The token goes to no other host.
            url = after[1] if after and _host(after[1]) == _host(self.base) else ""

    def ask(self, method: str, url: str, content: dict[str, Any] | None = None) -> tuple[Any, str]:
        """The answer's JSON and its Link header. Waits when the API says that there were too many requests."""
        data = None if content is None else json.dumps(content).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        for left in reversed(range(TRIES)):
            request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 (the CI system's own)
            try:
                with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                    return json.load(response), response.headers.get("Link", "")
            except urllib.error.HTTPError as error:
                limited = error.code == _FORBIDDEN and error.headers.get("x-ratelimit-remaining") == "0"
                if not left or not (error.code in _RETRIED or limited):
                    place = url.partition("?")[0]
                    raise ApiError(f"{method} {place} answered {error.code}{_advice(error.code)}") from error
                after = error.headers.get("Retry-After", "")
                time.sleep(min(float(after) if after.isdigit() else 1.0, LONGEST_WAIT))
            except (OSError, ValueError) as error:
                raise ApiError(f"{url.partition('?')[0]} can't be reached: {error}") from error
        raise AssertionError


def _host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _advice(code: int) -> str:
    if code in (401, 403, 404):
        return ": the token is missing, has expired, or may not write issues of this project"
    return ""


def forge(name: str, environ: dict[str, str]) -> Forge:
    """The project that the job runs for. Raises KeyError with the variable that is missing."""
    if name == "gitlab":
        base = f"{environ['CI_API_V4_URL']}/projects/{environ['CI_PROJECT_ID']}/issues"
        headers = {"PRIVATE-TOKEN": environ["GITLAB_TOKEN"]}
        return Forge(base, headers, "description", "iid", "PUT", "notes", {"state_event": "close"})
    api = environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"Authorization": f"Bearer {environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    base = f"{api}/repos/{environ['GITHUB_REPOSITORY']}/issues"
    return Forge(base, headers, "body", "number", "PATCH", "comments", {"state": "closed"})


def text_of(files: list[Path], marker: str) -> str:
    """The issue's text, with the marker first."""
    text = "\n\n".join(file.read_text(encoding="utf-8").strip() for file in files)
    if len(text) > MOST:
        text = f"{text[:MOST].rpartition(chr(10))[0]}\n\n… the rest is in the job's artifacts."
    job = os.environ.get("CI_JOB_URL") or os.environ.get("RUN_URL", "")
    return f"{marker}\n{text}\n" + (f"\n[The job that found this]({job})\n" if job else "")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Keep one issue about a finding.")
    parser.add_argument("forge", choices=("gitlab", "github"))
    parser.add_argument("action", choices=("open", "close"))
    parser.add_argument("--title", required=True)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    marker = f"<!-- multiarch-eks: {re.sub(r'[^a-z0-9]+', '-', options.title.lower())} -->"
    try:
        api = forge(options.forge, dict(os.environ))
    except KeyError as error:
        print(f"error: {error.args[0]} is not set", file=sys.stderr)
        return 2
    try:
        issue = api.found(marker)
        if options.action == "open":
            content = {api.body: text_of(options.files, marker)}
            if issue is None:
                labels: Any = LABEL if options.forge == "gitlab" else [LABEL]
                issue, _ = api.ask("POST", api.base, {**content, "title": options.title, "labels": labels})
            else:
                api.ask(api.change, f"{api.base}/{issue[api.key]}", content)
        elif issue is not None:
            where = f"{api.base}/{issue[api.key]}"
            api.ask("POST", f"{where}/{api.note}", {"body": "Nothing is left to report."})
            api.ask(api.change, where, api.closed)
    except ApiError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if issue is not None:
        print(f"issue {issue[api.key]}: {options.action}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
