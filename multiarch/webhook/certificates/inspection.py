"""What can be said of a certificate that is there: whether it may be served, and when it is renewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from multiarch.webhook.certificates.issuing import Pair

_INVALID = (ValueError, TypeError, UnsupportedAlgorithm, x509.ExtensionNotFound, x509.DuplicateExtension)
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_PEM, _PUBLIC = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo


def fault(pair: Pair, names: Sequence[str], now: datetime) -> str:
    """Why a pair can't be served under the DNS names, as the end of a sentence; empty if it can."""
    try:
        leaf = x509.load_pem_x509_certificate(pair.certificate)
        authority = x509.load_pem_x509_certificate(pair.authority)
        key = serialization.load_pem_private_key(pair.key, None)
        extensions = leaf.extensions
        covered = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uses = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        signs = authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        same = key.public_key().public_bytes(_PEM, _PUBLIC) == leaf.public_key().public_bytes(_PEM, _PUBLIC)
    except _INVALID:
        return "can't be read"
    if not same:
        return "does not belong to the key"
    if missing := sorted(set(names) - set(covered.get_values_for_type(x509.DNSName))):
        return f"is not for {missing[0]}"
    try:
        leaf.verify_directly_issued_by(authority)
    except (*_INVALID, InvalidSignature):
        signs = False
    if not signs or ExtendedKeyUsageOID.SERVER_AUTH not in uses:
        return "is not a server certificate of the CA beside it"
    if now < max(leaf.not_valid_before_utc, authority.not_valid_before_utc):
        return "is not valid yet"
    return "has expired" if now >= min(leaf.not_valid_after_utc, authority.not_valid_after_utc) else ""


def renewal(pair: Pair) -> datetime:
    """When a pair without fault is renewed: a third of its lifetime is left."""
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    return leaf.not_valid_after_utc - (leaf.not_valid_after_utc - leaf.not_valid_before_utc) / 3


def expiry(pair: Pair) -> datetime:
    """When a pair without fault ends."""
    return x509.load_pem_x509_certificate(pair.certificate).not_valid_after_utc


def authorities(bundles: Iterable[bytes], now: datetime) -> list[bytes]:
    """The certificates of several bundles that have not expired, each once, the newest first; the rest is left out."""
    found: dict[bytes, datetime] = {}
    for block in {block for bundle in bundles for block in _BLOCK.findall(bundle)}:
        try:
            certificate = x509.load_pem_x509_certificate(block)
            if certificate.not_valid_after_utc > now:
                found[certificate.public_bytes(_PEM)] = certificate.not_valid_before_utc
        except _INVALID:
            continue
    return sorted(found, key=lambda pem: (datetime.max.replace(tzinfo=UTC) - found[pem], pem))
