"""No request leaves for a server that the policy rejects: stand-ins note what reaches them."""

from __future__ import annotations

import asyncio

import pytest

from multiarch.registry.errors import RegistryReason
from multiarch.registry.model import compute_digest
from tests.registry.hostile import Asked, Hostile, http
from tests.registry.images import Known
from tests.registry.names import FOUND, HERE, INDEX, READER, Names, asked_for, bounded, listener, port_of

pytestmark = pytest.mark.usefixtures("no_proxies")


REFERENCES = {
    "127.0.0.1:PORT/x": "127.0.0.1 is not public",
    "0177.0.0.1:PORT/x": "0177.0.0.1 has the address 127.0.0.1, which is not public",
    "[::ffff:7f00:1]:PORT/x": "::ffff:7f00:1 is not public",
    "169.254.169.254/latest/meta-data": "169.254.169.254 is link-local or for instance metadata",
    "localhost:PORT/x": "localhost is a cluster-internal name",
    "kubernetes.default.svc:PORT/x": "kubernetes.default.svc is a cluster-internal name",
    "inside.example:PORT/x": "inside.example has the address 127.0.0.1, which is not public",
    "imds.example/x": "imds.example has the address 169.254.169.254, which is link-local or for instance metadata",
}


@pytest.mark.parametrize(("image", "detail"), REFERENCES.items(), ids=list(REFERENCES))
def test_an_image_s_name_makes_nothing_connect_inside(monkeypatch: pytest.MonkeyPatch, image: str, detail: str) -> None:
    answers = {
        "inside.example": [["127.0.0.1"]],
        "localhost": [["127.0.0.1"]],
        "imds.example": [["169.254.169.254"]],
    }
    Names(answers).replace(monkeypatch)

    async def scenario() -> tuple[object, list[object]]:
        async with listener() as (port, connected):
            return await asked_for(image.replace("PORT", str(port)), bounded(networks=())), connected

    found, connected = asyncio.run(scenario())
    assert found == (RegistryReason.NOT_ALLOWED, detail)
    assert connected == []


# One for each way of writing it; the spellings themselves are in test_egress.py.
TARGETS = [
    "https://127.0.0.1:PORT/", "https://0x7f000001:PORT/", "https://[::ffff:7f00:1]:PORT/", "https://127。0。0。1:PORT/",
    "https://ⓛocalhost:PORT/", "https://inside.example:PORT/", "https://inside%00.example:PORT/",
    "https://169.254.169.254/latest/meta-data/iam/", "https://kubernetes.default.svc:PORT/api", "//127.0.0.1:PORT/",
    "http://127.0.0.1:PORT/", "https://registry.example@127.0.0.1:PORT/", "https:/127.0.0.1:PORT/",
    "https://registry.example#@127.0.0.1:PORT/", "file:///etc/passwd",
]  # fmt: skip


def elsewhere(kind: str, target: str) -> bytes:
    """A redirect, or a challenge that names a token server."""
    encoded = target.encode().decode("latin-1")
    if kind == "redirect":
        return http(307, b"", ("Location", encoded))
    return http(401, b"", ("WWW-Authenticate", f'Bearer realm="{encoded}",service="x"'))


@pytest.mark.parametrize(
    ("target", "kind"), [*((each, "redirect") for each in TARGETS), *((each, "realm") for each in TARGETS[::4])]
)
def test_a_registry_makes_nothing_connect_inside(monkeypatch: pytest.MonkeyPatch, target: str, kind: str) -> None:
    """The registry is at 127.0.0.2, which is allowed, and what it names at 127.0.0.1, which is not."""
    Names({HERE: [["127.0.0.2"]], "inside.example": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]}).replace(monkeypatch)

    async def scenario() -> tuple[object, list[object], list[Asked]]:
        async with listener() as (port, connected):
            answer = elsewhere(kind, target.replace("PORT", str(port)))
            server = Hostile(lambda _: answer, address="127.0.0.2")
            async with server.running():
                image = f"{HERE}:{port_of(server)}/team/image"
                found = await asked_for(image, bounded(networks=["127.0.0.2/32"]), Known(READER))
                return found, connected, server.asked

    found, connected, asked = asyncio.run(scenario())
    assert connected == []
    assert isinstance(found, tuple)
    assert found[0] in {
        RegistryReason.NOT_ALLOWED,
        RegistryReason.MALFORMED,
        RegistryReason.REJECTED_HTTP,
        RegistryReason.REDIRECTS,
        RegistryReason.UNREACHABLE,
    }
    assert not any("authorization" in each.headers for each in asked)


def test_every_hop_of_a_chain_of_redirects_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names({HERE: [["127.0.0.2"]], "b.example": [["127.0.0.2"]], "c.example": [["127.0.0.1"]]})
    names.replace(monkeypatch)

    async def scenario() -> tuple[object, list[object], list[Asked]]:
        async with listener() as (port, connected):

            def chain(asked: Asked) -> bytes:
                host = asked.headers["host"].partition(":")[0]
                if host == HERE:
                    return http(302, b"", ("Location", f"http://b.example:{port_of(server)}/next"))
                return http(302, b"", ("Location", f"https://c.example:{port}/"))

            server = Hostile(chain, address="127.0.0.2")
            wanted = bounded(networks=["127.0.0.2/32"], plain_http=[HERE, "b.example"])
            async with server.running():
                found = await asked_for(f"{HERE}:{port_of(server)}/team/image", wanted)
                return found, connected, server.asked

    found, connected, asked = asyncio.run(scenario())
    assert found == (RegistryReason.NOT_ALLOWED, "c.example has the address 127.0.0.1, which is not public")
    assert connected == []
    assert [each.path for each in asked] == ["/v2/team/image/manifests/latest", "/next"]


def test_a_name_that_changes_its_address_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer is harmless, and the next one is not: each connection uses only what was checked for it."""
    names = Names({HERE: [["127.0.0.2"], ["127.0.0.1"], ["127.0.0.1", "127.0.0.2"], ["169.254.169.254"]]})
    names.replace(monkeypatch)

    async def scenario() -> tuple[list[object], list[object], int]:
        server = Hostile(lambda _: FOUND, address="127.0.0.2")
        async with server.running(), listener("127.0.0.1", int(port_of(server))) as (_, connected):
            image = f"{HERE}:{port_of(server)}/team/image"
            wanted = bounded(networks=["127.0.0.2/32"], plain_http=[image.partition("/")[0]])
            return [await asked_for(image, wanted) for _ in range(4)], connected, len(server.asked)

    found, connected, asked = asyncio.run(scenario())
    rejected = "registry.example has the address {}, which is "
    assert found == [
        compute_digest(INDEX),
        (RegistryReason.NOT_ALLOWED, rejected.format("127.0.0.1") + "not public"),
        compute_digest(INDEX),
        (RegistryReason.NOT_ALLOWED, rejected.format("169.254.169.254") + "link-local or for instance metadata"),
    ]
    assert connected == []
    assert asked == 2


def test_only_names_that_the_operator_gives_are_searched_for_in_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names({}).replace(monkeypatch)
    wanted = bounded(registries=["registry.tools:5000", "*"], plain_http=["plain.tools"])
    for image in ("argocd-server.argocd:443/x", "registry.tools:5000/x", "plain.tools/x"):
        asyncio.run(asked_for(image, wanted))
    assert set(names.asked) == {"argocd-server.argocd.", "registry.tools", "plain.tools"}


def test_a_registry_that_is_not_allowed_is_not_even_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names({}).replace(monkeypatch)
    found = asyncio.run(asked_for("quay.io/team/image", bounded(registries=["docker.io", HERE])))
    assert found == (RegistryReason.NOT_ALLOWED, "quay.io is not in registries.allowed")
    assert names.asked == []


def test_loopback_gets_plain_http_only_if_it_is_named_and_allowed() -> None:
    async def scenario() -> list[object]:
        server = Hostile(lambda _: FOUND)
        async with server.running():
            image = f"{server.host}/team/image"
            return [
                await asked_for(image, bounded(plain_http=[])),
                await asked_for(image, bounded(plain_http=[server.host], networks=[])),
                await asked_for(image, bounded(plain_http=[server.host])),
                len(server.asked) > 0 and [asked.path for asked in server.asked if "manifests" in asked.path],
            ]

    no_http, no_network, found, asked = asyncio.run(scenario())
    assert isinstance(no_http, tuple)
    assert no_http[0] in {RegistryReason.REJECTED_HTTP, RegistryReason.UNREACHABLE}
    assert no_network == (RegistryReason.NOT_ALLOWED, "127.0.0.1 is not public")
    assert found == compute_digest(INDEX)
    assert asked == ["/v2/team/image/manifests/latest"]
