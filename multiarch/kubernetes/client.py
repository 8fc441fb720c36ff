"""Requests to one API server over the official client's connections: bounds, retries and errors."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import urllib3
from kubernetes.client.rest import RESTClientObject
from urllib3.exceptions import HTTPError, InsecureRequestWarning, ProxyError, SSLError
from urllib3.util import Retry, Timeout, make_headers, parse_url
from urllib3.util.ssl_ import create_urllib3_context

from multiarch import __version__
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.kubeconfig import read_connection
from multiarch.kubernetes.resources import JSON, TEXT
from multiarch.kubernetes.source import ClusterAccess
from multiarch.registry.errors import format_line
from multiarch.registry.settings import MIB

ATTEMPTS = 5
LONGEST_WAIT = 30
"""Maximum seconds before another attempt, whatever Retry-After says."""
DATA_SECONDS = 60.0
"""Maximum seconds to wait for data."""
ANSWER_LIMIT = 64 * MIB
"""Maximum bytes of an answer, decompressed. A page of 500 pods has about 5 MB."""
BUSY = (429, 500, 502, 503, 504)
_UNAUTHORIZED, _REDIRECT = 401, 300
_NOT_KUBERNETES = "Check that this is the address of an API server."


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What the API server answered: an object or, as the ``message``, text; from 300 on that of a Status."""

    status: int
    value: dict[str, Any]
    message: str


class ApiClient:
    """Connections to one API server, kept open between requests. Safe to use from one thread at a time."""

    def __init__(self, access: ClusterAccess, *, first_wait: float) -> None:
        """Read the kubeconfig and run its exec plugin; send nothing. Raises as :func:`read_connection` does."""
        self._access = access
        self._first_wait = first_wait
        self._connect()

    def _connect(self) -> None:
        self.connection = read_connection(self._access)
        found = self.connection.configuration
        # Many tools make clusters' own authorities, and not all set what Python 3.13 requires.
        context = create_urllib3_context(cert_reqs=ssl.CERT_REQUIRED if found.verify_ssl else ssl.CERT_NONE)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not found.ssl_ca_cert:
            context.load_default_certs()
        if not found.verify_ssl:
            urllib3.disable_warnings(InsecureRequestWarning)
        try:
            self.server = f"The API server {parse_url(found.host).netloc} of context {self.connection.name}"
            if found.proxy and (auth := parse_url(found.proxy).auth):
                found.proxy_headers = make_headers(proxy_basic_auth=unquote(auth))
            self._pool = RESTClientObject(found).pool_manager
        except (HTTPError, AssertionError, ValueError):
            # The value is not shown: it may contain a password.
            message = f"The server or the proxy of context {self.connection.name} is not a valid address."
            raise KubeconfigError(message, hint="A proxy is http://HOST:PORT or https://HOST:PORT.") from None
        self._pool.connection_pool_kw["ssl_context"] = context

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def send(
        self, method: str, path: str, body: object = None, *, busy: tuple[int, ...] = BUSY, accept: str = JSON
    ) -> ApiAnswer:
        """Return the answer. A request that the server was too ``busy`` for is sent again, up to four times.

        So is one whose credentials were rejected, if the exec plugin or a token's file has others now. A request may
        reach the server twice: the second one must do no harm. Raises ClusterError for a server that can't be reached
        or is not trusted, and for an answer that is too large, takes too long or is not an object.
        """
        answer = self._answer(method, path, body, busy, accept)
        if answer.status == _UNAUTHORIZED:
            rejected = self.connection.authorization
            self.close()
            self._connect()
            if self.connection.authorization != rejected:
                return self._answer(method, path, body, busy, accept)
        return answer

    def _answer(self, method: str, path: str, body: object, busy: tuple[int, ...], accept: str) -> ApiAnswer:
        headers = {"Accept": accept, "Accept-Encoding": "gzip", "User-Agent": f"multiarch/{__version__}"}
        if self.connection.authorization:
            headers["Authorization"] = self.connection.authorization
        if body is not None:
            headers["Content-Type"] = "application/json-patch+json" if method == "PATCH" else "application/json"
        try:
            # The end of the block closes the connection, unless the whole answer was read.
            with self._pool.request(
                method,
                f"{self.connection.configuration.host}{path}",
                body=None if body is None else json.dumps(body),
                headers=headers,
                retries=self._retries(busy),
                timeout=Timeout(connect=10.0, read=DATA_SECONDS),
                preload_content=False,
            ) as response:
                content = response.read(ANSWER_LIMIT + 1, decode_content=True)
        except (HTTPError, OSError) as error:
            raise self._unreachable(error) from error
        if len(content) > ANSWER_LIMIT:
            raise ClusterError(f"{self.server} sent an answer of more than {ANSWER_LIMIT // MIB} MiB.")
        if accept == TEXT and response.status < _REDIRECT:
            return ApiAnswer(response.status, {}, content.decode(errors="replace"))
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            if response.status < _REDIRECT:
                raise ClusterError(f"{self.server} did not answer with a Kubernetes object.", hint=_NOT_KUBERNETES)
            value = {}
        secret = self.connection.authorization.partition(" ")[2]
        return ApiAnswer(response.status, value, format_line(str(value.get("message") or ""), secrets=(secret,)))

    def _retries(self, busy: tuple[int, ...]) -> Retry:
        return Retry(
            ATTEMPTS - 1,
            connect=0,
            redirect=False,
            other=0,
            allowed_methods=None,
            status_forcelist=busy,
            raise_on_status=False,
            respect_retry_after_header=busy == BUSY,
            backoff_factor=self._first_wait,
            backoff_max=LONGEST_WAIT,
            retry_after_max=LONGEST_WAIT,
        )

    def _unreachable(self, error: Exception) -> ClusterError:
        cause = _first_cause(error)
        said = format_line(getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause))
        if isinstance(cause, ssl.SSLCertVerificationError):
            hint = "Recreate the kubeconfig, or set tls-server-name in it to a name in the server's certificate."
            return ClusterError(f"{self.server} is not trusted: {said}.", hint=hint)
        if isinstance(cause, ssl.SSLError | SSLError):
            hint = "Check that this is the HTTPS address of an API server, and the certificates in the kubeconfig."
            return ClusterError(f"{self.server} can't be reached over TLS: {said}.", hint=hint)
        if isinstance(getattr(error, "reason", None), ProxyError):
            hint = "Check proxy-url in the kubeconfig, or HTTPS_PROXY."
            return ClusterError(f"{self.server} can't be reached through its proxy.", hint=hint)
        hint = "Check the address, the cluster and the VPN: a private endpoint can only be reached inside its VPC."
        return ClusterError(f"{self.server} can't be reached: {said}.", hint=hint)


def _first_cause(error: BaseException) -> BaseException:
    inner = error.__cause__ or error.__context__
    inner = inner or next((each for each in error.args if isinstance(each, BaseException)), None)
    return error if inner is None else _first_cause(inner)
