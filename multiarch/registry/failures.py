"""Network, TLS and HTTP failures as RegistryErrors."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import aiohttp
from yarl import URL

from multiarch.registry.bounds import TooManyBytesError
from multiarch.registry.egress import RefusedAddressError
from multiarch.registry.errors import RegistryError, RegistryReason

# OpenSSL's reasons for bytes that are not TLS.
_NOT_TLS = frozenset(
    {"HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"}
)


class MakeError(Protocol):
    """Makes an operation's error."""

    def __call__(self, reason: RegistryReason, detail: str, hint: str | None = None, /) -> RegistryError:
        """``detail`` without a full stop."""
        ...


# The first matching class counts: subclasses come first.
_BEFORE: tuple[tuple[type[Exception], RegistryReason, str], ...] = (
    (TooManyBytesError, RegistryReason.TOO_LARGE, "the response of {host} is too long"),
    (aiohttp.ConnectionTimeoutError, RegistryReason.UNREACHABLE, "connecting to {host} timed out"),
    (aiohttp.ServerTimeoutError, RegistryReason.TIMEOUT, "{host} sent nothing for too long"),
    (TimeoutError, RegistryReason.TIMEOUT, "{host} did not finish within {seconds:.0f} s"),
    (aiohttp.ClientConnectorDNSError, RegistryReason.UNREACHABLE, "can't resolve {host}"),
    (aiohttp.ClientProxyConnectionError, RegistryReason.UNREACHABLE, "can't connect to the proxy for {host}"),
    (aiohttp.ClientHttpProxyError, RegistryReason.UNREACHABLE, "the proxy refused a connection to {host}"),
    (aiohttp.ClientConnectorError, RegistryReason.UNREACHABLE, "can't connect to {host}"),
    (aiohttp.ClientPayloadError, RegistryReason.TRUNCATED, "the response of {host} is incomplete"),
)
# By OpenSSL's codes. Source: https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/#error-codes
_OTHER_NAME = "The certificate is for another name: check the registry's name, and which server answers."
_OTHER_TIME = "Renew the certificate, or check this machine's clock."
_CERTIFICATE_HINTS = {9: _OTHER_TIME, 10: _OTHER_TIME, 62: _OTHER_NAME, 64: _OTHER_NAME}
_CLOSED = (RegistryReason.UNREACHABLE, "{host} closed the connection without a response")
_CUT = (RegistryReason.TRUNCATED, "{host} closed the connection during the response")


def host_of(url: URL) -> str:
    """``host`` or ``host:port`` as in references: without the scheme's default port."""
    return url.host_port_subcomponent or ""


@contextmanager
def failures(make: MakeError, host: str, seconds: float, *, reading: bool = False) -> Iterator[None]:
    """Turn aiohttp's errors into RegistryErrors. ``reading``: the response has begun."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:  # a TimeoutError is an OSError
        refused = error.os_error if isinstance(error, aiohttp.ClientConnectorDNSError) else None
        if isinstance(refused, RefusedAddressError):
            raise make(RegistryReason.NOT_ALLOWED, refused.refusal.text, refused.refusal.hint) from error
        reason, detail = _described(error, reading=reading)
        raise make(reason, detail.format(host=host, seconds=seconds), _certificate_hint(error)) from error


def _described(error: Exception, *, reading: bool) -> tuple[RegistryReason, str]:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return RegistryReason.UNTRUSTED, f"{{host}}: {_escaped(_certificate_fault(error.certificate_error))}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return _tls(error.os_error)
    for kind, reason, detail in _BEFORE:
        if isinstance(error, kind):
            refused = type(error) is aiohttp.ClientConnectorError and isinstance(error.os_error, ConnectionError)
            return reason, "{host} refused the connection" if refused else detail
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return _CUT if reading else _CLOSED
    return RegistryReason.MALFORMED, f"{{host}} sent an invalid HTTP response ({type(error).__name__})"


def _tls(error: OSError) -> tuple[RegistryReason, str]:
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else ""
    if reason in _NOT_TLS:
        return RegistryReason.REFUSED_HTTP, "{host} does not speak TLS"
    text = reason.lower().replace("_", " ") or "the handshake failed"
    return RegistryReason.UNREACHABLE, f"{{host}}: TLS: {_escaped(text)}"


def _certificate_fault(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return str(error.verify_message)
    return str(error)


def _certificate_hint(error: Exception) -> str | None:
    """The hint for a certificate with a wrong name or date, where trusting another authority does not help."""
    fault = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else None
    return _CERTIFICATE_HINTS.get(getattr(fault, "verify_code", 0))


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
