"""Read a registry's responses within limits, and turn error responses into errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable

import aiohttp

from multiarch.registry.decoding import decode_json
from multiarch.registry.errors import RegistryError, RegistryReason, one_line
from multiarch.registry.failures import failures, host_of
from multiarch.registry.operation import Operation
from multiarch.retries import retry_after

CHUNK = 128 * 1024
_REFUSAL_LIMIT = 16 * 1024
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT, _TOO_MANY = 401, 403, 404, 408, 429
_SERVER_ERRORS = range(500, 600)
# Codes that mean the same with any status.
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
    """An error response: its ``status``, and the seconds that its Retry-After asks for."""

    status: int = 0
    retry_after: float | None = None


async def chunks(operation: Operation, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The body in chunks. Raises RegistryError (TRUNCATED, TIMEOUT, UNSUPPORTED)."""
    host = host_of(response.url)
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in {"", "identity"}:
        raise operation.error(RegistryReason.UNSUPPORTED, f"{host} sent an unrequested Content-Encoding: {encoding}")
    while True:
        with failures(operation.error, host, operation.deadline.seconds, reading=True):
            async with asyncio.timeout(operation.deadline.left):
                chunk = await response.content.read(CHUNK)
        if not chunk:
            return
        yield chunk


async def whole(operation: Operation, response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body. Raises RegistryError, TOO_LARGE as soon as it exceeds ``limit`` bytes."""
    too_large = f"{host_of(response.url)} sent more than {limit} bytes"
    if (response.content_length or 0) > limit:
        raise operation.error(RegistryReason.TOO_LARGE, too_large)
    body = bytearray()
    async for chunk in chunks(operation, response):
        body += chunk
        if len(body) > limit:
            raise operation.error(RegistryReason.TOO_LARGE, too_large)
    return bytes(body)


async def refusal(operation: Operation, response: aiohttp.ClientResponse, secrets: Iterable[str] = ()) -> RefusalError:
    """The error for a response with an unexpected status."""
    codes, message = await _error_message(operation, response)
    status = response.status
    reason = _reason(status, codes)
    detail = f"{host_of(response.url)} answered {status}"
    if message:
        detail = f"{detail} ({one_line(message, secrets=secrets)})"
    wait = retry_after(response.headers.get("Retry-After"), time.time())
    if wait is not None and reason is RegistryReason.RATE_LIMITED:
        detail = f"{detail}, and asks to retry in {wait:.0f} s"
    error = RefusalError(reason, detail, registry=operation.registry, reference=operation.reference)
    error.status, error.retry_after = status, wait
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


async def _error_message(operation: Operation, response: aiohttp.ClientResponse) -> tuple[list[str], str]:
    """The codes and messages of an error response; empty if its body can't be read."""
    try:
        body = decode_json(await whole(operation, response, _REFUSAL_LIMIT))
    except (RegistryError, ValueError):
        return [], ""
    rows = body.get("errors") if isinstance(body, dict) else None
    codes, messages = [], []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            code, message = row.get("code"), row.get("message")
            if isinstance(code, str):
                codes.append(code)
            if isinstance(message, str) and message:
                messages.append(message)
    return codes, "; ".join(messages or codes)
