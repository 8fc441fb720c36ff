"""Bearer and Basic authentication: challenges answered, tokens kept until they expire.

Source: https://distribution.github.io/distribution/spec/auth/token/ and …/auth/oauth/
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from multiarch.registry.answers import refusal, whole
from multiarch.registry.challenge import Challenge, parse_challenges, strongest
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.endpoints import Endpoint
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.failures import host_of
from multiarch.registry.recent import Recent
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from multiarch.registry.transport import Errand, Transport

DEFAULT_LIFE = 60.0
"""Seconds that a token lives whose server does not say: so has the specification."""

_LIMIT = 256 * 1024
_MARGIN = 10.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_OK, _FORBIDDEN = 200, 403
_GAP = "\0"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a request was sent with: an Access's ``generation``; ``fresh`` if it was got for this very request."""

    generation: int
    fresh: bool


@dataclass(slots=True)
class Access:
    """What is known about getting into one repository at one endpoint.

    ``header`` is the value of Authorization, good until ``expires`` (monotonic seconds). ``generation`` counts the
    headers: who was refused with an older one tries the newer one first.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    candidates: tuple[Credential, ...] | None = None
    header: str = field(default="", repr=False)
    expires: float = 0.0
    generation: int = 0
    refused: int = 0

    @property
    def credential(self) -> Credential | None:
        """Who to be now; None for nobody."""
        return self.candidates[self.refused] if self.candidates and self.refused < len(self.candidates) else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        known = [secret for candidate in self.candidates or () for secret in candidate.secrets]
        return (*known, self.header.partition(" ")[2])

    @property
    def kept(self) -> bool:
        """Whether there is a header that should still be good."""
        return bool(self.header) and time.monotonic() < self.expires

    def next(self) -> bool:
        """Give up the credential that was refused. False if there is no other: the next request starts anew."""
        self.refused += 1
        if self.credential is not None:
            return True
        self.forget()
        return False

    def forget(self) -> None:
        """Ask for credentials anew."""
        self.candidates, self.refused, self.header = None, 0, ""


class Authenticator:
    """Knows which Authorization to send where."""

    def __init__(self, transport: Transport, settings: RegistrySettings, credentials: Credentials) -> None:
        """``credentials`` are asked once per repository and endpoint, when the endpoint first wants some."""
        self._transport = transport
        self._settings = settings
        self._credentials = credentials
        self._accesses: Recent[tuple[str, str, str], Access] = Recent()
        self._challenges: Recent[tuple[str, str], Challenge] = Recent()

    def access(self, endpoint: Endpoint, reference: Reference) -> Access:
        """What is known of a repository there; to be handed to the other methods."""
        key = endpoint.host, endpoint.path, reference.repository
        return self._accesses.get_or_make(key, Access)

    async def header(self, errand: Errand, endpoint: Endpoint, reference: Reference, access: Access) -> str:
        """The Authorization to send first: of a kept token, or as the endpoint's other repositories want it.

        Empty as long as nothing is known. Raises RegistryError when a token can't be had.
        """
        if access.kept:
            return access.header
        challenge = self._challenges.get((endpoint.host, endpoint.path))
        if challenge is None:
            return ""
        async with access.lock:
            if not access.kept:
                access.forget()
                await self._get(errand, endpoint, reference, access, _for_repository(challenge, reference))
        return access.header

    async def answer(
        self,
        errand: Errand,
        endpoint: Endpoint,
        reference: Reference,
        access: Access,
        response: aiohttp.ClientResponse,
        *,
        sent: Sent,
    ) -> bool:
        """Get another Authorization after a 401 or 403; False if there is nothing left to try.

        ``sent`` is what the refused request was sent with.
        """
        place = endpoint.host, endpoint.path
        challenge = strongest(parse_challenges(response.headers.getall("WWW-Authenticate", [])))
        if challenge is not None:
            self._challenges.put(place, _as_pattern(challenge, reference))
        elif (pattern := self._challenges.get(place)) is not None:
            challenge = _for_repository(pattern, reference)
        if challenge is None:
            return False
        async with access.lock:
            if access.generation != sent.generation:
                return True  # somebody else did it meanwhile
            if sent.fresh or response.status == _FORBIDDEN:
                if not access.next():
                    return False
            else:
                access.forget()
            await self._get(errand, endpoint, reference, access, challenge)
            return True

    async def _get(
        self, errand: Errand, endpoint: Endpoint, reference: Reference, access: Access, challenge: Challenge
    ) -> None:
        if access.candidates is None:
            registry = reference.registry if endpoint.namespace is None else endpoint.host
            asked = Reference(registry, reference.repository, reference.tag, reference.digest)
            access.candidates = await self._credentials.for_repository(asked)
        while True:
            credential = access.credential
            try:
                header, life = await self._header_for(errand, endpoint, reference, challenge, credential)
            except RegistryError as error:
                if error.reason is RegistryReason.DENIED and credential is not None and access.next():
                    continue
                raise
            access.header, access.expires = header, time.monotonic() + life
            access.generation += 1
            return

    async def _header_for(
        self,
        errand: Errand,
        endpoint: Endpoint,
        reference: Reference,
        challenge: Challenge,
        credential: Credential | None,
    ) -> tuple[str, float]:
        if challenge.scheme == "bearer":
            if credential is not None and credential.registry_token:
                return f"Bearer {credential.registry_token}", float("inf")
            started = time.monotonic()
            token, life = await self._token(errand, endpoint, reference, challenge, credential)
            return f"Bearer {token}", life - (time.monotonic() - started)
        if credential is None:
            detail = f"{endpoint.host} wants a user and a password, and none are known for it"
            raise errand.error(RegistryReason.DENIED, detail)
        if not credential.username or not credential.password:
            detail = f"{endpoint.host} wants a user and a password; {credential.source or 'what is known'} has a token"
            raise errand.error(RegistryReason.DENIED, detail)
        ends = float("inf") if credential.expires is None else credential.expires - time.time() - _MARGIN
        return f"Basic {_pair(credential)}", ends

    async def _token(
        self,
        errand: Errand,
        endpoint: Endpoint,
        reference: Reference,
        challenge: Challenge,
        credential: Credential | None,
    ) -> tuple[str, float]:
        realm = self._realm(errand, challenge)
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
                headers["Authorization"] = f"Basic {_pair(credential)}"
        # What an endpoint is trusted with (its certificates) holds for a token server of the same host.
        server = endpoint if host_of(realm) == endpoint.host else Endpoint(host_of(realm), scheme=realm.scheme)
        secrets = () if credential is None else (*credential.secrets, _pair(credential))
        async with self._transport.request(
            errand, server, method, realm, headers, form=form, queue="tokens "
        ) as response:
            if response.status != _OK:
                error = await refusal(errand, response, secrets)
                if error.reason is RegistryReason.DENIED:
                    detail = f"the token server {host_of(realm)} answers {response.status}, asked {who(credential)}"
                    raise errand.error(error.reason, detail)
                raise error
            body = await whole(errand, response, _LIMIT)
        return _read_token(errand, realm, body)

    def _realm(self, errand: Errand, challenge: Challenge) -> URL:
        text = challenge.parameters["realm"]
        try:
            realm = URL(text)
            fine = realm.scheme in {"http", "https"} and bool(realm.host) and realm.user is None
        except ValueError:
            fine = False
        if not fine:
            raise errand.error(RegistryReason.MALFORMED, "the registry names a token server that is no https:// URL")
        if realm.scheme == "http" and not self._settings.allows_plain_http(host_of(realm)):
            detail = f"the registry's token server is http://{host_of(realm)}"
            raise errand.error(RegistryReason.REFUSED_HTTP, detail)
        return realm


def _as_pattern(challenge: Challenge, reference: Reference) -> Challenge:
    """The challenge with a gap where the scope names the repository, for the endpoint's other repositories."""
    scope = challenge.parameters.get("scope", "").replace(f"{reference.repository}:", f"{_GAP}:")
    return Challenge(challenge.scheme, challenge.parameters | {"scope": scope})


def _for_repository(challenge: Challenge, reference: Reference) -> Challenge:
    scope = challenge.parameters.get("scope", "").replace(_GAP, reference.repository)
    return Challenge(challenge.scheme, challenge.parameters | {"scope": scope})


def who(credential: Credential | None) -> str:
    """As whom something was asked, in words without a secret."""
    if credential is None:
        return "as nobody"
    return f"as {credential.username or 'the bearer of a token'} ({credential.source or 'given'})"


def _pair(credential: Credential) -> str:
    return base64.b64encode(f"{credential.username}:{credential.password}".encode()).decode()


def _read_token(errand: Errand, realm: URL, body: bytes) -> tuple[str, float]:
    """The token of a token server's answer, and the seconds until it should be replaced."""
    try:
        answer = json.loads(body)
        token = answer.get("token") or answer.get("access_token")
        life = answer.get("expires_in", DEFAULT_LIFE)
    except (ValueError, AttributeError, RecursionError):
        token, life = None, None
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise errand.error(RegistryReason.MALFORMED, f"the token server {realm.host} sends no token")
    seconds = float(life) if isinstance(life, int | float) and life > 0 else DEFAULT_LIFE
    # A token should not expire on its way; of a short life a tenth is left out.
    return token, seconds - min(_MARGIN, seconds / 10)
