"""HTTP requests with their redirects; every failure becomes a RegistryError with its RegistryReason.

A redirect to another server carries no credentials.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from cachetools import LRUCache
from yarl import URL

from multiarch.files import reject_device
from multiarch.registry.answers import get_host, translate_failures
from multiarch.registry.egress import normalise_name
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import ReadOperation
from multiarch.registry.resolver import BoundedResolver, OperatorResolver
from multiarch.registry.settings import REMEMBERED, RegistrySettings, get_host_name, is_link_local, is_loopback

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Headers that may follow a redirect to another server.
_PUBLIC_HEADERS = frozenset({"accept", "accept-encoding", "user-agent"})
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_BAD_REQUEST = 400


class RegistryTransport:
    """Sends requests. Use it with ``async with``, in one event loop."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Open no connection before ``async with``."""
        self._settings = settings
        self._session: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None
        self._mirrors: set[str] = set()
        self._proxies: dict[str, str] = {}
        self._contexts: dict[tuple[tuple[Path, ...], bool], ssl.SSLContext] = {}
        self._loading = asyncio.Lock()
        self._slots: LRUCache[str, asyncio.Semaphore] = LRUCache(REMEMBERED)
        self._schemes: LRUCache[str, str] = LRUCache(REMEMBERED)
        self._probing: LRUCache[str, asyncio.Lock] = LRUCache(REMEMBERED)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        self._proxies = urllib.request.getproxies_environment() if self._settings.proxies else {}
        policy = self._settings.egress
        # A proxy is the operator's, and may be anywhere.
        self._proxied = self._open(OperatorResolver())
        self._session = self._proxied if policy is None else self._open(BoundedResolver(policy, self._resolves_locally))
        return self

    def _open(self, resolver: AbstractResolver) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, resolver=resolver),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=self._settings.connect_seconds, sock_read=self._settings.read_seconds
            ),
            headers={"User-Agent": self._settings.user_agent, "Accept-Encoding": "identity"},
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection pool."""
        for session in (self._session, self._proxied):
            if session is not None:
                await session.close()
        # aiohttp closes TLS connections in the loop's next iterations.
        await asyncio.sleep(0)
        self._session = self._proxied = None

    async def base(self, operation: ReadOperation) -> URL:
        """Return the root of the endpoint's API. Detects its scheme first, once, if both are allowed."""
        host = operation.endpoint.host
        scheme = operation.endpoint.scheme or self._schemes.get(host)
        if scheme is None:
            async with self._probing.setdefault(host, asyncio.Lock()):
                scheme = self._schemes[host] = self._schemes.get(host) or await self._find_scheme(operation)
        return _root(operation, scheme)

    @asynccontextmanager
    async def request(
        self,
        operation: ReadOperation,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        *,
        form: Mapping[str, str] | None = None,
        queue: str = "",
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request to the operation's endpoint and follow its redirects; the response is closed at the end.

        At most ``concurrency`` requests per host are open at the same time; ``queue`` names a separate queue. Read the
        body with ``multiarch.registry.answers``.

        Raises:
            RegistryError: there is no response. Responses of any status are returned.
        """
        name = f"{queue}{get_host(url)}"
        slots = self._slots.setdefault(name, asyncio.Semaphore(self._settings.concurrency))
        with translate_failures(operation, get_host(url)):
            async with asyncio.timeout(operation.deadline.left):
                await slots.acquire()
        try:
            response = await self._follow(operation, method, url, headers, form)
            try:
                yield response
            finally:
                response.release()
        finally:
            slots.release()

    async def _follow(
        self,
        operation: ReadOperation,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
    ) -> aiohttp.ClientResponse:
        seen = {url}
        start = url
        while True:
            response = await self._send(operation, method, url, headers, form)
            if response.status not in _REDIRECTS:
                return response
            location = response.headers.get("Location")
            response.release()
            if form is not None:
                raise operation.error(
                    RegistryReason.UNSUPPORTED, f"{url.host} redirects a request that contains a secret"
                )
            target = self._target(operation, url, location)
            if target in seen:
                raise operation.error(RegistryReason.REDIRECTS, f"{start.host} redirects in a loop")
            if len(seen) > self._settings.redirects:
                raise operation.error(RegistryReason.REDIRECTS, f"{start.host} redirects {len(seen)} times")
            if target.origin() != url.origin():
                headers = {name: value for name, value in headers.items() if name.lower() in _PUBLIC_HEADERS}
                operation = replace(operation, endpoint=Endpoint(get_host(target), scheme=target.scheme))
            seen.add(target)
            url = target

    def _target(self, operation: ReadOperation, url: URL, location: str | None) -> URL:
        """Return the target of a redirect, byte for byte: any change breaks a signed URL."""
        if not location or not _PRINTABLE.fullmatch(location):
            raise operation.error(RegistryReason.MALFORMED, f"{url.host} sent a redirect without a usable Location")
        try:
            target = url.join(URL(location, encoded=True)).with_fragment(None)
            fine = target.scheme in {"https", "http"} and bool(target.host) and target.user is None
        except ValueError:
            fine = False
        if not fine:
            raise operation.error(RegistryReason.MALFORMED, f"{url.host} redirects to an invalid URL")
        if target.scheme == "http" and not self._settings.allows_plain_http(get_host(target), named_by=get_host(url)):
            same_host = url.scheme == "http" and get_host(target) == get_host(url)
            if not same_host:
                raise operation.error(
                    RegistryReason.REJECTED_HTTP, f"{url.host} redirects to http://{get_host(target)}"
                )
        return target

    async def _send(
        self,
        operation: ReadOperation,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None,
    ) -> aiohttp.ClientResponse:
        if self._session is None or self._proxied is None:
            raise RuntimeError("use the client inside `async with`")
        operation.image.requests += 1
        if operation.image.requests > self._settings.requests_limit:
            detail = f"the image takes more than {self._settings.requests_limit} requests"
            raise operation.error(RegistryReason.TOO_LARGE, detail)
        self._check(operation, url)
        context = await self._context(operation) if url.scheme == "https" else True
        proxy = self._proxy(operation, url)
        with translate_failures(operation, get_host(url)):
            async with asyncio.timeout(operation.deadline.left):
                session = self._session if proxy is None else self._proxied
                return await session.request(
                    method, url, headers=headers, data=form, allow_redirects=False, ssl=context, proxy=proxy
                )

    def _check(self, operation: ReadOperation, url: URL) -> None:
        """Reject a host that may not be connected to, by its name. The resolver rejects addresses of other names."""
        policy = self._settings.egress
        host = get_host(url)
        if policy is None:
            if is_link_local(host) and not self._settings.names(host):
                detail = f"{host} is a link-local address; instance metadata and credentials are served there"
                raise operation.error(RegistryReason.UNSUPPORTED, detail)
            return
        name = normalise_name(url.raw_host or "")
        is_mirror = operation.endpoint.namespace is not None
        named = is_mirror or self._is_operators(name)
        if is_mirror:
            self._mirrors.add(name)
        if (rejection := policy.host_rejection(name, named=named)) is not None:
            raise operation.error(RegistryReason.NOT_ALLOWED, rejection.text, rejection.hint)

    def _is_operators(self, name: str) -> bool:
        """Return whether the operator names this host, as an allowed registry or for plain HTTP."""
        policy = self._settings.egress
        allowed = policy is not None and policy.names(name)
        return allowed or any(get_host_name(each) == name for each in self._settings.plain_http)

    def _resolves_locally(self, name: str) -> bool:
        return name in self._mirrors or self._is_operators(name)

    async def _context(self, operation: ReadOperation) -> ssl.SSLContext:
        key = (*self._settings.ca_files, *operation.endpoint.ca_files), operation.endpoint.verify
        if key not in self._contexts:
            async with self._loading:
                if key not in self._contexts:
                    # In a thread: reading all of the system's certificates takes 20 ms.
                    self._contexts[key] = await asyncio.to_thread(_new_context, operation, *key)
        return self._contexts[key]

    def _proxy(self, operation: ReadOperation, url: URL) -> URL | None:
        address = self._proxies.get(url.scheme)
        if not address or url.host is None or is_loopback(get_host(url)):
            return None
        if urllib.request.proxy_bypass(get_host(url)):
            return None
        try:
            proxy = URL(address if "://" in address else f"http://{address}")
        except ValueError:
            proxy = URL()
        if proxy.scheme not in {"http", "https"} or not proxy.host:
            # The value is not shown: it may contain a password.
            detail = f"{url.scheme.upper()}_PROXY is not a valid proxy for {get_host(url)}"
            raise operation.error(RegistryReason.MISCONFIGURED, detail, "Set it to http://HOST:PORT, or unset it.")
        return proxy

    async def _find_scheme(self, operation: ReadOperation) -> str:
        """Return ``https``, or ``http`` where the server does not speak TLS. Sends no credentials."""
        try:
            await self._ask_root(operation, "https")
        except RegistryError as error:
            if error.reason is RegistryReason.REJECTED_HTTP:
                return "http"
            if error.reason is not RegistryReason.UNREACHABLE:
                raise
            # A server without TLS may close the connection, and so may one that is down or restarts: HTTP is for one
            # that answers it. Go servers answer 400 to plain HTTP on a TLS port.
            with suppress(RegistryError):
                if await self._ask_root(operation, "http") != _BAD_REQUEST:
                    return "http"
            raise
        return "https"

    async def _ask_root(self, operation: ReadOperation, scheme: str) -> int:
        """Return the status of ``/``."""
        response = await self._send(operation, "GET", _root(operation, scheme, "/"), {}, None)
        response.release()
        return response.status


def _new_context(operation: ReadOperation, ca_files: tuple[Path, ...], verify: bool) -> ssl.SSLContext:  # noqa: FBT001
    context = ssl.create_default_context()
    for file in ca_files:
        try:
            reject_device(file)
            context.load_verify_locations(cafile=file)
        except (OSError, ssl.SSLError) as error:
            detail = f"can't read certificates from {file} ({error.strerror or error})"
            raise operation.error(RegistryReason.UNTRUSTED, detail, "Use a file in PEM format.") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _root(operation: ReadOperation, scheme: str, end: str = "") -> URL:
    endpoint = operation.endpoint
    try:
        return URL(f"{scheme}://{endpoint.host}{endpoint.path}{end}")
    except ValueError as error:
        detail = f"{endpoint.host} is not a valid host ({error})"
        raise operation.error(RegistryReason.MISCONFIGURED, detail, "Check the name and hosts.toml.") from error
