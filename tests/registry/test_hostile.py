"""What no real registry says: each bound of the client, addresses of others, several sources of credentials."""

from __future__ import annotations

import base64
import dataclasses
import json
import time

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import DEEPEST
from multiarch.images.verdict import judge_architectures
from multiarch.registry.client import RegistryClient
from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import OCI_INDEX, Descriptor, compute_digest
from multiarch.registry.reference import Reference
from multiarch.registry.settings import is_link_local
from tests.registry.hostile import PATIENT, Asked, Hostile, as_json, asking, digest, http
from tests.registry.images import QUICK, Known
from tests.registry.names import FOUND, INDEX

HASTY = dataclasses.replace(QUICK, retries=0, total_seconds=0.3, read_seconds=0.3)
READER = Credential("reader", "sesame", source="the tests")


async def tags(opened: RegistryClient, reference: Reference) -> tuple[str, ...]:
    return await opened.tags(reference)


def challenged(asked: Asked, realm: str, token: bytes) -> bytes:
    """A registry that wants a token from ``realm``, and the token server, at ``/token``."""
    if asked.path.startswith("/token"):
        return token
    if "authorization" in asked.headers:
        return FOUND
    return http(401, b"", ("WWW-Authenticate", f'Bearer realm="{realm}",service="tests"'))


def test_only_tags_that_an_image_can_have_are_listed() -> None:
    odd = ["1." + "9" * 5000, "a" * 129, "", "-1", "1.0!", "\x1b[0m", "a b", "é"]
    server = Hostile(lambda _: as_json({"name": "x", "tags": [*odd, "2.0", "1.0", "a" * 128]}))
    assert asking(server, tags) == ("1.0", "2.0", "a" * 128)


def test_one_deadline_holds_for_all_pages_of_tags() -> None:
    def page(asked: Asked) -> bytes:
        number = int(asked.path.rpartition("=")[2]) + 1 if "=" in asked.path else 0
        return as_json({"tags": [f"t{number}"]}, ("Link", f'</v2/team/image/tags/list?n={number}>; rel="next"'))

    server = Hostile(page, pause=0.1)
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        asking(server, tags, settings=HASTY)
    assert caught.value.reason is RegistryReason.TIMEOUT
    assert time.monotonic() - started < 5.0


def nested(levels: int) -> dict[str, bytes]:
    """Answers by the end of their path: an index in an index in an index."""
    body, answers = INDEX, {}
    for _ in range(levels):
        found = compute_digest(body)
        answers[found] = http(200, body, ("Content-Type", OCI_INDEX))
        row = {"mediaType": OCI_INDEX, "digest": found, "size": len(body)}
        body = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [row]}).encode()
    return answers | {"1.0": http(200, body, ("Content-Type", OCI_INDEX))}


async def judged(opened: RegistryClient, reference: Reference) -> str:
    (found,) = await judge_architectures(opened, reference, (Architecture.ARM64,))
    return found.reason


def test_one_deadline_holds_for_all_of_an_image() -> None:
    answers = nested(DEEPEST - 1)
    server = Hostile(lambda asked: answers.get(asked.path.rpartition("/")[2], http(200)), pause=0.12)
    started = time.monotonic()
    assert "did not finish within 0" in asking(server, judged, settings=HASTY)
    assert time.monotonic() - started < 3.0


@pytest.mark.parametrize("link", ["<http://[::1>; rel=next", "<x>; rel=next", "<//:99999999/?n=1>; rel=next"])
def test_a_link_to_the_next_page_that_is_not_a_url_is_malformed(link: str) -> None:
    with pytest.raises(RegistryError, match=r"malformed response: .* sent an invalid link to the next page of tags"):
        asking(Hostile(lambda _: as_json({"tags": ["a"]}, ("Link", link))), tags)


# Bounds on one image


@pytest.mark.parametrize(
    "body",
    [b'{"manifests":[' + b"{}," * 20_000 + b"{}]}", b"{" + b",".join(b'"%x":0' % n for n in range(26_000)) + b"}"],
)
def test_a_document_with_too_many_values_is_not_decoded(body: bytes) -> None:
    found = "too large: a JSON document has more than 25000 values"

    async def read(opened: RegistryClient, reference: Reference) -> None:
        with pytest.raises(RegistryError, match=found):
            await opened.manifest(reference)
        descriptor = Descriptor("application/json", compute_digest(body), len(body))
        with pytest.raises(RegistryError, match=found):
            await opened.blob(reference, descriptor, limit=len(body))

    settings = dataclasses.replace(PATIENT, values_limit=25_000)
    asking(Hostile(lambda _: http(200, body, ("Content-Type", OCI_INDEX))), read, settings=settings)


def test_one_image_takes_a_bounded_number_of_requests() -> None:
    """An index of entries without platforms, each behind redirects."""
    rows = [{"mediaType": OCI_INDEX, "digest": f"sha256:{number:064x}", "size": len(INDEX)} for number in range(64)]
    index = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows}).encode()

    def answer(asked: Asked) -> bytes:
        if asked.path.endswith("/1.0"):
            return http(200, index, ("Content-Type", OCI_INDEX))
        return http(307, b"", ("Location", f"{asked.path}x")) if asked.path.count("x") < 5 else http(404)

    server = Hostile(answer)
    reason = asking(server, judged, settings=dataclasses.replace(PATIENT, requests_limit=50))
    assert len(server.asked) <= 50
    assert "can't be read" in reason


def test_a_config_has_a_limit() -> None:
    server = Hostile(lambda _: http(200, b"x"))

    async def read(opened: RegistryClient, reference: Reference) -> None:
        await opened.blob(reference, Descriptor("application/json", compute_digest(b"x"), 2000), limit=4000)

    with pytest.raises(RegistryError, match="too large: the blob has 2000 bytes; the limit is 1000"):
        asking(server, read, settings=dataclasses.replace(PATIENT, blob_limit=1000))
    assert server.asked == []


# Addresses that a registry may not name


def test_a_registry_elsewhere_may_not_name_a_token_server_on_loopback() -> None:
    server = Hostile(lambda asked: challenged(asked, f"http://{server.host}/token", as_json({"token": "t"})))
    with pytest.raises(RegistryError) as caught:
        asking(server, digest, credentials=Known(READER), elsewhere=True)
    assert caught.value.reason is RegistryReason.REJECTED_HTTP
    assert [asked.path for asked in server.asked if "/token" in asked.path] == []
    assert asking(server, digest, credentials=Known(READER)).startswith("sha256:")


LINK_LOCAL = ["169.254.169.254", "169.254.170.23", "2852039166", "0xa9fea9fe", "[fe80::1]", "[fd00:ec2::254]"]


@pytest.mark.parametrize(("host", "status"), [("169.254.169.254", 302), ("[::ffff:169.254.169.254]", 401)])
def test_instance_metadata_is_not_connected_to(host: str, status: int) -> None:
    where = (
        ("Location", f"https://{host}/x") if status == 302 else ("WWW-Authenticate", f'Bearer realm="https://{host}/x"')
    )
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        asking(Hostile(lambda _: http(status, b"", where)), digest, credentials=Known(READER))
    assert "is a link-local address" in str(caught.value)
    assert time.monotonic() - started < 5.0


def test_a_name_for_a_link_local_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolved(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(2, 1, 6, "", ("169.254.169.254", 443))]

    def redirected(_: Asked) -> bytes:
        return http(302, b"", ("Location", "https://storage.example/x"))

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", resolved)
    started = time.monotonic()
    with pytest.raises(RegistryError, match=r"can't resolve storage\.example"):
        asking(Hostile(redirected), digest)
    assert time.monotonic() - started < 5.0


def test_which_addresses_are_link_local() -> None:
    assert all(is_link_local(host) for host in [*LINK_LOCAL, "169.254.169.254:443", "fe80::1", "[fe80::1]:80"])
    others = ["quay.io", "10.0.0.1", "127.0.0.1:5000", "[::1]:5000", "::1", "fd00::1", "feed", "registry:5000", ""]
    assert not any(is_link_local(host) for host in others)


# Several sources of credentials


def guarded(asked: Asked) -> bytes:
    """A registry that lets only ``READER`` in."""
    right = base64.b64encode(f"{READER.username}:{READER.password}".encode()).decode()
    if asked.headers.get("authorization") == f"Basic {right}":
        return FOUND
    return http(401, b"", ("WWW-Authenticate", 'Basic realm="tests"'))


class Failing:
    """A source that can't say, such as a credential helper that is not installed."""

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        detail = "the helper is not on PATH"
        raise RegistryError(RegistryReason.CREDENTIALS, detail, reference)


def test_a_source_is_asked_when_what_the_others_know_is_rejected() -> None:
    stale, right, last = Known(Credential("stale", "x")), Known(READER), Known(Credential("last", "x"))
    chain = Known(), Failing(), stale, right, last
    assert asking(Hostile(guarded), digest, credentials=chain).startswith("sha256:")
    assert [len(each.asked) for each in (stale, right, last)] == [1, 1, 0]


def test_all_of_many_credentials_are_tried_and_copies_once() -> None:
    wrong = [Credential(f"user{number}", "x", source=f"Secret {number}") for number in range(20)]
    copies = [dataclasses.replace(wrong[0], source=f"Secret copy{number}") for number in range(20)]
    server = Hostile(guarded)
    assert asking(server, digest, credentials=Known(*wrong, *copies, READER)).startswith("sha256:")
    assert len([asked for asked in server.asked if "authorization" in asked.headers]) == len(wrong) + 1


def test_a_source_that_fails_counts_if_no_other_has_a_credential() -> None:
    with pytest.raises(RegistryError) as caught:
        asking(Hostile(guarded), digest, credentials=(Failing(), Known()))
    assert caught.value.reason is RegistryReason.CREDENTIALS
    wrong = Failing(), Known(Credential("wrong", "x", source="Secret a/b"))
    with pytest.raises(RegistryError) as caught:
        asking(Hostile(guarded), digest, credentials=wrong)
    assert caught.value.reason is RegistryReason.DENIED
    assert "sent as wrong (Secret a/b)" in str(caught.value)
