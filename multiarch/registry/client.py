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

from multiarch.registry.answers import describe_rejection, read_body
from multiarch.registry.attempts import Attempts
from multiarch.registry.authentication import Authenticator, describe_identity
from multiarch.registry.checks import check_manifest, find_next_page, read_blob, read_tag_names
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.endpoints import Endpoint, HostsFileError, list_endpoints
from multiarch.registry.errors import RegistryError, RegistryReason
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
        content = await self._attempts.run(self._operation(reference), self._fetch)
        if len(content.content) <= self._settings.memory_bytes:
            self._manifests[reference.name, content.digest] = content
        return content

    async def resolve(self, reference: Reference) -> str:
        """Return a tag's present digest, by a HEAD request; by GET where the registry does not answer that.

        Raises RegistryError.
        """
        if reference.digest is not None:
            return reference.digest
        found = await self._attempts.run(self._operation(reference), self._head)
        return found or (await self.manifest(reference)).digest

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """Return a blob, whole and verified. Raises RegistryError, TOO_LARGE above ``limit`` bytes."""
        limit = min(limit, self._settings.blob_limit)
        if descriptor.size > limit:
            detail = f"the blob has {descriptor.size} bytes; the limit is {limit}"
            raise RegistryError(RegistryReason.TOO_LARGE, detail, reference.at(descriptor.digest))
        known = self._blobs.get((reference.name, descriptor.digest))
        if known is not None:
            return known

        async def fetch(operation: ReadOperation) -> bytes:
            async with self._open(operation, "GET", f"blobs/{descriptor.digest}") as response:
                body = b"".join([chunk async for chunk in read_blob(operation, descriptor, response)])
                await self._await_turn(operation, body)
                return body

        content = await self._attempts.run(self._blob_operation(reference, descriptor), fetch)
        if len(content) <= min(_REMEMBERED_BLOB, self._settings.memory_bytes):
            self._blobs[reference.name, descriptor.digest] = content
        return content

    async def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """Yield a blob in chunks of at most 128 KiB. Raises RegistryError, WRONG_DIGEST only at the end."""
        operation = self._blob_operation(reference, descriptor, self._settings.stream_seconds)

        async def opened(operation: ReadOperation) -> tuple[AsyncExitStack, aiohttp.ClientResponse]:
            async with AsyncExitStack() as stack:
                opening = self._open(operation, "GET", f"blobs/{descriptor.digest}")
                response = await stack.enter_async_context(opening)
                return stack.pop_all(), response

        stack, response = await self._attempts.run(operation, opened)
        async with stack:
            async for chunk in read_blob(operation, descriptor, response):
                yield chunk

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """Return the repository's tags, sorted. Raises RegistryError, TOO_LARGE above ``tags_limit``."""
        return tuple(sorted(await self._attempts.run(self._operation(reference), self._all_tags)))

    # Manifests

    async def _fetch(self, operation: ReadOperation) -> Manifest:
        path = _manifest_path(operation.reference)
        async with self._open(operation, "GET", path, {"Accept": _ACCEPT}) as response:
            body = await read_body(operation, response, self._settings.manifest_limit)
            await self._await_turn(operation, body)
            return check_manifest(operation, response, body)

    async def _head(self, operation: ReadOperation) -> str | None:
        """Return the digest of the reference's tag, by a HEAD request; None if the answer does not say it.

        Raises RegistryError if the tag is gone, and if the registry wants fewer requests.
        """
        every = tuple(range(200, 600))
        path = _manifest_path(operation.reference)
        async with self._open(operation, "HEAD", path, {"Accept": _ACCEPT}, every) as response:
            if response.status in {_NOT_FOUND, _TOO_MANY}:
                raise await describe_rejection(operation, response)
            digest = response.headers.get("Docker-Content-Digest", "")
            return digest if response.status == _OK and check_digest(digest) is None else None

    # Tags

    async def _all_tags(self, operation: ReadOperation) -> set[str]:
        found: set[str] = set()
        path: str | None = f"tags/list?n={_TAGS_PER_PAGE}"
        read: set[str] = set()
        while path is not None:
            if path in read or len(read) > self._settings.tags_limit:
                raise operation.error(RegistryReason.MALFORMED, "the tag list has no last page")
            read.add(path)
            async with self._open(operation, "GET", path) as response:
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
        """Start an operation. Raises RegistryError if the registry may not be queried."""
        return ReadOperation.start(reference, self._endpoints_of(reference), seconds or self._settings.total_seconds)

    def _blob_operation(
        self, reference: Reference, descriptor: Descriptor, seconds: float | None = None
    ) -> ReadOperation:
        """Start reading a blob. Raises RegistryError as above, MALFORMED for an invalid digest."""
        at = reference.at(descriptor.digest)
        if (fault := check_digest(descriptor.digest)) is not None:
            raise RegistryError(RegistryReason.MALFORMED, f"{descriptor.digest!r}: {fault}", at)
        return self._operation(at, seconds)

    def _endpoints_of(self, reference: Reference) -> tuple[Endpoint, ...]:
        policy = self._settings.egress
        if policy is not None and (rejection := policy.registry_rejection(reference.registry)) is not None:
            raise RegistryError(RegistryReason.NOT_ALLOWED, rejection.text, reference, rejection.hint)
        known = self._endpoints.get(reference.registry)
        if known is None:
            try:
                known = list_endpoints(reference.registry, self._settings)
            except HostsFileError as error:
                raise RegistryError(RegistryReason.MISCONFIGURED, str(error), reference, "") from error
            self._endpoints[reference.registry] = known
        return known

    @asynccontextmanager
    async def _open(
        self,
        operation: ReadOperation,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (_OK,),
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Give a response with an expected status, authenticated as the endpoint demands. Raises RegistryError."""
        url = _url(await self._transport.base(operation), operation, path)
        state = self._authenticator.state(operation)
        fresh = False
        for _ in range(_ROUNDS):
            before = state.generation
            authorization = await self._authenticator.header(operation, state)
            fresh = fresh or state.generation != before
            generation, credential = state.generation, state.credential
            secrets = state.secrets
            given = dict(headers or {})
            if authorization:
                given["Authorization"] = authorization
            async with self._transport.request(operation, method, url, given) as response:
                if response.status in {_UNAUTHORIZED, _FORBIDDEN}:
                    own = response.url.origin() == url.origin()
                    if own and await self._authenticator.answer(
                        operation, state, response, generation=generation, fresh=fresh
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
        raise operation.error(RegistryReason.DENIED, f"{operation.endpoint.host} keeps requesting credentials")


def _manifest_path(reference: Reference) -> str:
    return f"manifests/{reference.digest or quote(reference.tag or '', safe='')}"


def _url(base: URL, operation: ReadOperation, path: str) -> URL:
    text = f"{base}/{quote(operation.reference.repository, safe='/')}/{path}"
    if (namespace := operation.endpoint.namespace) is not None:
        # How containerd tells a mirror which registry it stands in for.
        text = f"{text}{'&' if '?' in text else '?'}ns={quote(namespace, safe=':')}"
    return URL(text, encoded=True)
