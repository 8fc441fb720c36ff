"""A certificate authority for a local cluster or registry, and what it signs."""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFE = dt.timedelta(days=30)
NAMES = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write ``NAME.crt`` and ``NAME.key`` (PEM), and return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        key.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, key


def authority(name: str = "sandbox") -> Pair:
    """Return a new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Pair(_sign(name, key, x509.Name([_common(name)]), key, authority_of_others=True), key)


def issue(by: Pair, names: Sequence[str] = NAMES, *, valid: tuple[dt.datetime, dt.datetime] | None = None) -> Pair:
    """Return a server's certificate for host names and addresses; ``valid`` from and until, by default now."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Pair(_sign(names[0], key, by.certificate.subject, by.key, names=names, valid=valid), key)


def issue_client(by: Pair, name: str, groups: Sequence[str] = ()) -> Pair:
    """Return a client's certificate for a Kubernetes user; ``groups`` are the subject's organizations."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Pair(_sign(name, key, by.certificate.subject, by.key, groups=groups), key)


def _common(name: str) -> x509.NameAttribute[str]:
    return x509.NameAttribute(NameOID.COMMON_NAME, name)


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    names: Sequence[str] = (),
    groups: Sequence[str] = (),
    authority_of_others: bool = False,
    valid: tuple[dt.datetime, dt.datetime] | None = None,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    begin, end = valid or (now - LIFE, now + LIFE)
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in groups]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([*organizations, _common(name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=authority_of_others, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
