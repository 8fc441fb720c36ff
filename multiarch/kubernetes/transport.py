"""Requests to one API server: credentials, retries, bounds, and its errors."""

from __future__ import annotations

import json
import os
import re
import ssl
import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    DecodeError,
    HTTPError,
    InsecureRequestWarning,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from multiarch.files import read_text
from multiarch.kubernetes.connections import Watch, basic, open_pool
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.exec_plugin import ExecCredential, run
from multiarch.kubernetes.kubeconfig import Connection
from multiarch.registry.errors import one_line
from multiarch.registry.operation import Deadline
from multiarch.registry.settings import MIB
from multiarch.retries import RetryPolicy, retry_after

ATTEMPTS = 5
LONGEST_WAIT = 30.0
"""The most seconds to wait before another attempt, even if Retry-After asks for more."""
ANSWER_SECONDS = 60.0
"""Seconds for one answer with all its attempts, as long as an API server itself works on a request."""
ANSWER_LIMIT = 16 * MIB
"""The most bytes of an answer, decompressed."""
_ERROR_LIMIT = 64 * 1024
_CHUNK = 128 * 1024
_AGAIN = frozenset((429, 500, 502, 503, 504))
_UNAUTHORIZED = 401
_SUCCESSES = (200, 201, 202)
_JSON, _JSON_PATCH = "application/json", "application/json-patch+json"
# The first matching class counts: subclasses come first.
_REASONS: tuple[tuple[type[HTTPError], str], ...] = (
    (LocationParseError, "its address is invalid"),
    (DecodeError, "its answer can't be decompressed"),
    (NameResolutionError, "its host name can't be resolved"),
    (NewConnectionError, ""),  # the operating system says why
    (ConnectTimeoutError, "the connection timed out"),
    (ReadTimeoutError, "reading its answer timed out"),
)
_TOKEN = re.compile(r"[\x21-\x7e]+")


class StatusError(Exception):
    """An answer that is not a success: its status, and the API server's ``reason`` and ``message``, if it gave them."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep the parts; the caller makes an error for users of it."""
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class TooLargeError(ClusterError):
    """An answer of more than ``ANSWER_LIMIT`` bytes."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A response that was read to its end. ``body`` is empty for an error that is too long."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Connections to one API server, kept open between requests. Safe to use from one thread at a time."""

    def __init__(self, connection: Connection, *, agent: str, first_wait: float = 0.5) -> None:
        """Open nothing yet. ``first_wait`` are the seconds before the second attempt; they double from there on.

        Raises KubeconfigError for invalid certificates, for a proxy that can't be used, and for credentials that
        would be sent in clear text.
        """
        self.connection = connection
        self._policy = RetryPolicy(ATTEMPTS - 1, first_wait, LONGEST_WAIT)
        self._headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": agent}
        self._credential: ExecCredential | None = None
        self._pool: urllib3.PoolManager | None = None
        self._watch = Watch()
        user = connection.user
        if not connection.server.startswith("https://") and user.sends_secrets:
            raise KubeconfigError(
                f"The credentials of user {user.name} would be sent to {connection.server} in clear text.",
                hint="Use the https:// address, or a context without a user: `kubectl proxy` needs none.",
                file=connection.file,
            )
        if user.plugin is None or user.token_file or user.token is not None or user.basic:
            self._pool = open_pool(connection, user.certificate, user.key, self._watch)

    def close(self) -> None:
        """Close what is open."""
        if self._pool is not None:
            self._pool.clear()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the object at ``path``. Raises as :meth:`_answered` does."""
        target = f"{path}?{urlencode(query, errors='replace')}" if query else path
        return self._answered("GET", target)

    def patch(self, path: str, operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Change the object at ``path`` by a JSON patch (RFC 6902), and return it. Raises as :meth:`_answered` does.

        One of the operations must test what the others change: a request may reach the server twice.
        """
        return self._answered("PATCH", path, json.dumps(operations).encode(), _JSON_PATCH)

    def post(self, path: str, value: Mapping[str, Any], *, again: Collection[int] = _AGAIN) -> dict[str, Any]:
        """Create an object in the list at ``path``, and return what the server answers. Raises as :meth:`_answered`.

        A request may reach the server twice: the second one must do no harm. ``again`` are the statuses after which it
        is sent again.
        """
        return self._answered("POST", path, json.dumps(value).encode(), _JSON, again)

    def delete(self, path: str) -> dict[str, Any]:
        """Delete the object at ``path``, and return what the server answers. Raises as :meth:`_answered` does."""
        return self._answered("DELETE", path)

    def _answered(
        self, method: str, path: str, body: bytes | None = None, kind: str = "", again: Collection[int] = _AGAIN
    ) -> dict[str, Any]:
        """Return what the server answers. ``kind`` is the body's media type.

        Requests to a busy server, and over a connection that breaks, are made up to five times within
        ``ANSWER_SECONDS``, waiting as long as the server asks for. Raises StatusError for any status but 200 to 202,
        and ClusterError for a server that can't be reached or is not trusted, whose answer is too large or takes too
        long, and for a credential plugin that fails.
        """
        target = f"{self.connection.server}{path}"
        own = {"Content-Type": kind} if kind else {}
        headers, deadline = {**self._authorized(), **own}, Deadline(ANSWER_SECONDS)
        renewed = False
        for attempt in range(ATTEMPTS):
            try:
                answer = self._ask(method, target, headers, deadline, body)
            except HTTPError as error:
                if _may_pass(error) and self._waited(attempt, None, deadline):
                    continue
                raise self._unreachable(error) from error
            if answer.status in _SUCCESSES:
                return self._decoded(answer.body)
            last = attempt == self._policy.retries
            if answer.status == _UNAUTHORIZED and self._credential is not None and not renewed and not last:
                renewed, self._credential = True, None
                headers, deadline = {**self._authorized(), **own}, Deadline(ANSWER_SECONDS)
            elif answer.status not in again or not self._waited(attempt, answer.headers.get("Retry-After"), deadline):
                raise _status_error(answer, headers.get("Authorization", ""))
        raise AssertionError("the last attempt returns or raises")

    def _ask(
        self, method: str, target: str, headers: Mapping[str, str], deadline: Deadline, body: bytes | None
    ) -> _Answer:
        if self._pool is None:
            raise AssertionError("credentials come first")
        try:
            with self._watch.limit(deadline.left), warnings.catch_warnings():
                if self.connection.insecure:
                    # The kubeconfig asks for it.
                    warnings.simplefilter("ignore", InsecureRequestWarning)
                answer = self._read(
                    self._pool.request(
                        method,
                        target,
                        body=body,
                        headers=headers,
                        retries=False,
                        redirect=False,
                        preload_content=False,
                    )
                )
        except (HTTPError, OSError) as error:
            if self._watch.expired:
                raise self._late() from error
            raise
        except ValueError:
            # The value may be a secret: it is not shown.
            what = "its address, its tls-server-name or a header is invalid"
            raise ClusterError(f"{self._server} can't be asked: {what}.") from None
        if self._watch.expired:
            raise self._late()
        return answer

    def _read(self, response: urllib3.BaseHTTPResponse) -> _Answer:
        limit = ANSWER_LIMIT if response.status in _SUCCESSES else _ERROR_LIMIT
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("", "identity", "gzip"):
            response.close()
            raise ClusterError(f"{self._server} sent an unrequested Content-Encoding: {one_line(encoding)}.")
        body = bytearray()
        # read1 returns what is there; read would wait for a whole chunk.
        while chunk := response.read1(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > limit:
                response.close()
                if response.status not in _SUCCESSES:
                    return _Answer(response.status, response.headers, b"")
                raise TooLargeError(f"{self._server} sent an answer of more than {limit // MIB} MiB.")
        response.release_conn()
        return _Answer(response.status, response.headers, bytes(body))

    def _authorized(self) -> dict[str, str]:
        """The headers of a request."""
        header = self._authorization()
        return {**self._headers, "Authorization": header} if header else self._headers

    def _authorization(self) -> str:
        user = self.connection.user
        if user.token_file is not None:
            # Read again each time: the kubelet renews a pod's token.
            try:
                token = read_text(user.token_file)
            except (OSError, ValueError) as error:
                what = getattr(error, "strerror", None) or "it is not UTF-8"
                raise ClusterError(f"The token file {user.token_file} can't be read: {what}.") from error
            return _bearer(token, f"The token file {user.token_file}", ClusterError)
        if user.token is not None:
            return _bearer(user.token, f"{self.connection.file}: the token of user {user.name}", KubeconfigError)
        if user.basic is not None:
            return basic(*user.basic)
        if user.plugin is None:
            return ""
        if self._credential is None or self._credential.expired:
            self._credential = run(user.plugin)
            if self._pool is None or self._credential.certificate is not None:
                self.close()
                certificate, key = self._credential.certificate, self._credential.key
                self._pool = open_pool(self.connection, certificate or user.certificate, key or user.key, self._watch)
        if not self._credential.token:
            return ""
        return _bearer(self._credential.token, f"The token of {user.plugin.name}", ClusterError)

    def _waited(self, attempt: int, header: str | None, deadline: Deadline) -> bool:
        """Wait before another attempt; False if this was the last one, or if the time does not suffice."""
        seconds = self._policy.wait(attempt, retry_after(header, time.time()))
        if attempt == self._policy.retries or seconds >= deadline.left:
            return False
        time.sleep(seconds)
        return True

    @property
    def _server(self) -> str:
        return f"The API server {self.connection.server} of context {self.connection.name}"

    def _late(self) -> ClusterError:
        message = f"{self._server} did not finish its answer within {ANSWER_SECONDS:.0f} s."
        return ClusterError(message, hint="Check the network and the server's load, and try again.")

    def _decoded(self, body: bytes) -> dict[str, Any]:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            message = f"{self.connection.server} did not answer with a Kubernetes object."
            raise ClusterError(message, hint="Check that this is the address of an API server.")
        return found

    def _unreachable(self, error: HTTPError) -> ClusterError:
        cause = _cause(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            hostname = "ostname" in cause.verify_message or "IP address" in cause.verify_message
            hint = (
                "Set tls-server-name in the kubeconfig to a name in its certificate."
                if hostname
                else "certificate-authority-data is outdated, or of another cluster: recreate the kubeconfig."
            )
            return ClusterError(f"{self._server} is not trusted: {cause.verify_message}.", hint=hint)
        if isinstance(cause, ssl.SSLError | SSLError):
            why = getattr(cause, "reason", None) or str(cause)
            return ClusterError(
                f"{self._server} can't be reached over TLS: {why}.",
                hint="Check that this is the HTTPS address of an API server.",
            )
        hint = "Check the address, the cluster and the VPN: a private endpoint can only be reached inside its VPC."
        if isinstance(error, ProxyError):
            hint = "Check proxy-url in the kubeconfig, or HTTPS_PROXY."
            return ClusterError(f"{self._server} can't be reached through its proxy.", hint=hint)
        return ClusterError(f"{self._server} can't be reached: {_why(error, cause)}.", hint=hint)


def _bearer(token: str, source: str, fault: type[ClusterError | KubeconfigError]) -> str:
    """The header for a token. White space around it is left out, as client-go does with token files.

    Raises ``fault``, which does not show the token, for what can't be in a header.
    """
    text = token.strip()
    if not text:
        raise fault(f"{source} is empty.")
    if not _TOKEN.fullmatch(text):
        what = "a line break" if "\n" in text or "\r" in text else "a character that is not printable ASCII"
        raise fault(f"{source} contains {what}.", hint="Write the token on one line.")
    return f"Bearer {text}"


def _may_pass(error: HTTPError) -> bool:
    """Whether another attempt may help: it does not for TLS errors, unknown host names and closed ports."""
    refused = isinstance(error, NewConnectionError | ConnectTimeoutError | ProxyError | LocationParseError | SSLError)
    return not refused and not isinstance(_cause(error), ssl.SSLError)


def _cause(error: BaseException) -> BaseException:
    seen = error
    while (inner := seen.__cause__ or seen.__context__) is not None:
        seen = inner
    arguments = [each for each in seen.args if isinstance(each, BaseException)]
    return _cause(arguments[0]) if arguments else seen


def _why(error: HTTPError, cause: BaseException) -> str:
    why = next((why for kind, why in _REASONS if isinstance(error, kind)), "")
    if why:
        return why
    if isinstance(cause, OSError) and cause.errno is not None:
        return os.strerror(cause.errno).lower()
    return "the connection was closed"


def _status_error(answer: _Answer, authorization: str) -> StatusError:
    try:
        status = json.loads(answer.body)
        reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    except (ValueError, AttributeError, RecursionError):
        reason, message = "", ""
    secrets = (authorization.partition(" ")[2],)
    return StatusError(answer.status, one_line(reason, secrets=secrets), one_line(message, secrets=secrets))
