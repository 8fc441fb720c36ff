"""Read a registry's responses within limits; turn error responses, and failures of network and TLS, into errors."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import contextmanager

import aiohttp
from yarl import URL

from multiarch.registry.decoding import decode_json
from multiarch.registry.egress import RejectedAddressError
from multiarch.registry.errors import RegistryError, RegistryReason, format_line
from multiarch.registry.operation import ReadOperation
from multiarch.retries import retry_after

CHUNK = 128 * 1024
_REJECTION_LIMIT = 16 * 1024
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT, _TOO_MANY = 401, 403, 404, 408, 429
_SERVER_ERRORS = range(500, 600)
_BY_STATUS = {
    _UNAUTHORIZED: RegistryReason.DENIED,
    _FORBIDDEN: RegistryReason.DENIED,
    _NOT_FOUND: RegistryReason.NOT_FOUND,
    _TIMEOUT: RegistryReason.TIMEOUT,
    _TOO_MANY: RegistryReason.RATE_LIMITED,
}
# OpenSSL's reasons for bytes that are not TLS.
_NOT_TLS = frozenset(
    {"HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"}
)


# The first matching class counts: subclasses come first.
_BEFORE: tuple[tuple[type[Exception], RegistryReason, str], ...] = (
    (aiohttp.InvalidURL, RegistryReason.UNREACHABLE, "{host} is not a valid host name"),
    (UnicodeError, RegistryReason.UNREACHABLE, "{host} is not a valid host name"),
    (aiohttp.ConnectionTimeoutError, RegistryReason.UNREACHABLE, "connecting to {host} timed out"),
    (aiohttp.ServerTimeoutError, RegistryReason.TIMEOUT, "{host} sent nothing for too long"),
    (TimeoutError, RegistryReason.TIMEOUT, "{host} did not finish within {seconds} s"),
    (aiohttp.ClientConnectorDNSError, RegistryReason.UNREACHABLE, "can't resolve {host}"),
    (aiohttp.ClientProxyConnectionError, RegistryReason.UNREACHABLE, "can't connect to the proxy for {host}"),
    (aiohttp.ClientHttpProxyError, RegistryReason.UNREACHABLE, "the proxy rejected a connection to {host}"),
    (aiohttp.ClientConnectorError, RegistryReason.UNREACHABLE, "can't connect to {host}"),
    (aiohttp.ClientPayloadError, RegistryReason.TRUNCATED, "the response of {host} is incomplete"),
)


async def read_chunks(operation: ReadOperation, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Yield the body in chunks. Raises RegistryError (TRUNCATED, TIMEOUT, UNSUPPORTED)."""
    host = get_host(response.url)
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in {"", "identity"}:
        raise operation.error(RegistryReason.UNSUPPORTED, f"{host} sent an unrequested Content-Encoding: {encoding}")
    while True:
        with translate_failures(operation, host):
            async with asyncio.timeout(operation.deadline.left):
                chunk = await response.content.read(CHUNK)
        if not chunk:
            return
        yield chunk


async def read_body(operation: ReadOperation, response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the whole body. Raises RegistryError, TOO_LARGE as soon as it exceeds ``limit`` bytes."""
    too_large = f"{get_host(response.url)} sent more than {limit} bytes"
    body = bytearray()
    async for chunk in read_chunks(operation, response):
        body += chunk
        if len(body) > limit:
            raise operation.error(RegistryReason.TOO_LARGE, too_large)
    return bytes(body)


async def describe_rejection(
    operation: ReadOperation, response: aiohttp.ClientResponse, secrets: Iterable[str] = ()
) -> RegistryError:
    """Return the error for a response with an unexpected status."""
    message = await _error_message(operation, response)
    status = response.status
    reason = _reason(status)
    detail = f"{get_host(response.url)} answered {status}"
    if message:
        detail = f"{detail} ({format_line(message, secrets=secrets)})"
    wait = retry_after(response.headers.get("Retry-After"), time.time())
    if wait is not None and reason is RegistryReason.RATE_LIMITED:
        detail = f"{detail}, and says to retry in {wait:.0f} s"
    return RegistryError(reason, detail, operation.reference, retry_after=wait)


def _reason(status: int) -> RegistryReason:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status in _SERVER_ERRORS:
        return RegistryReason.SERVER
    return RegistryReason.UNSUPPORTED if status >= 400 else RegistryReason.MALFORMED  # noqa: PLR2004


async def _error_message(operation: ReadOperation, response: aiohttp.ClientResponse) -> str:
    """Return the messages of an error response, or else its codes; empty if its body can't be read."""
    try:
        body = decode_json(await read_body(operation, response, _REJECTION_LIMIT))
    except (RegistryError, ValueError):
        return ""
    listed = body.get("errors") if isinstance(body, dict) else None
    rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    messages, codes = (
        [text for each in rows if isinstance(text := each.get(key), str) and text] for key in ("message", "code")
    )
    return "; ".join(messages or codes)


def get_host(url: URL) -> str:
    """Return ``host`` or ``host:port`` as in references: without the scheme's default port."""
    return url.host_port_subcomponent or ""


@contextmanager
def translate_failures(operation: ReadOperation, host: str) -> Iterator[None]:
    """Turn aiohttp's errors into RegistryErrors."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:  # a TimeoutError is an OSError
        rejected = error.os_error if isinstance(error, aiohttp.ClientConnectorDNSError) else None
        if isinstance(rejected, RejectedAddressError):
            raise operation.error(
                RegistryReason.NOT_ALLOWED, rejected.rejection.text, rejected.rejection.hint
            ) from error
        reason, detail = _described(error)
        detail = detail.replace("{host}", host).replace("{seconds}", f"{operation.deadline.seconds:.0f}")
        raise operation.error(reason, detail) from error


def _described(error: Exception) -> tuple[RegistryReason, str]:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        fault = error.certificate_error
        text = fault.verify_message if isinstance(fault, ssl.SSLCertVerificationError) else str(fault)
        return RegistryReason.UNTRUSTED, f"{{host}}: {text}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return _tls(error.os_error)
    for kind, reason, detail in _BEFORE:
        if isinstance(error, kind):
            rejected = type(error) is aiohttp.ClientConnectorError and isinstance(error.os_error, ConnectionError)
            return reason, "{host} rejected the connection" if rejected else detail
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return RegistryReason.UNREACHABLE, "{host} closed the connection without a response"
    return RegistryReason.MALFORMED, f"{{host}} sent an invalid HTTP response ({type(error).__name__})"


def _tls(error: OSError) -> tuple[RegistryReason, str]:
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else ""
    if reason in _NOT_TLS:
        return RegistryReason.REJECTED_HTTP, "{host} does not speak TLS"
    text = reason.lower().replace("_", " ") or "the handshake failed"
    return RegistryReason.UNREACHABLE, f"{{host}}: TLS: {text}"
