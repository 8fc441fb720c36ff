"""Reading a registry's answers: never more than allowed, and its refusals in words."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterable

import aiohttp

from multiarch.registry.errors import RegistryError, RegistryReason, one_line
from multiarch.registry.failures import failures, host_of
from multiarch.registry.timing import retry_after
from multiarch.registry.transport import Errand

PIECE = 128 * 1024
_REFUSAL_LIMIT = 16 * 1024
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT, _TOO_MANY = 401, 403, 404, 408, 429
_SERVER_ERRORS = range(500, 600)
# Codes that mean the same whatever status a registry sends with them.
# Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes
_BY_CODE = {
    "BLOB_UNKNOWN": RegistryReason.NOT_FOUND,
    "DENIED": RegistryReason.DENIED,
    "MANIFEST_UNKNOWN": RegistryReason.NOT_FOUND,
    "NAME_UNKNOWN": RegistryReason.NOT_FOUND,
    "TOOMANYREQUESTS": RegistryReason.RATE_LIMITED,
    "UNAUTHORIZED": RegistryReason.DENIED,
}
_BY_STATUS = {
    _UNAUTHORIZED: RegistryReason.DENIED,
    _FORBIDDEN: RegistryReason.DENIED,
    _NOT_FOUND: RegistryReason.NOT_FOUND,
    _TIMEOUT: RegistryReason.TIMEOUT,
    _TOO_MANY: RegistryReason.RATE_LIMITED,
}


class RefusalError(RegistryError):
    """An answer that is none: its ``status``, and the seconds that its Retry-After asks for."""

    status: int = 0
    wait: float | None = None


async def pieces(errand: Errand, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The body, piece by piece. Raises RegistryError (TRUNCATED, TIMEOUT, UNSUPPORTED)."""
    host = host_of(response.url)
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in {"", "identity"}:
        raise errand.error(RegistryReason.UNSUPPORTED, f"{host} compresses its answer ({encoding}) without being asked")
    while True:
        with failures(errand.error, host, errand.deadline.seconds, reading=True):
            async with asyncio.timeout(errand.deadline.left):
                piece = await response.content.read(PIECE)
        if not piece:
            return
        yield piece


async def whole(errand: Errand, response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body. Raises RegistryError, TOO_LARGE as soon as it is above ``limit`` bytes."""
    too_large = f"{host_of(response.url)} sends more than {limit} bytes"
    if (response.content_length or 0) > limit:
        raise errand.error(RegistryReason.TOO_LARGE, too_large)
    body = bytearray()
    async for piece in pieces(errand, response):
        body += piece
        if len(body) > limit:
            raise errand.error(RegistryReason.TOO_LARGE, too_large)
    return bytes(body)


async def refusal(errand: Errand, response: aiohttp.ClientResponse, secrets: Iterable[str] = ()) -> RefusalError:
    """The error that an answer of another status than expected is."""
    codes, said = await _said(errand, response)
    status = response.status
    reason = _reason(status, codes)
    detail = f"{host_of(response.url)} answers {status}"
    if said:
        detail = f"{detail} ({one_line(said, secrets=secrets)})"
    wait = retry_after(response.headers.get("Retry-After"), time.time())
    if wait is not None and reason is RegistryReason.RATE_LIMITED:
        detail = f"{detail}, and asks to come back in {wait:.0f} s"
    error = RefusalError(reason, detail, registry=errand.registry, reference=errand.reference)
    error.status, error.wait = status, wait
    return error


def _reason(status: int, codes: Iterable[str]) -> RegistryReason:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status in _SERVER_ERRORS:
        return RegistryReason.SERVER
    for code in codes:
        if code in _BY_CODE:
            return _BY_CODE[code]
    return RegistryReason.UNSUPPORTED if status >= 400 else RegistryReason.MALFORMED  # noqa: PLR2004


async def _said(errand: Errand, response: aiohttp.ClientResponse) -> tuple[list[str], str]:
    """The codes and messages of a refusal's JSON; nothing if it has none that can be read."""
    try:
        body = json.loads(await whole(errand, response, _REFUSAL_LIMIT))
    except (RegistryError, ValueError, RecursionError):
        return [], ""
    rows = body.get("errors") if isinstance(body, dict) else None
    codes, said = [], []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            code, message = row.get("code"), row.get("message")
            if isinstance(code, str):
                codes.append(code)
            if isinstance(message, str) and message:
                said.append(message)
    return codes, "; ".join(said or codes)
