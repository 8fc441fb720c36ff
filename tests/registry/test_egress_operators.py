"""Mirrors, credentials, DNS and proxies of a client that reads images whose names are not trusted."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from multiarch.registry.credentials.model import Credential
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import compute_digest
from multiarch.registry.reference import Reference, parse_reference
from tests.registry.hostile import Asked, Hostile, as_json, http
from tests.registry.images import Known, client
from tests.registry.names import BASIC, FOUND, HERE, INDEX, READER, Names, asked_for, bounded, port_of, web_proxy

pytestmark = pytest.mark.usefixtures("no_proxies")


def _mirror(folder: Path, registry: str, url: str) -> None:
    (folder / registry).mkdir()
    (folder / registry / "hosts.toml").write_text(f'[host."{url}"]\n', encoding="utf-8")


def test_only_a_registry_with_plain_http_may_redirect_to_plain_http(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mirror with plain HTTP that ``plain_http`` does not name may only redirect to itself."""
    Names({"mirror.example": [["127.0.0.1"]], HERE: [["127.0.0.1"]]}).replace(monkeypatch)

    async def scenario() -> tuple[object, list[str]]:
        server = Hostile(lambda _: http(307, b"", ("Location", f"http://{HERE}:{port_of(server)}/admin?x")))
        async with server.running():
            _mirror(tmp_path, "quay.io", f"http://mirror.example:{port_of(server)}")
            found = await asked_for("quay.io/team/image", bounded(mirrors=tmp_path))
            return found, [asked.path for asked in server.asked]

    found, paths = asyncio.run(scenario())
    assert isinstance(found, tuple)
    assert "mirrors: mirror.example" in found[1]
    assert RegistryReason.REJECTED_HTTP in found[1]
    assert [path for path in paths if "admin" in path] == []


@pytest.mark.parametrize("networks", [["127.0.0.1/32"], []])
def test_a_mirror_may_have_a_cluster_internal_name_but_its_address_must_be_allowed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, networks: list[str]
) -> None:
    names = Names({"mirror.registry.svc": [["127.0.0.1"]]}).replace(monkeypatch)

    async def scenario() -> tuple[object, int]:
        server = Hostile(lambda _: FOUND)
        async with server.running():
            _mirror(tmp_path, "quay.io", f"http://mirror.registry.svc:{port_of(server)}")
            wanted = bounded(registries=["quay.io"], networks=networks, plain_http=[], mirrors=tmp_path)
            return await asked_for("quay.io/team/image", wanted), len(server.asked)

    found, asked = asyncio.run(scenario())
    assert "mirror.registry.svc" in names.asked
    assert (found, asked) == (compute_digest(INDEX), 1) if networks else asked == 0


def test_a_mirror_s_name_is_not_open_to_images(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Names({"mirror.registry.svc": [["127.0.0.1"]]}).replace(monkeypatch)

    async def scenario() -> tuple[object, object]:
        _mirror(tmp_path, "quay.io", "https://mirror.registry.svc:1")
        async with client(bounded(mirrors=tmp_path)) as opened:
            results = []
            for image in ("quay.io/team/image", "mirror.registry.svc:6379/x"):
                with pytest.raises(RegistryError) as caught:
                    await opened.manifest(parse_reference(image))
                results.append(caught.value.detail)
            return results[0], results[1]

    assert asyncio.run(scenario())[1] == "mirror.registry.svc is a cluster-internal name"


# Credentials


def test_credentials_do_not_follow_a_redirect_nor_answer_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    Names({HERE: [["127.0.0.1"]], "thief.example": [["127.0.0.1"]]}).replace(monkeypatch)

    async def scenario() -> tuple[object, list[Asked]]:
        def answer(asked: Asked) -> bytes:
            if asked.headers["host"].startswith("thief"):
                return http(401, b"", ("WWW-Authenticate", 'Basic realm="give"'))
            if asked.headers.get("authorization") != BASIC:
                return http(401, b"", ("WWW-Authenticate", 'Basic realm="x"'))
            return http(307, b"", ("Location", f"http://thief.example:{port_of(server)}/x"))

        server = Hostile(answer)
        async with server.running():
            image = f"{HERE}:{port_of(server)}/team/image"
            found = await asked_for(image, bounded(plain_http=[HERE, "thief.example"]), Known(READER))
            return found, server.asked

    found, asked = asyncio.run(scenario())
    assert isinstance(found, tuple)
    assert found[0] is RegistryReason.DENIED
    stolen = [each for each in asked if each.headers["host"].startswith("thief")]
    assert stolen
    assert not any({"authorization", "cookie"} & set(each.headers) for each in stolen)


def test_a_token_server_elsewhere_gets_only_that_registry_s_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {HERE: [["127.0.0.1"]], "other.example": [["127.0.0.1"]], "tokens.example": [["127.0.0.1"]]}
    Names(names).replace(monkeypatch)

    class OnlyHere:
        """Knows a password for one registry, as a pull secret does."""

        async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
            return (READER,) if reference.registry.startswith(HERE) else ()

    async def scenario() -> list[tuple[str, str]]:
        def answer(asked: Asked) -> bytes:
            if asked.path.startswith("/token"):
                return as_json({"token": "t"})
            if asked.headers.get("authorization") == "Bearer t":
                return FOUND
            realm = f'Bearer realm="http://tokens.example:{port_of(server)}/token",service="x"'
            return http(401, b"", ("WWW-Authenticate", realm))

        server = Hostile(answer)
        async with server.running():
            wanted = bounded(plain_http=list(names))
            for host in (HERE, "other.example"):
                assert await asked_for(f"{host}:{port_of(server)}/team/image", wanted, OnlyHere()) == compute_digest(
                    INDEX
                )
            return [
                (each.headers["host"].partition(":")[0], each.headers.get("authorization", ""))
                for each in server.asked
                if each.path.startswith("/token")
            ]

    assert asyncio.run(scenario()) == [("tokens.example", BASIC), ("tokens.example", "")]


# DNS


def test_a_dns_server_that_does_not_answer_keeps_no_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    Names({HERE: [["127.0.0.1"]]}, silent={".slow.example": 1.5}).replace(monkeypatch)

    async def scenario() -> tuple[object, float]:
        server = Hostile(lambda _: FOUND)
        async with server.running(), client(bounded()) as opened:
            slow = [
                asyncio.create_task(opened.manifest(parse_reference(f"a{number}.slow.example/x")))
                for number in range(100)
            ]
            await asyncio.sleep(0.1)
            started = time.monotonic()
            found = await opened.manifest(parse_reference(f"{HERE}:{port_of(server)}/team/image"))
            took = time.monotonic() - started
            for task in slow:
                task.cancel()
            await asyncio.gather(*slow, return_exceptions=True)
            return found.digest, took

    found, took = asyncio.run(scenario())
    assert found == compute_digest(INDEX)
    assert took < 1.0


# Proxies


def test_with_a_proxy_names_are_checked_and_the_proxy_resolves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Names({}).replace(monkeypatch)

    async def scenario() -> tuple[list[object], list[str]]:
        async with web_proxy() as (port, asked):
            monkeypatch.setenv("HTTPS_PROXY", f"http://u:secret@127.0.0.1:{port}")
            images = ["quay.example/x", "localhost:5000/x", "kubernetes.default.svc/x", "169.254.169.254/x", "10.1/x"]
            return [await asked_for(image, bounded(networks=())) for image in images], asked

    found, asked = asyncio.run(scenario())
    assert [each[0] for each in found if isinstance(each, tuple)] == [
        RegistryReason.UNREACHABLE,
        *[RegistryReason.NOT_ALLOWED] * 4,
    ]
    assert [head.partition("\r\n")[0] for head in asked] == ["CONNECT quay.example:443 HTTP/1.1"]
    assert names.asked == []
