"""A webhook's certificate with an authority of its own, for tests and benchmarks that serve HTTPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A server's certificate and its key, and the CA that signed it, all in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes


def issue(names: Sequence[str], now: datetime, lifetime: timedelta) -> Pair:
    """Issue a certificate for the DNS names, by a CA that signs nothing else and ends with it."""
    signer, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    # A name of its own, so that a verifier never takes one CA for another.
    issuer = _name(f"CA {x509.random_serial_number():x}"[:60])
    begin, end = now - _SKEW, now + lifetime
    authority = (
        _builder(issuer, issuer, signer, begin, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(signer, hashes.SHA256())
    )
    leaf = (
        _builder(_name("webhook"), issuer, key, begin, end)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Pair(
        leaf.public_bytes(pem),
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        authority.public_bytes(pem),
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
