"""The registry client: manifests, blobs and tags, from the origin or its mirrors.

Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote

import aiohttp
from cachetools import LRUCache
from yarl import URL

from multiarch.registry.answers import describe_rejection, read_body, read_chunks
from multiarch.registry.attempts import Attempts
from multiarch.registry.authentication import Authenticator, describe_identity
from multiarch.registry.checks import BlobCheck, check_manifest, find_next_page, read_tag_names
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.endpoints import Endpoint, HostsFileError, list_endpoints
from multiarch.registry.errors import RegistryReason
from multiarch.registry.model import MANIFEST_TYPES, Descriptor, Manifest
from multiarch.registry.operation import ReadOperation
from multiarch.registry.reference import Reference, check_digest
from multiarch.registry.settings import MIB, REMEMBERED, RegistrySettings, count_values
from multiarch.registry.transport import RegistryTransport

__all__ = ["RegistryClient"]

_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY = 200, 401, 403, 404, 429
_ACCEPT = ", ".join(MANIFEST_TYPES)
_ROUNDS = 100
"""The most requests for one response, with one credential tried after the other; the deadline may end them before."""

_REMEMBERED_BLOB = MIB
"""Blobs up to this size are remembered: configs are, layers are not."""

_TAGS_PER_PAGE = 1000
_FEW_VALUES = 1000
_SECONDS_PER_VALUE = 4e-6
"""A pause of at least four times what decoding and reading a value takes."""


class RegistryClient:
    """Implements ``multiarch.registry.model.Registry``. Use it with ``async with``, in one event loop.

    One client is one identity: it remembers content, by digest, that ``credentials`` were allowed to read.
    """

    def __init__(self, settings: RegistrySettings, credentials: Sequence[Credentials] = ()) -> None:
        """Open no connection yet.

        One of ``credentials`` is queried when the registry has rejected all credentials of those before it. A source
        that fails is skipped; its error counts if no source has a credential.
        """
        self._settings = settings
        self._transport = RegistryTransport(settings)
        self._authenticator = Authenticator(self._transport, settings, credentials)
        self._attempts = Attempts(settings)
        self._turn = asyncio.Lock()
        self._endpoints: LRUCache[str, tuple[Endpoint, ...]] = LRUCache(REMEMBERED)
        # By repository and digest: access to one repository does not imply access to another.
        self._manifests: LRUCache[tuple[str, str], Manifest] = LRUCache(
            settings.memory_bytes, getsizeof=lambda each: len(each.content)
        )
        self._blobs: LRUCache[tuple[str, str], bytes] = LRUCache(settings.memory_bytes, getsizeof=len)

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

        A digest that was read before needs no request. Raises RegistryError.
        """
        known = self._manifests.get((reference.name, reference.digest or ""))
        if known is not None:
            return known
        operation = self._operation(reference)
        endpoints = self._endpoints_of(operation, reference)
        content = await self._attempts.run(operation, endpoints, lambda own, host: self._fetch(own, host, reference))
        if len(content.content) <= self._settings.memory_bytes:
            self._manifests[reference.name, content.digest] = content
        return content

    async def resolve(self, reference: Reference) -> str:
        """Return a tag's present digest, by a HEAD request; by GET where the registry does not answer that.

        Raises RegistryError.
        """
        if reference.digest is not None:
            return reference.digest
        operation = self._operation(reference)
        endpoints = self._endpoints_of(operation, reference)
        found = await self._attempts.run(operation, endpoints, lambda own, host: self._head(own, host, reference))
        return found or (await self.manifest(reference)).digest

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """Return a blob, whole and verified. Raises RegistryError, TOO_LARGE above ``limit`` bytes."""
        operation = self._operation(reference.at(descriptor.digest))
        limit = min(limit, self._settings.blob_limit)
        if descriptor.size > limit:
            detail = f"the blob has {descriptor.size} bytes; the limit is {limit}"
            raise operation.error(RegistryReason.TOO_LARGE, detail)
        known = self._blobs.get((reference.name, descriptor.digest))
        if known is not None:
            return known
        endpoints = self._endpoints_of(operation, reference)

        async def fetch(operation: ReadOperation, endpoint: Endpoint) -> bytes:
            check = BlobCheck(operation, descriptor)
            opening = self._open(operation, endpoint, reference, "GET", f"blobs/{descriptor.digest}")
            async with opening as response:
                body = bytearray()
                async for chunk in read_chunks(operation, response):
                    check.add(chunk)
                    body += chunk
                check.finish()
                await self._await_turn(operation, body)
                return bytes(body)

        content = await self._attempts.run(operation, endpoints, fetch)
        if len(content) <= min(_REMEMBERED_BLOB, self._settings.memory_bytes):
            self._blobs[reference.name, descriptor.digest] = content
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

    async def _fetch(self, operation: ReadOperation, endpoint: Endpoint, reference: Reference) -> Manifest:
        opening = self._open(operation, endpoint, reference, "GET", _manifest_path(reference), {"Accept": _ACCEPT})
        async with opening as response:
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
