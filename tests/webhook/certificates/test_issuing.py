"""A certificate that TLS libraries accept for the webhook's names and for no other, and its faults."""

from __future__ import annotations

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from multiarch.webhook.certificates.inspection import authorities, expiry, fault, renewal
from multiarch.webhook.certificates.issuing import SKEW, Pair, issue
from tests.webhook.certificates.timeline import NAMES, START

LIFETIME = timedelta(days=90)
PAIR = issue(NAMES, START, LIFETIME)
OTHER = issue(NAMES, START, LIFETIME)


def handshake(pair: Pair, authority: bytes, name: str, folder: Path) -> None:
    """A TLS handshake of OpenSSL with itself."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    client = ssl.create_default_context(cadata=authority.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        for end in tuple(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


def issued_now() -> Pair:
    return issue(NAMES, datetime.now(UTC), LIFETIME)


@pytest.mark.parametrize("name", NAMES)
def test_openssl_accepts_it_for_the_services_names(name: str, tmp_path: Path) -> None:
    pair = issued_now()
    handshake(pair, pair.authority, name, tmp_path)
    handshake(pair, OTHER.authority + pair.authority, name, tmp_path)


def test_openssl_refuses_it_for_other_names_and_with_another_ca(tmp_path: Path) -> None:
    pair = issued_now()
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(pair, pair.authority, "other.hooks.svc", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(pair, OTHER.authority, NAMES[0], tmp_path)


def test_a_strict_verifier_accepts_it_and_only_as_long_as_it_is_valid() -> None:
    leaf = x509.load_pem_x509_certificate(PAIR.certificate)
    store = Store([x509.load_pem_x509_certificate(OTHER.authority), x509.load_pem_x509_certificate(PAIR.authority)])
    for seconds, valid in ((-3601, False), (-3599, True), (90 * 86400 - 1, True), (90 * 86400 + 1, False)):
        now = START + timedelta(seconds=seconds)
        verifier = PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(NAMES[0]))
        if valid:
            assert len(verifier.verify(leaf, [])) == 2
        else:
            with pytest.raises(VerificationError):
                verifier.verify(leaf, [])


def test_the_key_of_the_ca_is_nowhere() -> None:
    assert PAIR.key.count(b"PRIVATE KEY") == 2
    assert b"KEY-----" not in PAIR.certificate + PAIR.authority
    assert PAIR.authority != OTHER.authority
    assert "PRIVATE" not in repr(PAIR)


def test_it_is_renewed_when_a_third_of_its_lifetime_is_left() -> None:
    assert fault(PAIR, NAMES, START) == ""
    assert expiry(PAIR) == START + LIFETIME
    assert expiry(PAIR) - renewal(PAIR) == (LIFETIME + SKEW) / 3


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (replace(PAIR, certificate=b"x"), "can't be read"),
        (replace(PAIR, key=b""), "can't be read"),
        (replace(PAIR, authority=PAIR.authority[:99]), "can't be read"),
        (replace(PAIR, certificate=PAIR.authority), "can't be read"),
        (replace(PAIR, key=OTHER.key), "does not belong to the key"),
        (replace(PAIR, authority=OTHER.authority), "is not a server certificate of the CA beside it"),
        (issue([NAMES[0]], START, LIFETIME), "is not for webhook.hooks.svc.cluster.local"),
        (issue(NAMES, START + timedelta(hours=2), LIFETIME), "is not valid yet"),
        (issue(NAMES, START - LIFETIME, LIFETIME), "has expired"),
    ],
)
def test_a_fault_is_named(pair: Pair, says: str) -> None:
    assert fault(pair, NAMES, START) == says


def test_a_bundle_is_read_leniently_the_newest_ca_first() -> None:
    old = issue(NAMES, START - timedelta(days=60), LIFETIME).authority
    gone = issue(NAMES, START - timedelta(days=100), LIFETIME).authority
    bundle = b"# ours\n" + old + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + gone
    assert authorities([b"", b"\xff", bundle, bundle + PAIR.authority], START) == [PAIR.authority, old]
