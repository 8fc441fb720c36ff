"""The server's certificate, read from a folder and taken into use again when its files change.

Kubernetes replaces all files of a Secret's volume at once. Each pair is loaded into a TLS context of its own: one that
is broken never replaces the one in use, and one with another kind of key does not stay beside the old one, as it would
in a single context. Open connections are not touched; a new handshake gets the newest context.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from multiarch.errors import MultiarchError
from multiarch.files import read_bytes

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""The files of a Secret of type kubernetes.io/tls."""
CHECK_SECONDS = 5.0
"""How often the files are read. The kubelet updates a volume about once a minute."""
WARNING_SECONDS = 7 * 86400.0
"""With less time left than this, the log has a warning every day."""
_DAY = 86400.0
_CLOCK_SKEW = 300.0
# TLS 1.2 with forward secrecy and authenticated encryption; all suites of TLS 1.3 have both.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


class CertificateError(MultiarchError):
    """The certificate or its key can't be used."""


class Report(Protocol):
    """Told what becomes of the certificate: metrics and logs."""

    def certificate_in_use(self, expires: float) -> None:
        """A certificate is used from now on; ``expires`` is a Unix time."""
        ...

    def certificate_refused(self, error: CertificateError) -> None:
        """Changed files can't be used; the certificate in use stays."""
        ...

    def certificate_expires(self, seconds: float) -> None:
        """The certificate in use expires in ``seconds``, or has expired if that is negative."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate with its key, loaded: the TLS context, and when it expires as Unix time."""

    context: ssl.SSLContext
    expires: float
    content: tuple[bytes, bytes]


class Certificate:
    """The certificate of a folder. ``context`` is for listeners; it always serves the newest pair."""

    def __init__(self, folder: Path, report: Report, clock: Callable[[], float] = time.time) -> None:
        """Load the pair. Raises CertificateError if it can't be used, or has expired."""
        self._folder = folder
        self._report = report
        self._clock = clock
        self._pair = load(folder, clock())
        self._refused: object = None
        self._warned = float("-inf")
        self.context = _context()
        self.context.sni_callback = self._choose
        report.certificate_in_use(self._pair.expires)
        self._warn()

    @property
    def expired(self) -> bool:
        """Whether clients refuse the certificate in use."""
        return self._pair.expires <= self._clock()

    def check(self) -> None:
        """Take the pair into use if the files have changed. Reports what can't be used, once for each content."""
        try:
            content = _content(self._folder)
        except CertificateError as error:
            self._refuse(str(error), error)
            return
        if content not in (self._pair.content, self._refused):
            try:
                self._pair = load(self._folder, self._clock())
            except CertificateError as error:
                self._refuse(content, error)
            else:
                self._refused, self._warned = None, float("-inf")
                self._report.certificate_in_use(self._pair.expires)
        self._warn()

    def _refuse(self, what: object, error: CertificateError) -> None:
        if what != self._refused:
            self._refused = what
            self._report.certificate_refused(error)

    def _warn(self) -> None:
        now = self._clock()
        if self._pair.expires - now < WARNING_SECONDS and now - self._warned >= _DAY:
            self._warned = now
            self._report.certificate_expires(self._pair.expires - now)

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """OpenSSL calls this in each handshake, whether the client names a server or not."""
        connection.context = self._pair.context


def load(folder: Path, now: float) -> Pair:
    """Load the pair of a folder.

    Raises CertificateError for files that can't be read, are not PEM, don't belong together or need a password, and
    for a certificate that has expired.
    """
    content = _content(folder)
    context = _context()
    try:
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY, password=_no_password)
    except ssl.SSLError as error:
        raise _unusable(folder, error) from error
    except (OSError, ValueError) as error:
        raise CertificateError(f"{folder}: the certificate can't be loaded: {error}.") from error
    begins, expires = _times(folder / CERTIFICATE, content[0])
    if content != _content(folder):
        raise CertificateError(f"{folder} was changed while it was read.", hint="It is read again in a moment.")
    if expires <= now:
        message = f"{folder / CERTIFICATE} expired on {_date(expires)}."
        raise CertificateError(message, hint="Issue a new certificate.")
    if begins > now + _CLOCK_SKEW:
        message = f"{folder / CERTIFICATE} is not valid before {_date(begins)}."
        raise CertificateError(message, hint="Check this machine's clock, and that of the certificate's issuer.")
    return Pair(context, expires, content)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_ciphers(_CIPHERS)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _content(folder: Path) -> tuple[bytes, bytes]:
    return _read(folder / CERTIFICATE), _read(folder / KEY)


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError as error:
        hint = f"--certificate-dir needs the files {CERTIFICATE} and {KEY}, as in a Secret of type kubernetes.io/tls."
        raise CertificateError(f"{file} can't be read: {error.strerror or error}.", hint=hint) from error


def _times(file: Path, content: bytes) -> tuple[float, float]:
    """From when to when the server's own certificate is valid, which is the first in the file."""
    from cryptography import x509  # noqa: PLC0415  (takes 40 ms to load)

    try:
        found = x509.load_pem_x509_certificate(content)
    except (ValueError, x509.InvalidVersion) as error:
        raise CertificateError(f"{file} does not have a valid certificate in PEM.") from error
    return found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp()


def _date(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _no_password() -> str:
    # Otherwise OpenSSL asks for one on the terminal.
    raise ValueError("the key needs a password")


def _unusable(folder: Path, error: ssl.SSLError) -> CertificateError:
    if error.reason in {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"}:
        hint = "Issue both together, and wait until both files are written."
        return CertificateError(f"{folder / KEY} is not the key of {folder / CERTIFICATE}.", hint=hint)
    return CertificateError(f"{folder}: {CERTIFICATE} or {KEY} is not valid PEM.")
