"""Requests to one HTTP API with a token, which goes to that server only, and never in clear text.

Reads and repeatable writes are tried again when a connection breaks or the server fails; what creates something only
when it was certainly not done. Rate limits are waited for within a time limit.
Sources: GitHub REST API, "Rate limits" and "Best practices"; GitLab, "User and IP rate limits"; RFC 9110.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from time import sleep, time
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, LocationParseError, NewConnectionError, ProxyError

from multiarch.comments.errors import CommentError, UnsureError
from multiarch.errors import MultiarchError
from multiarch.escaping import escaped
from multiarch.retries import RetryPolicy, retry_after

LONGEST_TEXT = 300
"""The most characters shown of a server's message."""
PAGES = 100
"""The most pages of a list: GitHub takes 2,500 comments, GitLab 5,000."""
_BODY_LIMIT = 32 << 20
_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_POLICY = RetryPolicy(retries=4, first_wait=1.0, longest_wait=30.0)
_SECONDARY_WAIT = 60.0
"""What GitHub asks to wait at least after a secondary limit that names no time."""
_NOT_SENT = (NewConnectionError, ConnectTimeoutError, ProxyError, LocationParseError)
_SERVER_ERRORS = frozenset({500, 502, 503, 504})
_OK, _REDIRECT, _FORBIDDEN, _TOO_MANY = range(200, 300), range(300, 400), 403, 429


@dataclass(frozen=True, slots=True)
class Server:
    """One API: the address below which all requests go, the headers of each, and what may not be shown.

    ``variable`` names where the address comes from, for messages. Raises MultiarchError for an address over which a
    token would be sent in clear text.
    """

    name: str
    url: str
    variable: str
    headers: Mapping[str, str] = field(repr=False)
    token: str = field(repr=False)
    ca_file: str | None = None

    def __post_init__(self) -> None:
        """Check the address."""
        parts = urlsplit(self.url)
        try:
            loopback = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
        except ValueError:
            loopback = False
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise MultiarchError(
                f"{self.variable} is not the address of an API.", hint="Set it to https://HOST/… without a user."
            )
        if parts.scheme == "http" and not loopback:
            raise MultiarchError(
                f"{self.variable} is {self.url}: the token would be sent in clear text.", hint="Use https://."
            )


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: ``value`` is its JSON, None if it has none."""

    status: int
    headers: Mapping[str, str]
    value: Any


class StatusError(Exception):
    """A response other than 2xx. ``message`` is the server's, on one line, without the token."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str]) -> None:
        """The caller makes an error for people of it."""
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message
        self.headers = headers


class Api:
    """Sends requests to one server. ``seconds`` bounds all waiting for rate limits and failed attempts together."""

    def __init__(self, server: Server, seconds: float) -> None:
        """Open nothing yet. Raises MultiarchError for a file of certificates that can't be read."""
        self.server = server
        self._left = self._seconds = seconds
        self._pool = _pool(server)

    def get(self, path: str, **query: str | int) -> Any:  # noqa: ANN401 (JSON)
        """What is at ``path``. Raises StatusError, CommentError."""
        return self.request("GET", path, query=query).value

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """The elements of a list, all pages. Raises StatusError, CommentError.

        Of a link to the next page only the query counts: the address stays that of ``path``, so that no server can
        send the token elsewhere.
        """
        following: Mapping[str, str | int] | None = {"per_page": 100, **query}
        for _ in range(PAGES):
            answer = self.request("GET", path, query=following)
            if not isinstance(answer.value, list):
                raise CommentError(f"{self.server.name} answered {path} with something other than a list.")
            yield from answer.value
            following = _next(answer.headers, {"per_page": 100, **query})
            if following is None:
                return
        raise CommentError(f"{self.server.name} has more than {PAGES} pages at {path}.")

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        repeatable: bool | None = None,
    ) -> Answer:
        """One request with its attempts; ``repeatable``: doing it twice is doing it once. Default: all but POST.

        Raises StatusError for a status that is not 2xx, UnsureError for something that may have been created, and
        CommentError for a server that can't be reached, or whose rate limit lasts too long.
        """
        again = method != "POST" if repeatable is None else repeatable
        url = f"{self.server.url.rstrip('/')}{path}" + (f"?{urlencode(query)}" if query else "")
        failed = limited = 0
        while True:
            try:
                answer = self._send(method, url, body)
            except HTTPError as error:
                if failed < _POLICY.retries and (again or _not_sent(error)) and not _untrusted(error):
                    self._wait(_POLICY.wait(failed), self._unreachable(error))
                    failed += 1
                    continue
                if again or _not_sent(error) or _untrusted(error):
                    raise self._unreachable(error) from error
                raise self._unsure(str(_why(error))) from error
            if answer.status in _OK:
                return answer
            message = self._message(answer)
            if (seconds := _limited(answer, message, limited)) is not None:
                self._wait(seconds, self._rate_limited(seconds))
                limited += 1
            elif answer.status in _SERVER_ERRORS and again and failed < _POLICY.retries:
                asked = retry_after(answer.headers.get("Retry-After"), time())
                self._wait(_POLICY.wait(failed, asked), self._failed(answer.status, message))
                failed += 1
            elif answer.status in _SERVER_ERRORS:
                raise self._failed(answer.status, message) if again else self._unsure(f"HTTP {answer.status}")
            elif answer.status in _REDIRECT:
                # Followed, a redirect could take the token to another server.
                raise CommentError(
                    f"{self.server.name} redirects {path}.",
                    hint=f"Check {self.server.variable}: was the project moved?",
                )
            else:
                raise StatusError(answer.status, message, answer.headers)

    def shown(self, text: str) -> str:
        """Text from the server on one line, without the token, cut if it is long."""
        if self.server.token:
            text = text.replace(self.server.token, "[secret]")
        line = escaped(" ".join(text.split())).rstrip(".")
        return line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]}…"

    def _send(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        headers = dict(self.server.headers)
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        response = self._pool.request(
            method, url, body=data, headers=headers, timeout=_TIMEOUT, retries=False, redirect=False,
            preload_content=False,
        )  # fmt: skip
        try:
            content = response.read(_BODY_LIMIT + 1, decode_content=True)
        finally:
            response.release_conn()
        if len(content) > _BODY_LIMIT:
            raise CommentError(f"{self.server.name} sent an answer of more than {_BODY_LIMIT >> 20} MiB.")
        try:
            value = json.loads(content) if content.strip() else None
        except (ValueError, RecursionError) as error:
            if response.status in _OK:
                raise CommentError(
                    f"{self.server.name} did not answer with JSON.",
                    hint=f"Check {self.server.variable}: is it the address of the API?",
                ) from error
            value = None
        return Answer(response.status, response.headers, value)

    def _wait(self, seconds: float, otherwise: CommentError) -> None:
        """Wait, or raise ``otherwise`` if the time does not suffice."""
        if seconds > self._left:
            raise otherwise
        self._left -= seconds
        sleep(seconds)

    def _message(self, answer: Answer) -> str:
        """GitLab's ``message`` (text, or lists by field) or ``error``; GitHub's ``message`` with its ``errors``."""
        value = answer.value
        if not isinstance(value, dict):
            return ""
        parts = [value.get("message") or value.get("error") or ""]
        parts += [each.get("message", "") if isinstance(each, dict) else each for each in value.get("errors") or ()]
        return self.shown("; ".join(each if isinstance(each, str) else json.dumps(each) for each in parts if each))

    def _unreachable(self, error: HTTPError) -> CommentError:
        return CommentError(
            f"{self.server.name} at {self.server.url} can't be reached: {self.shown(_why(error))}.",
            hint="Name the authority's certificates: SSL_CERT_FILE=FILE."
            if _untrusted(error)
            else f"Check {self.server.variable}, the network and the proxy settings.",
        )

    def _failed(self, status: int, message: str) -> CommentError:
        text = f"HTTP {status}: {message}" if message else f"HTTP {status}"
        return CommentError(f"{self.server.name} failed ({text}).", hint="Run the job again.")

    def _unsure(self, why: str) -> UnsureError:
        return UnsureError(f"{self.server.name} did not confirm that it was created: {self.shown(why)}.")

    def _rate_limited(self, seconds: float) -> CommentError:
        return CommentError(
            f"{self.server.name} limits the rate of requests for another {seconds:.0f} s, "
            f"longer than this command may wait ({self._seconds:g} s).",
            hint="Run the job again later, or allow more time.",
        )


def _pool(server: Server) -> urllib3.PoolManager:
    """Connections to the server, through the environment's proxy unless that excepts it."""
    parts = urlsplit(server.url)
    context = None
    if parts.scheme == "https":
        try:
            context = ssl.create_default_context()
            if server.ca_file:
                context.load_verify_locations(cafile=server.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise MultiarchError(f"{server.ca_file} is not a file of PEM certificates: {error}.") from error
    address = getproxies_environment().get(parts.scheme) if parts.scheme == "https" else None
    if not address or proxy_bypass(parts.netloc):
        return urllib3.PoolManager(ssl_context=context)
    try:
        proxy = urllib3.util.parse_url(address if "://" in address else f"http://{address}")
        headers = urllib3.make_headers(proxy_basic_auth=proxy.auth) if proxy.auth else None
        return urllib3.ProxyManager(f"{proxy.scheme}://{proxy.netloc}", proxy_headers=headers, ssl_context=context)
    except (HTTPError, ValueError) as error:
        # The value is not shown: it may contain a password.
        raise MultiarchError("HTTPS_PROXY is not a valid proxy.", hint="Set it to http://HOST:PORT.") from error


def _next(headers: Mapping[str, str], query: Mapping[str, str | int]) -> Mapping[str, str | int] | None:
    """The query of the next page: GitLab's page number, or that of the link with ``rel="next"`` (RFC 8288)."""
    number = headers.get("X-Next-Page", "").strip()
    if number.isdigit():
        return {**query, "page": number}
    for part in headers.get("Link", "").split(","):
        target, _, parameters = part.strip().partition(">")
        if target.startswith("<") and 'rel="next"' in parameters.replace("'", '"').replace("rel=next", 'rel="next"'):
            return dict(parse_qsl(urlsplit(target[1:]).query))
    return None


def _limited(answer: Answer, message: str, times: int) -> float | None:
    """Seconds to wait for a rate limit; None if this is none.

    GitHub answers 403 or 429, with Retry-After for a secondary limit, or with no requests remaining until a time;
    GitLab answers 429.
    """
    headers = answer.headers
    remaining = headers.get("X-RateLimit-Remaining", headers.get("RateLimit-Remaining", ""))
    asked = retry_after(headers.get("Retry-After"), time())
    secondary = "secondary rate limit" in message.lower() or "abuse detection" in message.lower()
    if answer.status != _TOO_MANY and not (
        answer.status == _FORBIDDEN and (asked is not None or remaining == "0" or secondary)
    ):
        return None
    if asked is not None:
        return asked
    reset = headers.get("X-RateLimit-Reset", headers.get("RateLimit-Reset", "")).strip()
    if reset.isdigit() and (remaining == "0" or not secondary):
        return max(1.0, float(reset[:12]) - _server_time(headers) + 1)
    return _SECONDARY_WAIT * 2.0**times


def _server_time(headers: Mapping[str, str]) -> float:
    """The server's clock, in Unix time; this machine's if it does not say."""
    try:
        return parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (ValueError, TypeError):
        return time()


def _not_sent(error: HTTPError) -> bool:
    return isinstance(error, _NOT_SENT)


def _untrusted(error: BaseException | None) -> ssl.SSLError | urllib3.exceptions.SSLError | None:
    """The failed TLS handshake behind an error, which another attempt does not change; the innermost counts."""
    if error is None:
        return None
    for each in (*error.args, error.__cause__):
        if isinstance(each, BaseException) and (found := _untrusted(each)):
            return found
    return error if isinstance(error, ssl.SSLError | urllib3.exceptions.SSLError) else None


def _why(error: HTTPError) -> str:
    refused = _untrusted(error)
    if isinstance(refused, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {refused.verify_message}"
    reason = getattr(error, "reason", None) or error
    return str(reason).partition(": ")[2] or str(reason)
