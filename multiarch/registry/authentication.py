"""Bearer and Basic authentication: answer challenges, and keep tokens until they expire.

Source: https://distribution.github.io/distribution/spec/auth/token/ and …/auth/oauth/
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace

import aiohttp
from cachetools import LRUCache
from yarl import URL

from multiarch.registry.answers import describe_rejection, get_host, read_body
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.decoding import decode_json
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.operation import ReadOperation
from multiarch.registry.settings import REMEMBERED, RegistrySettings
from multiarch.registry.transport import RegistryTransport

DEFAULT_LIFETIME = 60.0
"""Seconds until a token expires if the token server does not say: the specification's default."""

_LONGEST_LIFETIME = 24 * 3600
_LIMIT = 256 * 1024
_MARGIN = 10.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_OK, _FORBIDDEN = 200, 403
_PART = re.compile(
    r"""(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s,"]+)))?"""
)
_LONGEST = 8192
"""Maximum number of characters that are read of all headers together."""


@dataclass(slots=True)
class Challenge:
    """One challenge: ``scheme`` in lower case (``bearer``, ``basic``) and its parameters."""

    scheme: str
    parameters: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class AuthState:
    """How to authenticate for one repository at one endpoint; ``challenge`` is what the endpoint demanded last.

    ``credential`` is the one of ``candidates`` to use now, None for anonymous. ``header`` is the value of
    Authorization, valid until ``expires`` (monotonic seconds). ``generation`` counts the headers: a request rejected
    with an older one is sent again with the newer one first.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    challenge: Challenge | None = None
    candidates: AsyncIterator[Credential | None] | None = None
    credential: Credential | None = None
    header: str = field(default="", repr=False)
    expires: float = 0.0
    generation: int = 0

    @property
    def secrets(self) -> tuple[str, ...]:
        """The strings that must never be shown."""
        known = () if self.credential is None else self.credential.secrets
        return (*known, self.header.partition(" ")[2])

    @property
    def valid(self) -> bool:
        """Whether there is a header that has not expired."""
        return bool(self.header) and time.monotonic() < self.expires

    def forget(self) -> None:
        """Drop the header, and request credentials again."""
        self.candidates, self.credential, self.header = None, None, ""

    async def advance(self) -> bool:
        """Move on to the next candidate. False if there is no other; the next request then starts over.

        Raises RegistryError if no source has a credential, and one of them failed.
        """
        try:
            self.credential = None if self.candidates is None else await anext(self.candidates)
        except StopAsyncIteration:
            self.forget()
            return False
        except RegistryError:
            self.forget()
            raise
        return True


class Authenticator:
    """Decides which Authorization header to send where."""

    def __init__(
        self, transport: RegistryTransport, settings: RegistrySettings, credentials: Sequence[Credentials]
    ) -> None:
        """``credentials`` are queried once per repository and endpoint, at the endpoint's first challenge."""
        self._transport = transport
        self._settings = settings
        self._sources = credentials
        self._states: LRUCache[tuple[str, str, str], AuthState] = LRUCache(REMEMBERED)

    def state(self, operation: ReadOperation) -> AuthState:
        """Return the state of a repository at an endpoint, for the other methods."""
        key = operation.endpoint.host, operation.endpoint.path, operation.reference.repository
        return self._states.setdefault(key, AuthState())

    async def header(self, operation: ReadOperation, state: AuthState) -> str:
        """Return the Authorization to send first, a new one if the last one has expired.

        Empty before the first challenge. Raises RegistryError if no token can be obtained.
        """
        async with state.lock:
            challenge = state.challenge
            if challenge is not None and not state.valid:
                state.forget()
                # The endpoint may want something else by now, and says so if a request has no token.
                state.challenge = None
                await self._get(operation, state, challenge)
                state.challenge = challenge
        return state.header

    async def answer(
        self,
        operation: ReadOperation,
        state: AuthState,
        response: aiohttp.ClientResponse,
        *,
        generation: int,
        fresh: bool,
    ) -> bool:
        """Get another Authorization after a 401 or 403; False if there is nothing left to try.

        The rejected request was sent with the state's ``generation``, ``fresh`` if obtained for this request.
        """
        found = choose_challenge(parse_challenges(response.headers.getall("WWW-Authenticate", [])))
        challenge = found or state.challenge
        if challenge is None:
            return False
        async with state.lock:
            if state.generation != generation:
                return True  # another request did it meanwhile
            if fresh or response.status == _FORBIDDEN:
                if not await state.advance():
                    return False
            else:
                state.forget()
            await self._get(operation, state, challenge)
            state.challenge = challenge
            return True

    async def _get(self, operation: ReadOperation, state: AuthState, challenge: Challenge) -> None:
        if state.candidates is None:
            state.candidates = self._candidates(operation)
            await state.advance()
        while True:
            try:
                header, lifetime = await self._header_for(operation, challenge, state.credential)
            except RegistryError as error:
                rejected = error.reason is RegistryReason.DENIED and state.credential is not None
                if rejected and await state.advance():
                    continue
                raise
            state.header, state.expires = header, time.monotonic() + lifetime
            state.generation += 1
            return

    async def _candidates(self, operation: ReadOperation) -> AsyncIterator[Credential | None]:
        """Query one source after the other; yield None if none has a credential.

        A source that fails is skipped. Raises its RegistryError if no other has a credential.
        """
        asked = operation.reference
        if operation.endpoint.namespace is not None:
            asked = replace(asked, registry=operation.endpoint.host)
        tried: list[Credential] = []
        fault: RegistryError | None = None
        for source in self._sources:
            try:
                found = await source.for_repository(asked)
            except RegistryError as error:
                fault = fault or error
                continue
            for each in found:
                # Copies of one secret in many namespaces are one credential.
                if each not in tried:
                    tried.append(each)
                    yield each
        if not tried and fault is not None:
            raise fault
        if not tried:
            yield None

    async def _header_for(
        self, operation: ReadOperation, challenge: Challenge, credential: Credential | None
    ) -> tuple[str, float]:
        if challenge.scheme == "bearer":
            started = time.monotonic()
            token, lifetime = await self._token(operation, challenge, credential)
            return f"Bearer {token}", lifetime - (time.monotonic() - started)
        host = operation.endpoint.host
        if credential is None:
            detail = f"{host} requires a user name and password; no credentials found"
            raise operation.error(RegistryReason.DENIED, detail)
        if not credential.username or not credential.password:
            source = credential.source or "the credential"
            detail = f"{host} requires a user name and password; {source} has a token"
            raise operation.error(RegistryReason.DENIED, detail)
        ends = float("inf") if credential.expires is None else credential.expires - time.time() - _MARGIN
        return f"Basic {_basic(credential)}", ends

    async def _token(
        self, operation: ReadOperation, challenge: Challenge, credential: Credential | None
    ) -> tuple[str, float]:
        realm = self._realm(operation, challenge)
        scope = challenge.parameters.get("scope") or f"repository:{operation.reference.repository}:pull"
        service = challenge.parameters.get("service", "")
        parameters = ({"service": service} if service else {}) | {"scope": scope}
        headers, form, method = {}, None, "GET"
        if credential is not None and credential.identity_token:
            method = "POST"
            form = parameters | {
                "grant_type": "refresh_token", "refresh_token": credential.identity_token,
                "client_id": self._settings.user_agent,
            }  # fmt: skip
        else:
            realm = realm.update_query(parameters)
            if credential is not None:
                headers["Authorization"] = f"Basic {_basic(credential)}"
        # A token server on the same host uses the endpoint's certificates.
        if get_host(realm) != operation.endpoint.host:
            operation = replace(operation, endpoint=Endpoint(get_host(realm), scheme=realm.scheme))
        secrets = () if credential is None else (*credential.secrets, _basic(credential))
        async with self._transport.request(operation, method, realm, headers, form=form, queue="tokens ") as response:
            if response.status != _OK:
                error = await describe_rejection(operation, response, secrets)
                if error.reason is RegistryReason.DENIED:
                    identity = describe_identity(credential)
                    detail = f"the token server {get_host(realm)} answered {response.status}, sent {identity}"
                    raise operation.error(error.reason, detail)
                raise error
            body = await read_body(operation, response, _LIMIT)
        return _read_token(operation, realm, body)

    def _realm(self, operation: ReadOperation, challenge: Challenge) -> URL:
        named_by = operation.endpoint.host
        text = challenge.parameters["realm"]
        try:
            realm = URL(text)
            fine = realm.scheme in {"http", "https"} and bool(realm.host) and realm.user is None
        except ValueError:
            fine = False
        if not fine:
            raise operation.error(RegistryReason.MALFORMED, "the registry's token server is not an https:// URL")
        if realm.scheme == "http" and not self._settings.allows_plain_http(get_host(realm), named_by=named_by):
            detail = f"the registry's token server is http://{get_host(realm)}"
            raise operation.error(RegistryReason.REJECTED_HTTP, detail)
        return realm


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Read the challenges of all ``WWW-Authenticate`` headers; invalid ones are skipped.

    Source: RFC 9110, section 11.6.1; https://distribution.github.io/distribution/spec/auth/token/
    """
    found: list[Challenge] = []
    for match in _PART.finditer(", ".join(headers)[:_LONGEST]):
        name = match["name"].lower()
        value = match["plain"] if match["quoted"] is None else re.sub(r"\\(.)", r"\1", match["quoted"])
        if value is None:
            found.append(Challenge(name))
        elif found:
            found[-1].parameters.setdefault(name, value)
    return found


def choose_challenge(challenges: Iterable[Challenge]) -> Challenge | None:
    """Return the challenge to answer: Bearer with a realm before Basic; None if there is neither."""
    by_scheme: dict[str, Challenge] = {}
    for challenge in challenges:
        by_scheme.setdefault(challenge.scheme, challenge)
    bearer = by_scheme.get("bearer")
    return bearer if bearer is not None and bearer.parameters.get("realm") else by_scheme.get("basic")


def describe_identity(credential: Credential | None) -> str:
    """Return which identity a request had, for messages; contains no secret."""
    if credential is None:
        return "without credentials"
    return f"as {credential.username or 'a token'} ({credential.source or 'given'})"


def _basic(credential: Credential) -> str:
    return base64.b64encode(f"{credential.username}:{credential.password}".encode()).decode()


def _read_token(operation: ReadOperation, realm: URL, body: bytes) -> tuple[str, float]:
    """Return the token in a token server's response, and the seconds until it should be replaced."""
    try:
        answer = decode_json(body)
    except ValueError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    token = answer.get("token") or answer.get("access_token")
    lifetime = answer.get("expires_in")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise operation.error(RegistryReason.MALFORMED, f"the token server {realm.host} sent no token")
    seconds = DEFAULT_LIFETIME
    if isinstance(lifetime, int | float) and lifetime > 0:
        seconds = float(min(lifetime, _LONGEST_LIFETIME))
    # A token must not expire on its way to the registry.
    return token, seconds - min(_MARGIN, seconds / 10)
