"""The proxies that ``HTTPS_PROXY`` and its like name; a stand-in that notes requests takes their place."""

from __future__ import annotations

import asyncio
import base64
import dataclasses

import pytest

from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import parse_reference
from sandbox.cluster.programs import free_ports
from tests.registry.images import QUICK, READER, Known, client
from tests.registry.names import web_proxy

ONCE = dataclasses.replace(QUICK, retries=0, plain_http=frozenset({"plain.invalid"}))
pytestmark = pytest.mark.usefixtures("no_proxies")
IMAGE = "quay.invalid/team/image:1"


async def rejected(image: str = IMAGE) -> RegistryError:
    async with client(ONCE, Known(READER)) as registry:
        with pytest.raises(RegistryError) as caught:
            await registry.manifest(parse_reference(image))
    return caught.value


@pytest.mark.parametrize(
    "address", ["socks5://u:secret@127.0.0.1:1", "http://u:secret@[bad", "http://u:secret@a:99999"]
)
def test_an_address_that_is_not_a_proxy_is_named_by_its_variable_without_its_password(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    error = asyncio.run(rejected())
    assert error.reason is RegistryReason.MISCONFIGURED
    assert "HTTPS_PROXY is not a valid proxy for quay.invalid" in str(error)
    assert "secret" not in str(error)


def test_a_proxy_that_is_not_there_is_not_taken_for_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("HTTPS_PROXY", f"http://u:secret@127.0.0.1:{port}")
    error = asyncio.run(rejected())
    assert error.reason is RegistryReason.UNREACHABLE
    assert error.detail == "can't connect to the proxy for quay.invalid"


def test_a_proxy_gets_its_own_password_and_none_of_the_registry_s(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> tuple[RegistryError, list[str]]:
        async with web_proxy() as (port, asked):
            monkeypatch.setenv("HTTPS_PROXY", f"http://u:secret@127.0.0.1:{port}")
            return await rejected(), asked

    error, (head,) = asyncio.run(scenario())
    assert error.detail == "the proxy rejected a connection to quay.invalid"
    assert "secret" not in str(error)
    assert head.startswith("CONNECT quay.invalid:443 ")
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'u:secret').decode()}" in head
    assert "\r\nAuthorization:" not in head


def test_plain_http_goes_through_http_proxy_unless_no_proxy_names_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    image = "plain.invalid/team/image:1"

    async def scenario() -> tuple[RegistryError, list[str]]:
        async with web_proxy() as (port, asked):
            for name in ("HTTP_PROXY", "HTTPS_PROXY"):
                monkeypatch.setenv(name, f"127.0.0.1:{port}")
            assert (await rejected(image)).reason is RegistryReason.NOT_FOUND
            through = list(asked)
            monkeypatch.setenv("NO_PROXY", "plain.invalid")
            around = await rejected(image)
            assert asked == through
            return around, through

    around, through = asyncio.run(scenario())
    assert around.reason is RegistryReason.UNREACHABLE
    assert through[-1].startswith("GET http://plain.invalid/v2/team/image/manifests/1 ")
