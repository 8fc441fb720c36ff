"""Certificates for servers and clients of tests, created each time."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """A certificate authority: its certificate in PEM, and what it needs to sign others."""

    certificate: Path
    parsed: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def issue(self, name: str, folder: Path) -> tuple[Path, Path]:
        """A certificate and key in PEM for ``name`` and 127.0.0.1, signed by this authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = (
            _builder(name, self.parsed.subject, key)
            .add_extension(names, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return _write(folder / f"{name}.crt", made), _write_key(folder / f"{name}.key", key)


def authority(folder: Path, name: str = "authority") -> Authority:
    """Make a certificate authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        _builder(name, subject, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(_write(folder / f"{name}.crt", made), made, key)


def _builder(name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=1))
        .not_valid_after(now + dt.timedelta(hours=1))
    )


def _write(file: Path, made: x509.Certificate) -> Path:
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return file


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return file
