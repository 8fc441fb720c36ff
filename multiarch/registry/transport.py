"""One HTTP request, redirects followed by hand, everything that can fail named as a RegistryReason.

Credentials stay with the server they were meant for: a redirect to another one takes none along.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import aiohttp
from yarl import URL

from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.failures import failures, host_of
from multiarch.registry.recent import Recent
from multiarch.registry.settings import RegistrySettings, is_loopback
from multiarch.registry.timing import Deadline

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What another server may know of a request; anything else was for the first one alone.
_HARMLESS = frozenset({"accept", "accept-encoding", "if-none-match", "user-agent"})
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_BAD_REQUEST = 400


@dataclass(frozen=True, slots=True)
class Errand:
    """What a request is for, and until when: ``registry`` and ``reference`` are for messages."""

    registry: str
    reference: str
    deadline: Deadline

    def error(self, reason: RegistryReason, detail: str, hint: str | None = None) -> RegistryError:
        """An error of this errand."""
        return RegistryError(reason, detail, registry=self.registry, reference=self.reference, hint=hint)


class Transport:
    """Opens requests. Use it with ``async with``, in one event loop."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Nothing is opened before ``async with``."""
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[str, str] = {}
        self._contexts: dict[tuple[tuple[Path, ...], bool], ssl.SSLContext] = {}
        self._places: Recent[str, asyncio.Semaphore] = Recent()
        self._schemes: Recent[str, str] = Recent()
        self._probing: Recent[str, asyncio.Lock] = Recent()

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        self._proxies = urllib.request.getproxies_environment() if self._settings.proxies else {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._settings.connect_seconds, sock_read=self._settings.read_seconds
            ),
            headers={"User-Agent": self._settings.user_agent, "Accept-Encoding": "identity"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if self._session is not None:
            await self._session.close()
            # aiohttp ends TLS connections in the loop's next turns.
            await asyncio.sleep(0)
            self._session = None

    async def base(self, errand: Errand, endpoint: Endpoint) -> URL:
        """The root of an endpoint's API. Finds out its scheme first, once, if both are allowed."""
        scheme = endpoint.scheme or self._schemes.get(endpoint.host)
        if scheme is None:
            async with self._probing.get_or_make(endpoint.host, asyncio.Lock):
                scheme = self._schemes.get(endpoint.host) or await self._find_scheme(errand, endpoint)
                self._schemes.put(endpoint.host, scheme)
        return _root(errand, endpoint, scheme)

    @asynccontextmanager
    async def request(
        self,
        errand: Errand,
        endpoint: Endpoint,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        *,
        form: Mapping[str, str] | None = None,
        queue: str = "",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and follow its redirects; the answer is closed at the end.

        At most ``concurrency`` of one host are open at the same time; ``queue`` names a queue of its own. The body is
        to be read with ``multiarch.registry.answers``.

        Raises:
            RegistryError: there is no answer. An answer of whatever status is none of its matters.
        """
        name = f"{queue}{host_of(url)}"
        place = self._places.get_or_make(name, lambda: asyncio.Semaphore(self._settings.concurrency))
        async with errand.deadline.paused():
            await place.acquire()
        try:
            response = await self._follow(errand, endpoint, method, url, dict(headers), form)
            try:
                yield response
            finally:
                response.release()
        finally:
            place.release()

    async def _follow(
        self,
        errand: Errand,
        endpoint: Endpoint,
        method: str,
        url: URL,
        headers: dict[str, str],
        form: Mapping[str, str] | None,
    ) -> aiohttp.ClientResponse:
        seen = {url}
        start = url
        while True:
            response = await self._send(errand, endpoint, method, url, headers, form)
            if response.status not in _REDIRECTS:
                return response
            location = response.headers.get("Location")
            response.release()
            if form is not None:
                raise errand.error(RegistryReason.UNSUPPORTED, f"{url.host} redirects a request that holds a secret")
            target = self._target(errand, url, location)
            if target in seen:
                raise errand.error(RegistryReason.REDIRECTS, f"{start.host} redirects in a circle")
            if len(seen) > self._settings.redirects:
                raise errand.error(RegistryReason.REDIRECTS, f"{start.host} redirects {len(seen)} times")
            if target.origin() != url.origin():
                headers = {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
                endpoint = Endpoint(host_of(target), scheme=target.scheme)
            seen.add(target)
            url = target

    def _target(self, errand: Errand, url: URL, location: str | None) -> URL:
        """Where a redirect leads. It is taken as it is written: a changed letter breaks a signed URL."""
        if not location or len(location) > 16384:  # noqa: PLR2004 (longer than any signed URL)
            raise errand.error(RegistryReason.MALFORMED, f"{url.host} redirects to nowhere")
        text = location if _PRINTABLE.fullmatch(location) else quote(location, safe="%/:?#[]@!$&'()*+,;=~")
        try:
            target = url.join(URL(text, encoded=True)).with_fragment(None)
            fine = target.scheme in {"https", "http"} and bool(target.host) and target.user is None
        except ValueError:
            fine = False
        if not fine:
            raise errand.error(RegistryReason.MALFORMED, f"{url.host} redirects to what is no https:// URL")
        if target.scheme == "http" and not self._settings.allows_plain_http(host_of(target)):
            same_place = url.scheme == "http" and host_of(target) == host_of(url)
            if not same_place:
                raise errand.error(RegistryReason.REFUSED_HTTP, f"{url.host} redirects to http://{host_of(target)}")
        return target

    async def _send(
        self,
        errand: Errand,
        endpoint: Endpoint,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            raise RuntimeError("the client is used outside its `async with`")
        context = self._context(errand, endpoint) if url.scheme == "https" else True
        proxy = self._proxy(errand, url)
        with failures(errand.error, host_of(url), errand.deadline.seconds):
            async with asyncio.timeout(errand.deadline.left):
                return await self._session.request(
                    method, url, headers=headers, data=form, allow_redirects=False, ssl=context, proxy=proxy
                )

    def _context(self, errand: Errand, endpoint: Endpoint) -> ssl.SSLContext:
        files = (*self._settings.ca_files, *endpoint.ca_files)
        key = files, endpoint.verify
        if key not in self._contexts:
            context = ssl.create_default_context()
            for file in files:
                try:
                    context.load_verify_locations(cafile=file)
                except (OSError, ssl.SSLError) as error:
                    detail = f"{file} holds no certificates that can be read ({error.strerror or error})"
                    raise errand.error(RegistryReason.UNTRUSTED, detail, "Give a file in PEM format.") from error
            if not endpoint.verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._contexts[key] = context
        return self._contexts[key]

    def _proxy(self, errand: Errand, url: URL) -> URL | None:
        address = self._proxies.get(url.scheme)
        if not address or url.host is None or is_loopback(host_of(url)):
            return None
        if urllib.request.proxy_bypass(host_of(url)):
            return None
        try:
            proxy = URL(address if "://" in address else f"http://{address}")
        except ValueError:
            proxy = URL()
        if proxy.scheme not in {"http", "https"} or not proxy.host:
            # Not shown: a password may stand in it.
            detail = f"{url.scheme.upper()}_PROXY names no proxy that can be used for {host_of(url)}"
            raise errand.error(RegistryReason.MISCONFIGURED, detail, "Write http://HOST:PORT, or unset it.")
        return proxy

    async def _find_scheme(self, errand: Errand, endpoint: Endpoint) -> str:
        """Ask whether it speaks TLS, without credentials.

        This machine's registries are plain most of the time, and a TLS server notices at once that it was not
        addressed in TLS; others are asked for TLS first.
        """
        first, second = ("http", "https") if is_loopback(endpoint.host) else ("https", "http")
        problem = await self._speaks(errand, endpoint, first)
        if problem is None:
            return first
        if problem.reason in {RegistryReason.UNTRUSTED, RegistryReason.TIMEOUT}:
            raise problem
        other = await self._speaks(errand, endpoint, second)
        if other is None:
            return second
        if first == "http" and other.reason is RegistryReason.REFUSED_HTTP:
            return first  # it has no TLS: 400 is what it says to this path
        no_tls = problem.reason is RegistryReason.REFUSED_HTTP
        raise other if no_tls or other.reason is RegistryReason.UNTRUSTED else problem

    async def _speaks(self, errand: Errand, endpoint: Endpoint, scheme: str) -> RegistryError | None:
        url = _root(errand, endpoint, scheme, "/")
        try:
            response = await self._send(errand, endpoint, "GET", url, {}, None)
        except RegistryError as error:
            return error
        status = response.status
        response.release()
        if scheme == "http" and status == _BAD_REQUEST:  # Go's answer to plain HTTP where it expects TLS
            return errand.error(RegistryReason.UNREACHABLE, f"{endpoint.host} refuses plain HTTP")
        return None


def _root(errand: Errand, endpoint: Endpoint, scheme: str, end: str = "") -> URL:
    try:
        return URL(f"{scheme}://{endpoint.host}{endpoint.path}{end}")
    except ValueError as error:
        detail = f"{endpoint.host} is no host that can be connected to ({error})"
        raise errand.error(RegistryReason.MISCONFIGURED, detail, "Check the name and hosts.toml.") from error
