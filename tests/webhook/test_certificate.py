"""The server's certificate: what is rejected at the start, and what changes without a request being dropped."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from multiarch.webhook.certificate import Certificate, CertificateError
from multiarch.webhook.logs import Log, LogLevel
from multiarch.webhook.metrics import Metrics
from tests.webhook.serving import pair, run, serving, trusting, write


class LogStandIn(Log):
    """Keeps what it is told, in place of writing it."""

    def __init__(self) -> None:
        self.lines: list[tuple[LogLevel, str]] = []

    def write(self, level: LogLevel, message: str, **_fields: object) -> bool:
        self.lines.append((level, message))
        return True

    def of(self, level: LogLevel) -> list[str]:
        return [message for each, message in self.lines if each is level]


def certificate_of(folder: Path, clock: Callable[[], float] = time.time) -> tuple[Certificate, LogStandIn]:
    log = LogStandIn()
    return Certificate(folder, Metrics(), log, clock), log


def encrypted_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tls.crt", None, "tls.crt can't be read: No such file"),
        ("tls.key", None, "tls.key can't be read: No such file"),
        ("tls.crt", b"hello", "not a certificate and its key in PEM"),
        ("tls.key", b"", "not a certificate and its key in PEM"),
        ("tls.key", pair().key, "KEY_VALUES_MISMATCH"),
        ("tls.key", encrypted_key(), "the key needs a password"),
    ],
)
def test_an_unusable_pair_is_rejected_at_the_start(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    made = pair()
    (tmp_path / "tls.crt").write_bytes(made.certificate)
    (tmp_path / "tls.key").write_bytes(made.key)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CertificateError, match=message):
        certificate_of(tmp_path)


def test_a_certificate_of_another_time_is_rejected_at_the_start(tmp_path: Path) -> None:
    write(tmp_path, pair(1.0, starting=-3.0))
    with pytest.raises(CertificateError, match=r"expired on 20..-..-.. ..:.. UTC\. Issue a new certificate"):
        certificate_of(tmp_path)
    write(tmp_path, pair(starting=3.0))
    with pytest.raises(CertificateError, match="is not valid before"):
        certificate_of(tmp_path)


def test_a_broken_pair_is_reported_once_and_the_old_one_stays(tmp_path: Path) -> None:
    first, second = pair(), pair()
    write(tmp_path, first)
    certificate, log = certificate_of(tmp_path)
    write(tmp_path, replace(first, key=second.key))
    for _ in range(3):
        certificate.check()
    assert (len(log.of(LogLevel.INFO)), len(log.of(LogLevel.ERROR))) == (0, 1)
    (tmp_path / "tls.key").unlink()
    for _ in range(3):
        certificate.check()
    assert (len(log.of(LogLevel.INFO)), len(log.of(LogLevel.ERROR))) == (0, 2)
    (tmp_path / "tls.key").symlink_to("..data/tls.key")
    write(tmp_path, second)
    for _ in range(3):
        certificate.check()
    assert (len(log.of(LogLevel.INFO)), len(log.of(LogLevel.ERROR))) == (1, 2)


def test_an_expired_certificate_makes_it_unready(tmp_path: Path) -> None:
    write(tmp_path, pair(30.0))
    now = time.time()
    certificate, _ = certificate_of(tmp_path, lambda: now)
    assert certificate.why_not_ready() == ""
    now += 30 * 24 * 3600.0
    assert certificate.why_not_ready() == "the certificate has expired"


def test_an_old_version_of_tls_is_rejected(tmp_path: Path) -> None:
    made = pair()
    write(tmp_path, made)

    async def work() -> None:
        async with serving(tmp_path, made) as it:
            old = trusting(made)
            with pytest.deprecated_call():
                old.minimum_version = ssl.TLSVersion.TLSv1
            with pytest.deprecated_call():
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            old.set_ciphers("ALL:@SECLEVEL=0")
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.open_connection("localhost", it.server.ports[0], ssl=old)

    run(work)


def test_a_new_certificate_is_in_use_without_a_dropped_request(tmp_path: Path) -> None:
    """Connections that are kept, and new ones all the time, while the certificate changes three times."""
    made = [pair(days=30.0 + index) for index in range(4)]
    write(tmp_path, made[0])

    async def work() -> None:
        async with serving(tmp_path, *made) as it:
            stop = asyncio.Event()
            answered = 0

            async def kept(session: aiohttp.ClientSession) -> None:
                nonlocal answered
                while not stop.is_set():
                    async with session.post(it.url("/mutate"), data=b"x" * 11_000) as response:
                        assert await response.text() == ", 11000 bytes"
                        answered += 1
                    await asyncio.sleep(0)

            async def renewed() -> None:
                nonlocal answered
                connector = aiohttp.TCPConnector(ssl=trusting(*made), force_close=True)
                async with aiohttp.ClientSession(connector=connector) as session:
                    while not stop.is_set():
                        async with session.post(it.url("/mutate"), data=b"x") as response:
                            assert response.status == 200
                            answered += 1

            async def rotate() -> None:
                for each in made[1:]:
                    await asyncio.sleep(0.05)
                    write(tmp_path, each)
                    it.certificate.check()
                    only = trusting(each)
                    _, writer = await asyncio.open_connection("localhost", it.server.ports[0], ssl=only)
                    writer.close()
                stop.set()

            await asyncio.gather(*(kept(it.session) for _ in range(10)), renewed(), renewed(), rotate())
            assert answered > 40
            text = it.metrics.text()[0].decode()
            assert 'multiarch_webhook_certificate_reloads_total{result="success"} 3.0' in text
            assert 'multiarch_webhook_certificate_reloads_total{result="failure"} 0.0' in text
            assert f'multiarch_webhook_http_responses_total{{code="200"}} {float(answered)}' in text

    run(work)


def test_a_key_of_another_kind_replaces_the_old_one(tmp_path: Path) -> None:
    """In one context OpenSSL keeps a certificate for each kind of key, and may serve the old one."""
    first = pair()
    write(tmp_path, first)
    second = self_signed_rsa()

    async def work() -> None:
        async with serving(tmp_path, first) as it:
            write(tmp_path, replace(first, certificate=second[0], key=second[1]))
            it.certificate.check()
            context = ssl.create_default_context(cadata=second[0].decode())
            _, writer = await asyncio.open_connection("localhost", it.server.ports[0], ssl=context)
            writer.close()

    run(work)


def self_signed_rsa() -> tuple[bytes, bytes]:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
