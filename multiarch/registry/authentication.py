"""Bearer and Basic authentication: answer challenges, and keep tokens until they expire.

Source: https://distribution.github.io/distribution/spec/auth/token/ and …/auth/oauth/
"""

from __future__ import annotations

import asyncio
import base64
import math
import re
import time
from dataclasses import dataclass, field

import aiohttp
from cachetools import LRUCache
from yarl import URL

from multiarch.registry.answers import refusal, whole
from multiarch.registry.challenge import Challenge, parse_challenges, strongest
from multiarch.registry.credentials.model import Credential, CredentialChain, Credentials
from multiarch.registry.decoding import decode_json
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.failures import host_of
from multiarch.registry.operation import Operation
from multiarch.registry.reference import Reference
from multiarch.registry.settings import REMEMBERED, RegistrySettings
from multiarch.registry.transport import RegistryTransport

DEFAULT_LIFETIME = 60.0
"""Seconds until a token expires if the token server does not say: the specification's default."""

_LIMIT = 256 * 1024
_MARGIN = 10.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_OK, _FORBIDDEN = 200, 403
_PLACEHOLDER = "\0"


@dataclass(frozen=True, slots=True)
class SentAuth:
    """The AuthState's ``generation`` that a request was sent with; ``fresh`` if obtained for this request."""

    generation: int
    fresh: bool


@dataclass(slots=True)
class AuthState:
    """How to authenticate for one repository at one endpoint.

    ``header`` is the value of Authorization, valid until ``expires`` (monotonic seconds). ``generation`` counts the
    headers: a request refused with an older one is sent again with the newer one first. ``asked`` counts the sources
    of ``candidates`` that were asked, ``refused`` the candidates that were refused; ``fault`` is the first source's
    error.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    candidates: list[Credential] = field(default_factory=list)
    asked: int = 0
    refused: int = 0
    fault: RegistryError | None = None
    header: str = field(default="", repr=False)
    expires: float = 0.0
    generation: int = 0

    @property
    def credential(self) -> Credential | None:
        """The credential to use now; None for anonymous."""
        return self.candidates[self.refused] if self.refused < len(self.candidates) else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must never be shown."""
        known = [secret for candidate in self.candidates for secret in candidate.secrets]
        return (*known, self.header.partition(" ")[2])

    @property
    def valid(self) -> bool:
        """Whether there is a header that has not expired."""
        return bool(self.header) and time.monotonic() < self.expires

    def forget(self) -> None:
        """Drop the header, and ask for credentials again."""
        self.candidates, self.asked, self.refused, self.fault, self.header = [], 0, 0, None, ""


class Authenticator:
    """Decides which Authorization header to send where."""

    def __init__(
        self, transport: RegistryTransport, settings: RegistrySettings, credentials: Credentials | CredentialChain
    ) -> None:
        """``credentials`` are asked once per repository and endpoint, at the endpoint's first challenge."""
        self._transport = transport
        self._settings = settings
        self._sources = credentials.parts if isinstance(credentials, CredentialChain) else (credentials,)
        self._states: LRUCache[tuple[str, str, str], AuthState] = LRUCache(REMEMBERED)
        self._challenges: LRUCache[tuple[str, str], Challenge] = LRUCache(REMEMBERED)

    def state(self, endpoint: Endpoint, reference: Reference) -> AuthState:
        """The state of a repository at an endpoint, for the other methods."""
        key = endpoint.host, endpoint.path, reference.repository
        return self._states.setdefault(key, AuthState())

    async def header(self, operation: Operation, endpoint: Endpoint, reference: Reference, state: AuthState) -> str:
        """The Authorization to send first: a known token, or what the endpoint's other repositories needed.

        Empty before the first challenge. Raises RegistryError if no token can be obtained.
        """
        if state.valid:
            return state.header
        challenge = self._challenges.get((endpoint.host, endpoint.path))
        if challenge is None:
            return ""
        async with state.lock:
            if not state.valid:
                state.forget()
                try:
                    await self._get(operation, endpoint, reference, state, _for_repository(challenge, reference))
                except RegistryError:
                    # The endpoint may want something else by now, and says so if it is asked without a token.
                    self._challenges.pop((endpoint.host, endpoint.path), None)
                    raise
        return state.header

    async def answer(
        self,
        operation: Operation,
        endpoint: Endpoint,
        reference: Reference,
        state: AuthState,
        response: aiohttp.ClientResponse,
        *,
        sent: SentAuth,
    ) -> bool:
        """Get another Authorization after a 401 or 403; False if there is nothing left to try.

        ``sent`` describes the refused request.
        """
        key = endpoint.host, endpoint.path
        challenge = strongest(parse_challenges(response.headers.getall("WWW-Authenticate", [])))
        pattern = None if challenge is None else _as_pattern(challenge, reference)
        if challenge is None and (pattern := self._challenges.get(key)) is not None:
            challenge = _for_repository(pattern, reference)
        if challenge is None:
            return False
        async with state.lock:
            if state.generation != sent.generation:
                return True  # another request did it meanwhile
            if sent.fresh or response.status == _FORBIDDEN:
                if not await self._next(endpoint, reference, state):
                    return False
            else:
                state.forget()
            await self._get(operation, endpoint, reference, state, challenge)
            if pattern is not None:
                # Only now: what can't be answered for one repository must not keep the others from being read.
                self._challenges[key] = pattern
            return True

    async def _get(
        self, operation: Operation, endpoint: Endpoint, reference: Reference, state: AuthState, challenge: Challenge
    ) -> None:
        if not state.asked:
            await self._ask(endpoint, reference, state)
            if state.fault is not None and not state.candidates:
                fault = state.fault
                state.forget()
                raise fault
        while True:
            credential = state.credential
            try:
                header, lifetime = await self._header_for(operation, endpoint, reference, challenge, credential)
            except RegistryError as error:
                refused = error.reason is RegistryReason.DENIED and credential is not None
                if refused and await self._next(endpoint, reference, state):
                    continue
                raise
            state.header, state.expires = header, time.monotonic() + lifetime
            state.generation += 1
            return

    async def _next(self, endpoint: Endpoint, reference: Reference, state: AuthState) -> bool:
        """Move on from the refused credential. False if there is no other; the next request then starts over."""
        state.refused += 1
        if state.credential is None:
            await self._ask(endpoint, reference, state)
        if state.credential is None:
            state.forget()
            return False
        return True

    async def _ask(self, endpoint: Endpoint, reference: Reference, state: AuthState) -> None:
        """Ask the next sources, until one has a credential that was not tried yet. A source that fails is skipped."""
        registry = reference.registry if endpoint.namespace is None else endpoint.host
        asked = Reference(registry, reference.repository, reference.tag, reference.digest)
        while state.credential is None and state.asked < len(self._sources):
            source = self._sources[state.asked]
            state.asked += 1
            try:
                found = await source.for_repository(asked)
            except RegistryError as error:
                state.fault = state.fault or error
                continue
            for each in found:
                # Copies of one secret in many namespaces are one credential.
                if not any(each.same_as(other) for other in state.candidates):
                    state.candidates.append(each)

    async def _header_for(
        self,
        operation: Operation,
        endpoint: Endpoint,
        reference: Reference,
        challenge: Challenge,
        credential: Credential | None,
    ) -> tuple[str, float]:
        if challenge.scheme == "bearer":
            if credential is not None and credential.registry_token:
                if not _TOKEN.fullmatch(credential.registry_token):
                    detail = f"the registrytoken of {credential.source} has characters that no request can contain"
                    raise operation.error(RegistryReason.DENIED, detail)
                return f"Bearer {credential.registry_token}", float("inf")
            started = time.monotonic()
            token, lifetime = await self._token(operation, endpoint, reference, challenge, credential)
            return f"Bearer {token}", lifetime - (time.monotonic() - started)
        if credential is None:
            detail = f"{endpoint.host} requires a user name and password; no credentials found"
            raise operation.error(RegistryReason.DENIED, detail)
        if not credential.username or not credential.password:
            source = credential.source or "the credential"
            detail = f"{endpoint.host} requires a user name and password; {source} has a token"
            raise operation.error(RegistryReason.DENIED, detail)
        ends = float("inf") if credential.expires is None else credential.expires - time.time() - _MARGIN
        return f"Basic {_basic(credential)}", ends

    async def _token(
        self,
        operation: Operation,
        endpoint: Endpoint,
        reference: Reference,
        challenge: Challenge,
        credential: Credential | None,
    ) -> tuple[str, float]:
        realm = self._realm(operation, endpoint, challenge)
        scope = challenge.parameters.get("scope") or f"repository:{reference.repository}:pull"
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
        server = endpoint if host_of(realm) == endpoint.host else Endpoint(host_of(realm), scheme=realm.scheme)
        secrets = () if credential is None else (*credential.secrets, _basic(credential))
        async with self._transport.request(
            operation, server, method, realm, headers, form=form, queue="tokens "
        ) as response:
            if response.status != _OK:
                error = await refusal(operation, response, secrets)
                if error.reason is RegistryReason.DENIED:
                    detail = (
                        f"the token server {host_of(realm)} answered {response.status}, sent {identity(credential)}"
                    )
                    raise operation.error(error.reason, detail)
                raise error
            body = await whole(operation, response, _LIMIT)
        return _read_token(operation, realm, body)

    def _realm(self, operation: Operation, endpoint: Endpoint, challenge: Challenge) -> URL:
        text = challenge.parameters["realm"]
        try:
            realm = URL(text)
            fine = realm.scheme in {"http", "https"} and bool(realm.host) and realm.user is None
        except ValueError:
            fine = False
        if not fine:
            raise operation.error(RegistryReason.MALFORMED, "the registry's token server is not an https:// URL")
        if realm.scheme == "http" and not self._settings.allows_plain_http(host_of(realm), named_by=endpoint.host):
            detail = f"the registry's token server is http://{host_of(realm)}"
            raise operation.error(RegistryReason.REFUSED_HTTP, detail)
        return realm


def _as_pattern(challenge: Challenge, reference: Reference) -> Challenge:
    """The challenge with a placeholder for the repository, to reuse for the endpoint's other repositories."""
    scope = challenge.parameters.get("scope", "").replace(f"{reference.repository}:", f"{_PLACEHOLDER}:")
    return Challenge(challenge.scheme, challenge.parameters | {"scope": scope})


def _for_repository(challenge: Challenge, reference: Reference) -> Challenge:
    scope = challenge.parameters.get("scope", "").replace(_PLACEHOLDER, reference.repository)
    return Challenge(challenge.scheme, challenge.parameters | {"scope": scope})


def identity(credential: Credential | None) -> str:
    """Which identity a request had, for messages; contains no secret."""
    if credential is None:
        return "without credentials"
    return f"as {credential.username or 'a token'} ({credential.source or 'given'})"


def _basic(credential: Credential) -> str:
    return base64.b64encode(f"{credential.username}:{credential.password}".encode()).decode()


def _read_token(operation: Operation, realm: URL, body: bytes) -> tuple[str, float]:
    """The token in a token server's response, and the seconds until it should be replaced."""
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
    if isinstance(lifetime, int | float) and 0 < lifetime < math.inf:
        seconds = float(lifetime)
    # A token must not expire on its way to the registry.
    return token, seconds - min(_MARGIN, seconds / 10)
