"""One API server over HTTPS: trust, credentials, retries, and its errors. It only reads."""

from __future__ import annotations

import json
import os
import ssl
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
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
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.exec_plugin import ExecCredential, run
from multiarch.kubernetes.kubeconfig import Connection
from multiarch.retries import RetryPolicy, retry_after

ATTEMPTS = 5
LONGEST_WAIT = 30.0
"""The most seconds to wait before another attempt, even if Retry-After asks for more."""
_TIMEOUT = urllib3.Timeout(connect=10.0, read=60.0)
_AGAIN = frozenset((429, 500, 502, 503, 504))
_UNAUTHORIZED = 401
_OK = 200


class StatusError(Exception):
    """An answer other than 200: its status, and the API server's ``reason``, ``message`` and user, if it gave them."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep the parts; the caller makes an error for users of it."""
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Transport:
    """Connections to one API server, kept open between requests. Safe to use from one thread at a time."""

    def __init__(self, connection: Connection, *, agent: str, first_wait: float = 0.5) -> None:
        """Open nothing yet. ``first_wait`` are the seconds before the second attempt; they double from there on.

        Raises KubeconfigError for invalid certificates, and for a proxy that can't be used.
        """
        self.connection = connection
        self._policy = RetryPolicy(ATTEMPTS - 1, first_wait, LONGEST_WAIT)
        self._headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": agent}
        self._credential: ExecCredential | None = None
        self._pool: urllib3.PoolManager | None = None
        if connection.user.plugin is None:
            self._open(connection.user.certificate, connection.user.key)

    def close(self) -> None:
        """Close what is open."""
        if self._pool is not None:
            self._pool.clear()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the object at ``path``.

        Requests to a busy server, and over a connection that breaks, are made up to five times, waiting as long as
        the server asks for. Raises StatusError for any status but 200, and ClusterError for a server that can't be
        reached or is not trusted, and for a credential plugin that fails.
        """
        target = f"{self.connection.server}{path}" + (f"?{urlencode(query)}" if query else "")
        renewed = False
        for attempt in range(ATTEMPTS):
            last = attempt == self._policy.retries
            try:
                answer = self._authorized(target)
            except HTTPError as error:
                if last or not _may_pass(error):
                    raise self._unreachable(error) from error
                self._wait(attempt, None)
                continue
            if answer.status == _OK:
                return _decoded(answer.data, self.connection.server)
            if answer.status == _UNAUTHORIZED and self._credential is not None and not renewed:
                renewed, self._credential = True, None
            elif answer.status in _AGAIN and not last:
                self._wait(attempt, answer.headers.get("Retry-After"))
            else:
                raise _status_error(answer)
        raise AssertionError("the last attempt returns or raises")

    def _authorized(self, target: str) -> urllib3.BaseHTTPResponse:
        headers = {**self._headers, **self._authorization()}
        if self._pool is None:
            raise AssertionError("credentials come first")
        with warnings.catch_warnings():
            if self.connection.insecure:
                # The kubeconfig asks for it.
                warnings.simplefilter("ignore", InsecureRequestWarning)
            return self._pool.request("GET", target, headers=headers, retries=False, redirect=False)

    def _authorization(self) -> dict[str, str]:
        user = self.connection.user
        if user.token_file is not None:
            # Read again each time: the kubelet renews a pod's token.
            try:
                return _bearer(read_text(user.token_file).strip())
            except (OSError, UnicodeDecodeError) as error:
                what = getattr(error, "strerror", None) or "it is not UTF-8"
                raise ClusterError(f"The token file {user.token_file} can't be read: {what}.") from error
        if user.token is not None:
            return _bearer(user.token)
        if user.basic is not None:
            return urllib3.make_headers(basic_auth=":".join(user.basic))
        if user.plugin is None:
            return {}
        if self._credential is None or self._credential.expired:
            self._credential = run(user.plugin)
            if self._pool is None or self._credential.certificate is not None:
                self.close()
                certificate, key = self._credential.certificate, self._credential.key
                self._open(certificate or user.certificate, key or user.key)
        return _bearer(self._credential.token) if self._credential.token else {}

    def _open(self, certificate: bytes | None, key: bytes | None) -> None:
        connection = self.connection
        options: dict[str, Any] = {"timeout": _TIMEOUT, "maxsize": 2}
        if connection.server.startswith("https://"):
            options["ssl_context"] = _context(connection, certificate, key)
            options["assert_hostname"] = False if connection.insecure else None
            if connection.server_name:
                options["server_hostname"] = connection.server_name
        proxy = _proxy(connection)
        if proxy is None:
            self._pool = urllib3.PoolManager(**options)
            return
        parts = urlsplit(proxy)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "Only http:// and https:// proxies are supported."
            raise KubeconfigError(f"The proxy for {connection.server} can't be used.", hint=hint)
        headers = None
        if parts.username is not None:
            headers = urllib3.make_headers(proxy_basic_auth=f"{parts.username}:{parts.password or ''}")
        self._pool = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)

    def _wait(self, attempt: int, header: str | None) -> None:
        time.sleep(self._policy.wait(attempt, retry_after(header, time.time())))

    def _unreachable(self, error: HTTPError) -> ClusterError:
        connection = self.connection
        server = f"The API server {connection.server} of context {connection.name}"
        cause = _cause(error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            hostname = "ostname" in cause.verify_message or "IP address" in cause.verify_message
            hint = (
                "Set tls-server-name in the kubeconfig to a name in its certificate."
                if hostname
                else "certificate-authority-data is outdated, or of another cluster: recreate the kubeconfig."
            )
            return ClusterError(f"{server} is not trusted: {cause.verify_message}.", hint=hint)
        if isinstance(cause, ssl.SSLError | SSLError):
            why = getattr(cause, "reason", None) or str(cause)
            return ClusterError(
                f"{server} can't be reached over TLS: {why}.",
                hint="Check that this is the HTTPS address of an API server.",
            )
        hint = "Check the address, the cluster and the VPN: a private endpoint can only be reached inside its VPC."
        if isinstance(error, ProxyError):
            hint = "Check proxy-url in the kubeconfig, or HTTPS_PROXY."
            return ClusterError(f"{server} can't be reached through its proxy.", hint=hint)
        return ClusterError(f"{server} can't be reached: {_why(error, cause)}.", hint=hint)


def _bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _context(connection: Connection, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=connection.authority)
    except (ssl.SSLError, ValueError) as error:
        message = f"{connection.file}: the certificate-authority of context {connection.name} is not a PEM certificate."
        raise KubeconfigError(message, hint="Recreate the kubeconfig.", file=connection.file) from error
    # Many tools make clusters' own authorities, and not all set what Python 3.13 requires.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None and key is not None:
        _load_pair(context, connection, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, connection: Connection, certificate: bytes, key: bytes) -> None:
    """OpenSSL loads a pair from files only: the file exists for a moment, readable by its owner only."""
    with tempfile.TemporaryDirectory(prefix="multiarch-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(certificate + b"\n" + key)
        try:
            context.load_cert_chain(pair, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            message = f"The client certificate and key of user {connection.user.name} are not a matching PEM pair."
            raise KubeconfigError(
                message, hint="A key with a password is not supported.", file=connection.file
            ) from error


def _no_password() -> str:
    raise ValueError("a password is asked for")


def _proxy(connection: Connection) -> str | None:
    """The kubeconfig's proxy, or the environment's, unless NO_PROXY excepts the server."""
    if connection.proxy:
        return connection.proxy
    parts = urlsplit(connection.server)
    if proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


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
    if isinstance(error, NameResolutionError):
        return "its host name can't be resolved"
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return "the connection timed out"
    if isinstance(error, ReadTimeoutError):
        return "reading its answer timed out"
    if isinstance(cause, OSError) and cause.errno is not None:
        return os.strerror(cause.errno).lower()
    return "the connection was closed"


def _decoded(data: bytes, server: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        message = f"{server} did not answer with a Kubernetes object."
        raise ClusterError(message, hint="Check that this is the address of an API server.")
    return found


def _status_error(answer: urllib3.BaseHTTPResponse) -> StatusError:
    try:
        status = json.loads(answer.data)
        reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    except (ValueError, AttributeError):
        reason, message = "", ""
    return StatusError(answer.status, reason, message)
