"""The client against the real registry, in each of its ways."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import Iterator

import pytest

from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_MANIFEST, Descriptor
from multiarch.registry.reference import Reference
from multiarch.registry.settings import RegistrySettings
from tests.registry import server
from tests.registry.images import CONFIG, CONFIG_TYPE, QUICK, READER, Known, asking, client, push, push_all
from tests.registry.server import Auth, Server, digest_of
from tests.registry.tokens import REFRESH_TOKEN

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    with server.running() as registry:
        yield registry


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """With a token server."""
    with server.running(auth=Auth.TOKEN) as registry:
        yield registry


def settings_for(registry: Server) -> RegistrySettings:
    return dataclasses.replace(QUICK, ca_files=(registry.ca,) if registry.ca else ())


@pytest.mark.parametrize(("auth", "tls"), [(Auth.NONE, False), (Auth.BASIC, True), (Auth.TOKEN, True)])
def test_it_reads_a_registry_in_each_of_its_ways(auth: Auth, *, tls: bool) -> None:
    async def read(registry: Server) -> None:
        async with client(settings_for(registry), Known(READER)) as opened:
            manifest = await opened.manifest(registry.reference("team/image", "1.0"))
            assert (manifest.media_type, manifest.digest) == (OCI_MANIFEST, pushed.digest)
            assert json.loads(manifest.content)["config"] == {
                "mediaType": CONFIG_TYPE,
                "digest": digest_of(CONFIG),
                "size": len(CONFIG),
            }
            config = Descriptor(CONFIG_TYPE, digest_of(CONFIG), len(CONFIG))
            reference = registry.reference("team/image", "1.0")
            assert await opened.blob(reference, config, limit=1000) == CONFIG
            assert b"".join([piece async for piece in opened.stream(reference, config)]) == CONFIG
            assert await opened.tags(reference) == ("1.0",)

    with server.running(auth=auth, tls=tls) as registry:
        pushed = push(registry)
        asyncio.run(read(registry))


def test_a_manifest_is_found_by_its_digest_and_the_tag_beside_it_does_not_count(plain: Server) -> None:
    pushed = push(plain)

    for tag in (None, "no-such-tag"):
        reference = plain.reference("team/image", tag, pushed.digest)
        assert asking(lambda opened: opened.manifest(reference)).digest == pushed.digest  # noqa: B023 (called at once)


def test_a_large_blob_streams_in_small_pieces(plain: Server) -> None:
    content = bytes(range(256)) * 4096 * 8  # 8 MiB
    blob = plain.push_blob("team/large", content)

    async def read() -> None:
        made = hashlib.sha256()
        async with client() as opened:
            async for piece in opened.stream(plain.reference("team/large"), blob):
                assert 0 < len(piece) <= 128 * 1024
                made.update(piece)
        assert f"sha256:{made.hexdigest()}" == blob.digest

    asyncio.run(read())


def test_all_pages_of_tags_are_read(plain: Server) -> None:
    names = [f"v{number:04}" for number in range(1050)]
    push_all(plain, "team/tagged", dict.fromkeys(names, ""))

    assert asking(lambda opened: opened.tags(plain.reference("team/tagged"))) == tuple(names)
    few = dataclasses.replace(QUICK, tags_limit=1000)
    with pytest.raises(RegistryError, match="too large: the repository has more than 1000 tags"):
        asking(lambda opened: opened.tags(plain.reference("team/tagged")), few)


@pytest.mark.parametrize("tag", ["9.9", None])
def test_what_is_not_there_is_not_found(plain: Server, tag: str | None) -> None:
    push(plain)
    digest = None if tag else digest_of(b"nobody has this")

    with pytest.raises(RegistryError) as caught:
        asking(lambda opened: opened.manifest(plain.reference("team/image", tag, digest)))
    error = caught.value
    assert error.reason is RegistryReason.NOT_FOUND
    assert error.reference.registry == plain.host
    assert str(error) == (
        f"{plain.reference('team/image', tag, digest)}: not found: {plain.host} answered 404 (manifest unknown). "
        "Check the repository and the tag."
    )


def test_one_token_serves_a_repository_and_many_ask_for_it_once(guarded: Server) -> None:
    push_all(guarded, "team/shared", {f"v{number}": str(number) for number in range(20)})
    assert guarded.tokens is not None
    guarded.tokens.requests.clear()

    async def read() -> None:
        async with client(credentials=Known(READER)) as opened:
            await asyncio.gather(
                *(opened.manifest(guarded.reference("team/shared", f"v{number}")) for number in range(20))
            )
            await opened.manifest(guarded.reference("team/shared", "v0"))

    asyncio.run(read())
    assert guarded.tokens.requests == ["GET repository:team/shared:pull by reader"]


def test_a_token_is_replaced_when_it_expires() -> None:
    async def read(registry: Server) -> None:
        async with client(credentials=Known(READER)) as opened:
            await opened.manifest(registry.reference("team/image", "1.0"))
            await asyncio.sleep(1.1)
            await opened.manifest(registry.reference("team/image", "2.0"))

    with server.running(auth=Auth.TOKEN) as registry:
        push(registry)
        push(registry, tag="2.0", note="two")
        assert registry.tokens is not None
        registry.tokens.expires_in = 1
        registry.tokens.requests.clear()
        asyncio.run(read(registry))
        assert registry.tokens.requests == ["GET repository:team/image:pull by reader"] * 2


def test_nobody_may_pull_what_is_public(guarded: Server) -> None:
    push(guarded, "public/image")

    asking(lambda opened: opened.manifest(guarded.reference("public/image", "1.0")))


def test_an_identity_token_is_exchanged(guarded: Server) -> None:
    push(guarded, "team/image")
    assert guarded.tokens is not None
    guarded.tokens.requests.clear()

    known = Known(Credential(identity_token=REFRESH_TOKEN))
    asking(lambda opened: opened.manifest(guarded.reference("team/image", "1.0")), credentials=known)
    assert guarded.tokens.requests == ["POST repository:team/image:pull by reader"]


def test_the_next_credential_is_tried_when_one_is_rejected(guarded: Server) -> None:
    push(guarded)
    stale = Credential("reader", "an-old-password", source="an old secret")
    asking(lambda opened: opened.manifest(guarded.reference("team/image", "1.0")), credentials=Known(stale, READER))


@pytest.mark.parametrize("known", [False, True])
def test_denied_says_who_asked_and_shows_no_secret(guarded: Server, *, known: bool) -> None:
    push(guarded)
    wrong = Credential("somebody", "hunter2-of-tests", source="the tests")

    async def read() -> None:
        async with client(credentials=Known(*([wrong] if known else []))) as opened:
            for _ in range(2):
                with pytest.raises(RegistryError) as caught:
                    await opened.manifest(guarded.reference("team/image", "1.0"))
                assert caught.value.reason is RegistryReason.DENIED
                assert "\n" not in str(caught.value)
                assert "hunter2" not in f"{caught.value!r}{caught.value}"
                assert ("somebody" in str(caught.value)) is known

    asyncio.run(read())


def test_an_unknown_authority_is_not_trusted() -> None:
    with server.running(tls=True) as registry, pytest.raises(RegistryError) as caught:
        asking(lambda opened: opened.manifest(registry.reference("team/image", "1.0")))
    assert caught.value.reason is RegistryReason.UNTRUSTED
    assert "unable to get local issuer certificate. Check its names and dates, or pass" in str(caught.value)


def test_plain_http_elsewhere_is_used_only_when_it_is_allowed(plain: Server) -> None:
    push(plain)
    # Linux takes this address for its own; its name does not say that it is a loopback address.
    host = plain.host.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 (nothing is bound to it)
    reference = Reference(host, "team/image", "1.0", None)

    with pytest.raises(RegistryError) as caught:
        asking(lambda opened: opened.manifest(reference))
    assert caught.value.reason is RegistryReason.REJECTED_HTTP
    assert f"{host} does not speak TLS. Use HTTPS, or allow plain HTTP for this registry." in str(caught.value)
    asking(lambda opened: opened.manifest(reference), dataclasses.replace(QUICK, plain_http=frozenset({host})))
