"""The server's certificate, read from a folder and loaded again when its files change.

Kubernetes replaces all files of a Secret's volume at once. Each pair is loaded into a TLS context of its own: a broken
one never replaces the one in use. New connections get the newest context; open ones keep theirs.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from multiarch.errors import MultiarchError
from multiarch.files import read_bytes
from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.metrics import Metrics

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""The files of a Secret of type kubernetes.io/tls."""
CHECK_SECONDS = 5.0
"""How often the files are read. The kubelet updates a volume about once a minute."""
_CLOCK_SKEW = 300.0
# TLS 1.2 with forward secrecy and authenticated encryption; all suites of TLS 1.3 have both.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


class CertificateError(MultiarchError):
    """The certificate or its key can't be used."""


class Certificate:
    """The certificate of a folder. ``listening`` is the server's context, which gives new connections ``context``."""

    def __init__(self, folder: Path, metrics: Metrics, log: Log, clock: Callable[[], float] = time.time) -> None:
        """Load the pair. Raises CertificateError if it can't be used, or has expired."""
        self._folder = folder
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._content: object = _read_pair(folder)
        self.listening, self._expires = _load(folder, clock())
        self.context = self.listening
        self.listening.sni_callback = self._choose_context
        metrics.expiry.set(self._expires)

    def why_not_ready(self) -> str:
        """Return why clients reject the certificate in use, or an empty string."""
        return "the certificate has expired" if self._expires <= self._clock() else ""

    def check(self) -> None:
        """Use the files if they have changed. Logs what can't be used, once for each content."""
        before = self._content
        try:
            self._content = _read_pair(self._folder)
            if self._content == before:
                return
            self.context, self._expires = _load(self._folder, self._clock())
        except CertificateError as error:
            if self._content == before:
                self._content = str(error)
            if self._content != before:
                self._metrics.reloads.labels("failure").inc()
                self._log.write(LogLevel.ERROR, f"{error} The certificate in use stays.")
        else:
            self._metrics.expiry.set(self._expires)
            self._metrics.reloads.labels("success").inc()
            self._log.write(LogLevel.INFO, "the new certificate is in use", expires=round(self._expires))

    def _choose_context(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self.context


def _load(folder: Path, now: float) -> tuple[ssl.SSLContext, float]:
    """Load a folder's pair. Return its context, and when it expires as Unix time.

    Raises CertificateError for files that are not PEM, don't belong together or need a password, and for a certificate
    that is not valid now.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY, password=_no_password)
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or error
        message = f"{folder}: {CERTIFICATE} and {KEY} are not a certificate and its key in PEM ({why})."
        raise CertificateError(message, hint="Issue both together, and wait until both files are written.") from error
    begins, expires = _times(folder / CERTIFICATE)
    if expires <= now:
        message = f"{folder / CERTIFICATE} expired on {_date(expires)}."
        raise CertificateError(message, hint="Issue a new certificate.")
    if begins > now + _CLOCK_SKEW:
        message = f"{folder / CERTIFICATE} is not valid before {_date(begins)}."
        raise CertificateError(message, hint="Check this machine's clock, and that of the certificate's issuer.")
    return context, expires


def _read_pair(folder: Path) -> tuple[bytes, bytes]:
    try:
        return read_bytes(folder / CERTIFICATE), read_bytes(folder / KEY)
    except OSError as error:
        hint = f"--certificate-dir needs the files {CERTIFICATE} and {KEY}, as in a Secret of type kubernetes.io/tls."
        message = f"{error.filename or folder} can't be read: {error.strerror or error}."
        raise CertificateError(message, hint=hint) from error


def _times(file: Path) -> tuple[float, float]:
    """Return when the server's own certificate, the first in the file, begins and ceases to be valid."""
    from cryptography import x509  # noqa: PLC0415  (takes 40 ms to load)

    try:
        found = x509.load_pem_x509_certificate(read_bytes(file))
    except (OSError, ValueError, x509.InvalidVersion) as error:
        raise CertificateError(f"{file} does not have a valid certificate in PEM.") from error
    return found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()


def _date(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _no_password() -> str:
    # Otherwise OpenSSL prompts for one on the terminal.
    raise ValueError("the key needs a password")
