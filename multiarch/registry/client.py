"""The registry client: manifests, blobs and tags, from the origin or its mirrors.

Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote

import aiohttp
from cachetools import LRUCache
from yarl import URL

from multiarch.registry.answers import describe_rejection, read_body, read_chunks
from multiarch.registry.attempts import Attempts
from multiarch.registry.authentication import Authenticator, describe_identity
from multiarch.registry.cache import Cache
from multiarch.registry.checks import BlobCheck, check_manifest, find_next_page, read_tag_names
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.endpoints import Endpoint, HostsFileError, list_endpoints
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import MANIFEST_TYPES, Descriptor, Manifest, compute_digest
from multiarch.registry.operation import ReadOperation
from multiarch.registry.reference import Reference, check_digest
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings, count_values
from multiarch.registry.transport import RegistryTransport

__all__ = ["RegistryClient"]

_OK, _NOT_MODIFIED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 200, 304, 401, 403, 404, 429
_ACCEPT = ", ".join(MANIFEST_TYPES)
_ROUNDS = 100
"""The most requests for one response, with one credential tried after the other; the deadline may end them before."""

_CACHED_BLOB = MIB
"""Blobs up to this size are cached: configs are, layers are not."""
_ANY_BLOB = "application/octet-stream"
"""The media type of cached blobs whose type is not known. A registry may also serve a manifest as a blob."""

_TAGS_PER_PAGE = 1000
_FEW_VALUES = 1000
_SECONDS_PER_VALUE = 4e-6
"""A pause of at least four times what decoding and reading a value takes."""


class RegistryClient:
    """Implements ``multiarch.registry.model.Registry``. Use it with ``async with``, in one event loop.

    One client is one identity: its cache holds what ``credentials`` were allowed to read.
    """

    def __init__(
        self, settings: RegistrySettings, credentials: Sequence[Credentials] = (), cache: Cache | None = None
    ) -> None:
        """Open no connection yet. The caller closes the cache; without one, a cache in memory is made.

        One of ``credentials`` is queried when the registry has rejected all credentials of those before it. A source
        that fails is skipped; its error counts if no source has a credential.
        """
        self._settings = settings
        self._cache = Cache() if cache is None else cache
        self._transport = RegistryTransport(settings)
        self._authenticator = Authenticator(self._transport, settings, credentials)
        self._attempts = Attempts(settings)
        self._turn = asyncio.Lock()
        self._endpoints: LRUCache[str, tuple[Endpoint, ...]] = LRUCache(REMEMBERED)

    async def __aenter__(self) -> Self:
        """Open the connection pool."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection pool."""
        await self._transport.__aexit__(kind, error, trace)

    async def manifest(self, reference: Reference) -> Manifest:
        """Return the manifest that the reference's digest, or else its tag, names.

        A cached digest needs no request, nor does a tag that was checked within ``fresh_seconds``; an older tag is
        checked with a HEAD request. Raises RegistryError.
        """
        name = reference.name
        if reference.digest is not None:
            content = self._cache.content(name, reference.digest)
            if content is None or content.media_type == _ANY_BLOB:
                content = await self._fetched(reference, None)
                self._cache.keep(name, content)
            return content
        tag, pointer_name = reference.tag or "", self._pointer_name(reference)
        pointer = self._cache.pointer(pointer_name, tag)
        known = None if pointer is None else self._cache.content(name, pointer.digest)
        if (
            pointer is not None
            and known is not None
            and 0 <= time.time() - pointer.checked < self._settings.fresh_seconds
        ):
            return known
        with self._forgetting(pointer_name, tag):
            content = await self._fetched(reference, known)
        if content is not known:
            self._cache.keep(name, content)
        self._cache.point(pointer_name, tag, content.digest)
        return content

    async def resolve(self, reference: Reference) -> str:
        """Return a tag's present digest, by a HEAD request; by GET where the registry does not answer that.

        Raises RegistryError.
        """
        if reference.digest is not None:
            return reference.digest
        operation = self._operation(reference)
        endpoints = self._endpoints_of(operation, reference)
        pointer_name, tag = self._pointer_name(reference), reference.tag or ""
        with self._forgetting(pointer_name, tag):
            found = await self._attempts.run(operation, endpoints, lambda own, host: self._head(own, host, reference))
            if found is None:
                content = await self._fetched(reference, None)
                self._cache.keep(reference.name, content)
                found = content.digest
        self._cache.point(pointer_name, tag, found)
        return found

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """Return a blob, whole and verified. Raises RegistryError, TOO_LARGE above ``limit`` bytes."""
        operation = self._operation(reference.at(descriptor.digest))
        limit = min(limit, self._settings.blob_limit)
        if descriptor.size > limit:
            detail = f"the blob has {descriptor.size} bytes; the limit is {limit}"
            raise operation.error(RegistryReason.TOO_LARGE, detail)
        known = self._cache.content(reference.name, descriptor.digest)
        if known is not None:
            return known.content
        endpoints = self._endpoints_of(operation, reference)

        async def fetch(operation: ReadOperation, endpoint: Endpoint) -> bytes:
            check = BlobCheck(operation, descriptor, limit)
            opening = self._open(operation, endpoint, reference, "GET", f"blobs/{descriptor.digest}")
            async with opening as response:
                check.announced(response)
                body = bytearray()
                async for chunk in read_chunks(operation, response):
                    check.add(chunk)
                    body += chunk
                check.finish()
                await self._await_turn(operation, body)
                return bytes(body)

        content = await self._attempts.run(operation, endpoints, fetch)
        if len(content) <= _CACHED_BLOB:
            self._cache.keep(reference.name, Manifest(_ANY_BLOB, descriptor.digest, content))
        return content

    async def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """Yield a blob in chunks of at most 128 KiB. Raises RegistryError, WRONG_DIGEST only at the end."""
        operation = self._operation(reference.at(descriptor.digest), self._settings.stream_seconds)
        check = BlobCheck(operation, descriptor)
        endpoints = self._endpoints_of(operation, reference)

        async def opened(operation: ReadOperation, endpoint: Endpoint) -> tuple[AsyncExitStack, aiohttp.ClientResponse]:
            async with AsyncExitStack() as stack:
                opening = self._open(operation, endpoint, reference, "GET", f"blobs/{descriptor.digest}")
                response = await stack.enter_async_context(opening)
                check.announced(response)
                return stack.pop_all(), response

        stack, response = await self._attempts.run(operation, endpoints, opened)
        async with stack:
            async for chunk in read_chunks(operation, response):
                check.add(chunk)
                yield chunk
            check.finish()

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """Return the repository's tags, sorted. Raises RegistryError, TOO_LARGE above ``tags_limit``."""
        operation = self._operation(reference)
        endpoints = self._endpoints_of(operation, reference)
        found = await self._attempts.run(operation, endpoints, lambda own, host: self._all_tags(own, host, reference))
        return tuple(sorted(found))

    # Manifests

    @contextmanager
    def _forgetting(self, pointer_name: str, tag: str) -> Iterator[None]:
        """Remove a tag from the cache if the registry says that it does not exist."""
        try:
            yield
        except RegistryError as error:
            if error.reason is RegistryReason.NOT_FOUND:
                self._cache.forget(pointer_name, tag)
            raise

    async def _fetched(self, reference: Reference, known: Manifest | None) -> Manifest:
        operation = self._operation(reference)
        endpoints = self._endpoints_of(operation, reference)
        return await self._attempts.run(
            operation, endpoints, lambda own, endpoint: self._fetch(own, endpoint, reference, known)
        )

    async def _fetch(
        self, operation: ReadOperation, endpoint: Endpoint, reference: Reference, known: Manifest | None
    ) -> Manifest:
        path = _manifest_path(reference)
        headers = {"Accept": _ACCEPT}
        if known is not None:
            if await self._head(operation, endpoint, reference) == known.digest:
                return known
            headers["If-None-Match"] = f'"{known.digest}"'
        expected = (_OK,) if known is None else (_OK, _NOT_MODIFIED)
        opening = self._open(operation, endpoint, reference, "GET", path, headers, expected)
        async with opening as response:
            if known is not None and response.status == _NOT_MODIFIED:
                return known
            body = await read_body(operation, response, self._settings.manifest_limit)
            await self._await_turn(operation, body)
            return check_manifest(operation, reference, response, body)

    async def _head(self, operation: ReadOperation, endpoint: Endpoint, reference: Reference) -> str | None:
        """Return the digest of the reference's tag, by a HEAD request; None if the answer does not say it.

        Raises RegistryError if the tag is gone, and if the registry wants fewer requests.
        """
        every = tuple(range(200, 600))
        path = _manifest_path(reference)
        opening = self._open(operation, endpoint, reference, "HEAD", path, {"Accept": _ACCEPT}, every)
        async with opening as response:
            if response.status in {_NOT_FOUND, _TOO_MANY}:
                raise await describe_rejection(operation, response)
            digest = response.headers.get("Docker-Content-Digest", "")
            return digest if response.status == _OK and check_digest(digest) is None else None

    # Tags

    async def _all_tags(self, operation: ReadOperation, endpoint: Endpoint, reference: Reference) -> set[str]:
        found: set[str] = set()
        path: str | None = f"tags/list?n={_TAGS_PER_PAGE}"
        read: set[str] = set()
        while path is not None:
            if path in read or len(read) > self._settings.tags_limit:
                raise operation.error(RegistryReason.MALFORMED, "the tag list has no last page")
            read.add(path)
            async with self._open(operation, endpoint, reference, "GET", path) as response:
                found |= read_tag_names(operation, await read_body(operation, response, self._settings.manifest_limit))
                path = find_next_page(operation, response)
            if len(found) > self._settings.tags_limit:
                detail = f"the repository has more than {self._settings.tags_limit} tags"
                raise operation.error(RegistryReason.TOO_LARGE, detail)
        return found

    # Requests

    async def _await_turn(self, operation: ReadOperation, content: bytes | bytearray) -> None:
        """Wait until a document may be decoded: large ones one after the other, with pauses for other work.

        Raises RegistryError, TOO_LARGE for too many values.
        """
        values, limit = count_values(content), self._settings.values_limit
        if values > limit:
            raise operation.error(RegistryReason.TOO_LARGE, f"a JSON document has more than {limit} values")
        if values > _FEW_VALUES:
            async with self._turn:
                await asyncio.sleep(values * _SECONDS_PER_VALUE)

    def _operation(self, reference: Reference, seconds: float | None = None) -> ReadOperation:
        return ReadOperation.start(reference, seconds or self._settings.total_seconds)

    def _pointer_name(self, reference: Reference) -> str:
        """Return the name under which a tag's digest is cached; it depends on the endpoints and certificates in use.

        Content is verified by its digest, but nothing verifies a tag: what a mirror or plain HTTP says of it must not
        reach clients that use others. Raises RegistryError as ``_endpoints_of`` does.
        """
        endpoints = self._endpoints_of(self._operation(reference), reference)
        usual = RegistrySettings()
        if self._settings.ca_files == usual.ca_files and endpoints == list_endpoints(reference.registry, usual):
            return reference.name
        return f"{reference.name} {compute_digest(repr((endpoints, self._settings.ca_files)).encode())}"

    def _endpoints_of(self, operation: ReadOperation, reference: Reference) -> tuple[Endpoint, ...]:
        """Return the servers of the reference's registry. Raises RegistryError if they may not be queried."""
        policy = self._settings.egress
        if policy is not None and (rejection := policy.registry_rejection(reference.registry)) is not None:
            raise operation.error(RegistryReason.NOT_ALLOWED, rejection.text, rejection.hint)
        known = self._endpoints.get(reference.registry)
        if known is None:
            try:
                known = list_endpoints(reference.registry, self._settings)
            except HostsFileError as error:
                raise operation.error(RegistryReason.MISCONFIGURED, str(error), "") from error
            self._endpoints[reference.registry] = known
        return known

    @asynccontextmanager
    async def _open(
        self,
        operation: ReadOperation,
        endpoint: Endpoint,
        reference: Reference,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (_OK,),
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Give a response with an expected status, authenticated as the endpoint demands. Raises RegistryError."""
        base = await self._transport.base(operation, endpoint)
        url = _url(base, endpoint, reference, path)
        state = self._authenticator.state(endpoint, reference)
        fresh = False
        for _ in range(_ROUNDS):
            before = state.generation
            authorization = await self._authenticator.header(operation, endpoint, reference, state)
            fresh = fresh or state.generation != before
            generation, credential = state.generation, state.credential
            secrets = state.secrets
            given = dict(headers or {})
            if authorization:
                given["Authorization"] = authorization
            async with self._transport.request(operation, endpoint, method, url, given) as response:
                if response.status in {_UNAUTHORIZED, _FORBIDDEN}:
                    own = response.url.origin() == url.origin()
                    if own and await self._authenticator.answer(
                        operation, endpoint, reference, state, response, generation=generation, fresh=fresh
                    ):
                        fresh = True
                        continue
                    error = await describe_rejection(operation, response, secrets)
                    raise operation.error(
                        RegistryReason.DENIED, f"{error.detail}, sent {describe_identity(credential)}"
                    )
                if response.status not in expected:
                    raise await describe_rejection(operation, response, secrets)
                yield response
                return
        raise operation.error(RegistryReason.DENIED, f"{endpoint.host} keeps requesting credentials")


def _manifest_path(reference: Reference) -> str:
    return f"manifests/{reference.digest or quote(reference.tag or '', safe='')}"


def _url(base: URL, endpoint: Endpoint, reference: Reference, path: str) -> URL:
    text = f"{base}/{quote(reference.repository, safe='/')}/{path}"
    if endpoint.namespace is not None:
        # How containerd tells a mirror which registry it stands in for.
        text = f"{text}{'&' if '?' in text else '?'}ns={quote(endpoint.namespace, safe=':')}"
    return URL(text, encoded=True)
