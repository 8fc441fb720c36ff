"""Mirrors as containerd's hosts.toml names them, in front of a real registry."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multiarch.registry.endpoints import Endpoint, HostsFileError, list_endpoints
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import compute_digest
from multiarch.registry.reference import Reference, parse_reference
from multiarch.registry.settings import RegistrySettings, is_loopback
from tests.registry import server
from tests.registry.hostile import Asked, Hostile, digest, http
from tests.registry.images import QUICK, READER, Known, asking, client, push
from tests.registry.names import FOUND, INDEX


def written(folder: Path, registry: str, text: str) -> RegistrySettings:
    (folder / registry).mkdir(parents=True)
    (folder / registry / "hosts.toml").write_text(text)
    return dataclasses.replace(QUICK, mirrors=folder)


def test_without_mirrors_the_registry_answers_itself_and_docker_hub_from_where_its_api_is() -> None:
    assert list_endpoints("quay.io", QUICK) == (Endpoint("quay.io"),)
    assert list_endpoints("docker.io", QUICK) == (Endpoint("registry-1.docker.io"),)


def test_only_loopback_and_what_is_allowed_may_be_plain() -> None:
    allowed = dataclasses.replace(QUICK, plain_http=frozenset({"registry.local", "other.local:5000"}))
    hosts = ["localhost:5000", "127.0.0.1:1", "[::1]:5000", "registry.local:80", "registry.local", "other.local:5000"]
    assert [list_endpoints(host, allowed)[0].scheme for host in hosts] == [None] * 6
    for host in ("other.local", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1:5000"):
        assert list_endpoints(host, allowed)[0].scheme == "https"
        assert not is_loopback(host)


def test_a_file_with_everything_is_read(tmp_path: Path) -> None:
    settings = written(
        tmp_path,
        "docker.io",
        """
        server = "https://registry-1.docker.io"
        [host."https://other.example.com"]
        capabilities = ["pull"]
        [host."https://mirror.example.com"]
        ca = ["extra.pem", "/etc/ssl/mirror.pem"]
        [host."http://plain.example.com:5000/v2/hub"]
        capabilities = ["pull", "resolve"]
        override_path = true
        skip_verify = true
        dial_timeout = "1s"
        [host."bare.example.com/prefix"]
        """,
    )
    assert list_endpoints("docker.io", settings) == (
        Endpoint(
            "mirror.example.com",
            namespace="docker.io",
            ca_files=(tmp_path / "docker.io" / "extra.pem", Path("/etc/ssl/mirror.pem")),
        ),
        Endpoint(
            "plain.example.com:5000",
            path="/v2/hub",
            scheme="http",
            namespace="docker.io",
            verify=False,
        ),
        Endpoint("bare.example.com", path="/prefix/v2", namespace="docker.io"),
        Endpoint("registry-1.docker.io"),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server = ", "invalid TOML (Invalid value (at"),
        ("server = 5", "server: Input should be a valid string"),
        ("sever = 'https://quay.io'", "sever: the key is not supported"),
        ("[host]\n'https://m.example' = 1", "host.https://m.example: Input should be"),
        ("[host.'ftp://m.example']", "'ftp://m.example' must be an https:// or http:// URL"),
        ("[host.'https://user:secret@m.example']", "the URL must not contain credentials"),
        ("server = " + "[" * 100_000, "invalid TOML ("),
        ("[host.'https://m.example:port']", "invalid URL"),
        ("[host.'https://m.example']\ncapabilities = ['pul']", "capabilities.0: Input should be 'pull', 'resolve'"),
        ("[host.'https://m.example']\nheader = {x = 'secret'}", "header: the key is not supported"),
    ],
)
def test_a_file_that_is_wrong_is_rejected_with_its_name(tmp_path: Path, text: str, words: str) -> None:
    settings = written(tmp_path, "quay.io", text)
    with pytest.raises(HostsFileError) as caught:
        list_endpoints("quay.io", settings)
    assert str(caught.value).startswith(f"{tmp_path / 'quay.io' / 'hosts.toml'}: ")
    assert words in str(caught.value)
    assert "user:secret" not in str(caught.value)

    with pytest.raises(RegistryError, match="misconfigured"):
        asking(lambda opened: opened.manifest(parse_reference("quay.io/team/image")), settings)


_TOML = st.recursive(
    st.booleans() | st.integers(0, 9) | st.sampled_from(["pull", "ca.pem", "https://m.example", "x y"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["host", "server", "ca", "header", "capabilities", "https://m"]), inner)
    ),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | _TOML.map(lambda value: f"host = {json.dumps(value)}".replace(":", "=")))
def test_any_file_is_read_or_rejected(tmp_path: Path, text: str) -> None:
    file = tmp_path / "quay.io" / "hosts.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode(errors="replace"))
    with contextlib.suppress(HostsFileError):
        list_endpoints("quay.io", dataclasses.replace(QUICK, mirrors=tmp_path))


def test_a_file_that_can_not_be_read_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "quay.io").mkdir()
    (tmp_path / "quay.io" / "hosts.toml").symlink_to("hosts.toml")
    with pytest.raises(HostsFileError, match=r"can't read the file \(Too many levels of symbolic links\)"):
        list_endpoints("quay.io", dataclasses.replace(QUICK, mirrors=tmp_path))


def through(tmp_path: Path, mirror: Hostile, *, origin: bytes = http(404), known: Known | None = None) -> str:
    """The digest of an image that is read through a mirror; both answer on loopback."""

    async def run() -> str:
        behind = Hostile(lambda _: origin)
        async with mirror.running(), behind.running():
            wanted = written(tmp_path, f"{behind.host.replace(':', '_')}_", f'[host."http://{mirror.host}"]\n')
            async with client(dataclasses.replace(wanted, retries=0), known or ()) as opened:
                return await digest(opened, Reference(behind.host, "team/image", "1.0", None))

    return asyncio.run(run())


def test_a_mirror_is_asked_first_and_told_for_whom(tmp_path: Path) -> None:
    mirror = Hostile(lambda _: FOUND)
    assert through(tmp_path, mirror) == compute_digest(INDEX)
    (asked,) = mirror.asked
    assert asked.path.startswith("/v2/team/image/manifests/1.0?ns=127.0.0.1:")


@pytest.mark.parametrize("fault", [http(500), http(200, b"<html>"), FOUND[:-9]])
def test_a_mirror_that_fails_is_passed_over_after_one_request(tmp_path: Path, fault: bytes) -> None:
    mirror = Hostile(lambda _: fault)
    assert through(tmp_path, mirror, origin=FOUND) == compute_digest(INDEX)
    assert len(mirror.asked) == 1


def test_when_all_fail_the_origins_reason_counts_and_the_mirrors_are_named(tmp_path: Path) -> None:
    mirror = Hostile(lambda _: http(500))
    with pytest.raises(RegistryError, match=r"not found: .*; mirrors: 127\.0\.0\.1:\d+: server error"):
        through(tmp_path, mirror)


def test_a_mirrors_credentials_are_its_own(tmp_path: Path) -> None:
    def guarded(asked: Asked) -> bytes:
        return FOUND if "authorization" in asked.headers else http(401, b"", ("WWW-Authenticate", "Basic"))

    mirror, known = Hostile(guarded), Known(READER)
    assert through(tmp_path, mirror, known=known) == compute_digest(INDEX)
    assert known.asked == [f"{mirror.host}/team/image"]


@pytest.mark.registry
@pytest.mark.parametrize("more", ["skip_verify = true", "ca = 'CA'"])
def test_a_mirrors_certificate_may_be_trusted_for_it_alone(tmp_path: Path, more: str) -> None:
    with server.running(tls=True) as copy:
        pushed = push(copy)
        settings = written(tmp_path, "quay.io", f"[host.'https://{copy.host}']\n{more.replace('CA', str(copy.ca))}")
        found = asking(lambda opened: opened.manifest(parse_reference("quay.io/team/image:1.0")), settings)
        assert found.digest == pushed.digest
