"""A webhook's certificate with an authority of its own, for tests and benchmarks that serve HTTPS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography.hazmat.primitives import serialization

from sandbox import certificates

_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A server's certificate and its key, and the CA that signed it, all in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
    authority: bytes


def issue(names: Sequence[str], now: datetime, lifetime: timedelta) -> Pair:
    """Issue a certificate for the DNS names, by a CA that signs nothing else."""
    # A name of its own, so that a verifier never takes one CA for another.
    signer = certificates.authority(f"CA {os.urandom(16).hex()}")
    made = certificates.issue(signer, names, valid=(now - _SKEW, now + lifetime))
    pem = serialization.Encoding.PEM
    key = made.key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(made.certificate.public_bytes(pem), key, signer.certificate.public_bytes(pem))
