"""The client of registries: manifests, blobs and tags, from the origin or its mirrors.

Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote

import aiohttp
from yarl import URL

from multiarch.registry.answers import pieces, refusal, whole
from multiarch.registry.attempts import Attempts
from multiarch.registry.authentication import Authenticator, Sent, who
from multiarch.registry.cache.model import Cache, Content
from multiarch.registry.cache.single_flight import SingleFlight
from multiarch.registry.checks import checked_manifest, next_page, tag_names, verifier
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.digests import digest_of
from multiarch.registry.endpoints import Endpoint, MirrorFault, endpoints_of
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import MANIFEST_TYPES, Descriptor, Manifest
from multiarch.registry.recent import Recent
from multiarch.registry.reference import Reference
from multiarch.registry.settings import MIB, RegistrySettings
from multiarch.registry.timing import Deadline
from multiarch.registry.transport import Errand, Transport

_OK, _NOT_MODIFIED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 304, 401, 403, 404
_ACCEPT = ", ".join(MANIFEST_TYPES)
_ROUNDS = 6
"""Requests that one answer may take, with credentials to try one after the other."""

_KEPT_BLOB = MIB
"""Blobs up to this size are kept in the cache: configurations are, layers are not."""

_TAGS_PER_PAGE = 1000
_SECRET = 8
"""Characters from which on the value of a header in hosts.toml may be a secret."""


class RegistryClient:
    """Implements ``multiarch.registry.model.Registry``. Use it with ``async with``, in one event loop.

    One client is one identity: what its cache gives out was once allowed to ``credentials``.
    """

    def __init__(self, settings: RegistrySettings, credentials: Credentials, cache: Cache) -> None:
        """Nothing is opened or asked yet. The cache is the caller's to close."""
        self._settings = settings
        self._cache = cache
        self._transport = Transport(settings)
        self._authenticator = Authenticator(self._transport, settings, credentials)
        self._attempts = Attempts(settings)
        self._endpoints: Recent[str, tuple[Endpoint, ...]] = Recent()
        self._manifests: SingleFlight[Manifest] = SingleFlight()
        self._blobs: SingleFlight[bytes] = SingleFlight()

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self._transport.__aexit__(kind, error, trace)

    async def manifest(self, reference: Reference) -> Manifest:
        """The manifest that the reference's digest, or else its tag, names.

        A digest is answered by the cache if it is there. A tag's is, too, while what it points at was checked within
        ``fresh_seconds``; later a HEAD checks it. Raises RegistryError.
        """
        return await self._manifests.run(str(reference), lambda: self._manifest(reference))

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        """A blob, whole and verified. Raises RegistryError, TOO_LARGE above ``limit`` bytes."""
        errand = self._errand(reference.at(descriptor.digest))
        if descriptor.size > limit:
            detail = f"the blob has {descriptor.size} bytes, {limit} are read at the most"
            raise errand.error(RegistryReason.TOO_LARGE, detail)
        known = self._cache.content(reference.name, descriptor.digest)
        if known is not None:
            return known.content
        key = f"{reference.name}@{descriptor.digest} {descriptor.size}"
        return await self._blobs.run(key, lambda: self._blob(errand, reference, descriptor))

    async def stream(self, reference: Reference, descriptor: Descriptor) -> AsyncGenerator[bytes, None]:
        """A blob in pieces of at most 128 KiB. Raises RegistryError, WRONG_DIGEST at the very end."""
        errand = self._errand(reference.at(descriptor.digest), self._settings.stream_seconds)
        check = verifier(errand, descriptor)
        endpoints = self._for(errand, reference, resolve=False)

        async def opened(errand: Errand, endpoint: Endpoint) -> tuple[AsyncExitStack, aiohttp.ClientResponse]:
            async with AsyncExitStack() as stack:
                opening = self._open(errand, endpoint, reference, "GET", f"blobs/{descriptor.digest}")
                response = await stack.enter_async_context(opening)
                check.announced(errand, response)
                return stack.pop_all(), response

        stack, response = await self._attempts.run(errand, endpoints, opened)
        async with stack:
            async for piece in pieces(errand, response):
                check.take(errand, piece)
                yield piece
            check.done(errand)

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """The repository's tags, sorted. Raises RegistryError, TOO_LARGE above ``tags_limit``."""
        errand = self._errand(reference)
        endpoints = self._for(errand, reference, resolve=True)
        found = await self._attempts.run(errand, endpoints, lambda own, host: self._all_tags(own, host, reference))
        return tuple(sorted(found))

    # Manifests

    async def _manifest(self, reference: Reference) -> Manifest:
        name, source = reference.name, str(reference)
        if reference.digest is not None:
            content = self._cache.content(name, reference.digest)
            if content is None:
                content = await self._fetched(reference, None)
                self._cache.keep(name, content)
            return Manifest(content.media_type, content.digest, content.content, source)
        tag, asked = reference.tag or "", self._asked(reference)
        pointer = self._cache.pointer(asked, tag)
        known = None if pointer is None else self._cache.content(name, pointer.digest)
        if (
            pointer is not None
            and known is not None
            and 0 <= time.time() - pointer.checked < self._settings.fresh_seconds
        ):
            return Manifest(known.media_type, known.digest, known.content, source)
        try:
            content = await self._fetched(reference, known)
        except RegistryError as error:
            if error.reason is RegistryReason.NOT_FOUND:
                self._cache.forget(asked, tag)
            raise
        if content is not known:
            self._cache.keep(name, content)
        self._cache.point(asked, tag, content.digest)
        return Manifest(content.media_type, content.digest, content.content, source)

    async def _fetched(self, reference: Reference, known: Content | None) -> Content:
        errand = self._errand(reference)
        endpoints = self._for(errand, reference, resolve=reference.digest is None)
        return await self._attempts.run(
            errand, endpoints, lambda own, endpoint: self._fetch(own, endpoint, reference, known)
        )

    async def _fetch(self, errand: Errand, endpoint: Endpoint, reference: Reference, known: Content | None) -> Content:
        path = f"manifests/{reference.digest or quote(reference.tag or '', safe='')}"
        headers = {"Accept": _ACCEPT}
        if known is not None:
            if await self._is_still(errand, endpoint, reference, path, known):
                return known
            headers["If-None-Match"] = f'"{known.digest}"'
        expected = (_OK,) if known is None else (_OK, _NOT_MODIFIED)
        opening = self._open(errand, endpoint, reference, "GET", path, headers, expected)
        async with opening as response:
            if known is not None and response.status == _NOT_MODIFIED:
                return known
            body = await whole(errand, response, self._settings.manifest_limit)
            return checked_manifest(errand, reference, response, body)

    async def _is_still(
        self, errand: Errand, endpoint: Endpoint, reference: Reference, path: str, known: Content
    ) -> bool:
        """Whether a HEAD says that the tag points at what is known. Raises RegistryError if it is gone."""
        every = tuple(range(200, 600))
        opening = self._open(errand, endpoint, reference, "HEAD", path, {"Accept": _ACCEPT}, every)
        async with opening as response:
            if response.status == _NOT_FOUND:
                raise await refusal(errand, response)
            return response.status == _OK and response.headers.get("Docker-Content-Digest") == known.digest

    # Blobs and tags

    async def _blob(self, errand: Errand, reference: Reference, descriptor: Descriptor) -> bytes:
        endpoints = self._for(errand, reference, resolve=False)

        async def fetch(errand: Errand, endpoint: Endpoint) -> bytes:
            check = verifier(errand, descriptor)
            opening = self._open(errand, endpoint, reference, "GET", f"blobs/{descriptor.digest}")
            async with opening as response:
                check.announced(errand, response)
                body = bytearray()
                async for piece in pieces(errand, response):
                    check.take(errand, piece)
                    body += piece
                check.done(errand)
                return bytes(body)

        content = await self._attempts.run(errand, endpoints, fetch)
        if len(content) <= _KEPT_BLOB:
            self._cache.keep(reference.name, Content(descriptor.media_type, descriptor.digest, content))
        return content

    async def _all_tags(self, errand: Errand, endpoint: Endpoint, reference: Reference) -> set[str]:
        found: set[str] = set()
        path: str | None = f"tags/list?n={_TAGS_PER_PAGE}"
        read: set[str] = set()
        while path is not None:
            page = Errand(errand.registry, errand.reference, Deadline(self._settings.total_seconds))
            if path in read or len(read) > self._settings.tags_limit:
                raise page.error(RegistryReason.MALFORMED, "the pages of tags go on without an end")
            read.add(path)
            async with self._open(page, endpoint, reference, "GET", path) as response:
                found |= tag_names(page, await whole(page, response, self._settings.manifest_limit))
                path = next_page(page, response)
            if len(found) > self._settings.tags_limit:
                detail = f"the repository has more than {self._settings.tags_limit} tags"
                raise page.error(RegistryReason.TOO_LARGE, detail)
        return found

    # Asking

    def _errand(self, reference: Reference, seconds: float | None = None) -> Errand:
        return Errand(reference.registry, str(reference), Deadline(seconds or self._settings.total_seconds))

    def _asked(self, reference: Reference) -> str:
        """The name under which tags' digests are kept: what mirrors say, or plain HTTP, counts for who asks them too.

        A digest proves its content whoever hands it out; nothing proves a tag. Raises RegistryError as ``_for`` does.
        """
        endpoints = self._for(self._errand(reference), reference, resolve=True)
        usual = RegistrySettings()
        if self._settings.ca_files == usual.ca_files and endpoints == list(endpoints_of(reference.registry, usual)):
            return reference.name
        headers = [each.headers for each in endpoints]
        how = repr((endpoints, headers, self._settings.ca_files))
        return f"{reference.name} {digest_of(how.encode())}"

    def _for(self, errand: Errand, reference: Reference, *, resolve: bool) -> list[Endpoint]:
        """The endpoints that may be asked: for a tag those that may resolve it."""
        known = self._endpoints.get(reference.registry)
        if known is None:
            try:
                known = endpoints_of(reference.registry, self._settings)
            except MirrorFault as fault:
                raise errand.error(RegistryReason.MISCONFIGURED, str(fault), "") from fault
            self._endpoints.put(reference.registry, known)
        allowed = [endpoint for endpoint in known if (endpoint.resolve if resolve else endpoint.pull)]
        if not allowed:
            raise errand.error(RegistryReason.MISCONFIGURED, "hosts.toml lets no host answer this", "")
        return allowed

    @asynccontextmanager
    async def _open(
        self,
        errand: Errand,
        endpoint: Endpoint,
        reference: Reference,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (_OK,),
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer of an expected status, authenticated as the endpoint wants it. Raises RegistryError."""
        base = await self._transport.base(errand, endpoint)
        url = _url(base, endpoint, reference, path)
        access = self._authenticator.access(endpoint, reference)
        fresh = False
        for _ in range(_ROUNDS):
            before = access.generation
            authorization = await self._authenticator.header(errand, endpoint, reference, access)
            fresh = fresh or access.generation != before
            sent = Sent(access.generation, fresh)
            credential = access.credential
            secrets = (*access.secrets, *(value for _, value in endpoint.headers if len(value) >= _SECRET))
            given = {**dict(endpoint.headers), **(headers or {})}
            if authorization:
                given["Authorization"] = authorization
            async with self._transport.request(errand, endpoint, method, url, given) as response:
                if response.status in {_UNAUTHORIZED, _FORBIDDEN}:
                    own = response.url.origin() == url.origin()
                    if own and await self._authenticator.answer(
                        errand, endpoint, reference, access, response, sent=sent
                    ):
                        fresh = True
                        continue
                    error = await refusal(errand, response, secrets)
                    raise errand.error(RegistryReason.DENIED, f"{error.detail}, asked {who(credential)}")
                if response.status not in expected:
                    raise await refusal(errand, response, secrets)
                yield response
                return
        raise errand.error(RegistryReason.DENIED, f"{endpoint.host} asks for credentials again and again")


def _url(base: URL, endpoint: Endpoint, reference: Reference, path: str) -> URL:
    text = f"{base}/{quote(reference.repository, safe='/')}/{path}"
    if endpoint.namespace is not None:
        # Containerd's word to a mirror for which registry it is asked.
        text = f"{text}{'&' if '?' in text else '?'}ns={quote(endpoint.namespace, safe=':')}"
    return URL(text, encoded=True)
