"""Whatever a registry, a token server or a file of credentials says ends in a result or in one line, and soon."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import time
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.registry.credentials.docker_config import DockerConfig, DockerConfigError
from multiarch.registry.credentials.model import Credential
from multiarch.registry.credentials.pull_secrets import (
    DOCKER_CFG,
    DOCKER_CONFIG_JSON,
    PullSecretError,
    PullSecrets,
    read_secret,
)
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import MANIFEST_TYPES, Descriptor, Manifest, read_object
from multiarch.registry.reference import Reference, parse_reference
from tests.registry.hostile import Asked, Hostile
from tests.registry.images import QUICK, Known, client
from tests.registry.server import digest_of

FUZZ = settings(deadline=None, max_examples=100)
HASTY = dataclasses.replace(QUICK, retries=1, total_seconds=0.15, read_seconds=0.1, redirects=2)
SECONDS = 10.0
"""The most that one example may take: four operations of 0.15 s, on a busy machine."""
SECRET = "hunter2-of-tests"  # noqa: S105

_TEXT = st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=30)
_NUMBER = st.one_of(
    st.integers().map(str),
    st.integers(1, 5000).map(lambda count: "9" * count),
    st.sampled_from(["-0", "1e999", "0.5", "NaN", "", "+1", "0x10", "1_0", "²", "Mon, 01 Jan 0001 00:00:00 -0000"]),
)
_ADDRESS = st.one_of(
    _TEXT,
    st.builds("http://127.0.0.1:{}/x".format, _NUMBER),
    st.sampled_from(
        ["https://169.254.169.254/", "http://[::1", "//", "?n=1", "/v2/x", "ftp://a", "https://a@b/", "http://\x80/"]
    ),
)
_HEADER = st.one_of(
    st.tuples(st.sampled_from(["Content-Length", "Retry-After", "Age"]), _NUMBER),
    st.tuples(st.just("Location"), _ADDRESS),
    st.tuples(st.just("Link"), st.builds('<{}>; rel="next"'.format, _ADDRESS) | _TEXT),
    st.tuples(st.just("Content-Type"), st.sampled_from(MANIFEST_TYPES) | _TEXT),
    st.tuples(st.just("Content-Encoding"), st.sampled_from(["gzip", "identity", ""]) | _TEXT),
    st.tuples(st.just("Docker-Content-Digest"), st.sampled_from(["sha256:1", digest_of(b"{}"), "md5:0"]) | _TEXT),
    st.tuples(st.just("Transfer-Encoding"), st.sampled_from(["chunked", "gzip"])),
    st.tuples(
        st.just("WWW-Authenticate"),
        st.builds('Bearer realm="{}",scope="{}"'.format, st.just("HERE") | _ADDRESS, _TEXT)
        | st.just("Basic x=y")
        | _TEXT,
    ),
    st.tuples(st.sampled_from(["Set-Cookie", "Connection", "Server"]), _TEXT),
)
_KEYS = st.sampled_from(
    [
        *(
            "token",
            "access_token",
            "expires_in",
            "errors",
            "code",
            "message",
            "tags",
            "manifests",
            "mediaType",
            "digest",
        ),
        *("auths", "auth", "username", "password", "identitytoken", "quay.io", "https://index.docker.io/v1/", "*.i[o"),
        *("credHelpers", "credsStore", "Username", "Secret"),
    ]
)
_PAIR = base64.b64encode(f"me:{SECRET}".encode()).decode()
_WORD = st.sampled_from([_PAIR, _PAIR[:-1], f"{_PAIR}\n", "x", "", "\ud800", "1." * 60 + "a", "latest", "a" * 200])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORD | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(max_size=5), inner, max_size=5),
    max_leaves=15,
)
_BODY = st.one_of(
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=100),
    _NUMBER.map(lambda number: f'{{"token": "t", "expires_in": {number}, "schemaVersion": {number}}}'.encode()),
    st.sampled_from([b"", b"{}", b"[" * 20_000, b'{"tags": ["a"]}', b'{"errors": [{"message": "\x1b[0m"}]}']),
)
_STATUS = st.sampled_from([200, 200, 200, 401, 401, 302, 304, 403, 404, 429, 500, 206, 100, 999])


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Any answer; mostly one that HTTP allows."""
    if draw(st.integers(0, 30)) == 0:
        return draw(st.binary(max_size=60))
    body = draw(_BODY)
    headers = draw(st.lists(_HEADER, max_size=5))
    if not {name for name, _ in headers} & {"Content-Length", "Transfer-Encoding"}:
        headers.append(("Content-Length", str(len(body))))
    rows = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {draw(_STATUS)} X\r\n{rows}\r\n".encode("latin-1", "replace") + body


def _read(found: object) -> None:
    if isinstance(found, Manifest):
        read_object(found.content, parse_reference("quay.io/app:1"))


@pytest.mark.exhaustive
@FUZZ
@given(st.lists(answers(), min_size=1, max_size=6))
def test_any_answers_end_in_a_result_or_one_line(given_answers: list[bytes]) -> None:
    left = iter(given_answers)

    def answer(_: Asked) -> bytes:
        return next(left, given_answers[-1]).replace(b"HERE", f"http://{server.host}/token".encode())

    server = Hostile(answer)
    errors: list[str] = []
    blob = Descriptor("any", digest_of(b"{}"), 2)

    async def read() -> None:
        async with server.running(), client(HASTY, Known(Credential("me", SECRET))) as opened:
            reference = Reference(server.host, "team/image", "1.0", None)
            works = (opened.manifest, opened.tags, lambda at: opened.blob(at, blob, limit=100))
            for work in works:
                try:
                    _read(await work(reference))
                except RegistryError as error:
                    errors.append(str(error))

    started = time.monotonic()
    asyncio.run(read())
    for error in errors:
        assert error.isprintable()
        assert SECRET not in error
        assert "set_int_max_str_digits" not in error
    assert time.monotonic() - started < SECONDS


@given(_JSON, st.sampled_from(["quay.io/team/app", "nginx", "registry:5000/a", "[::1]:5000/a"]))
@settings(max_examples=100)
def test_any_configuration_of_docker_is_read_or_rejected(content: object, image: str) -> None:
    if not isinstance(content, dict):
        content = {"auths": content}
    try:
        config = DockerConfig(Path("config.json"), content)
        with patch.dict("os.environ", PATH="/nowhere"):  # has no helper
            shown = repr(asyncio.run(config.for_repository(parse_reference(image))))
    except (DockerConfigError, RegistryError) as error:
        shown = str(error)
    assert SECRET not in shown
    # The name of a helper is shown.
    assert _PAIR not in shown or _PAIR in json.dumps([content.get("credsStore"), content.get("credHelpers")])


@given(
    _JSON, st.sampled_from([DOCKER_CFG, DOCKER_CONFIG_JSON]), st.sampled_from(["quay.io/a/b", "nginx", "[::1]:5000/a"])
)
@settings(max_examples=100)
def test_any_pull_secret_is_read_or_rejected(content: object, kind: str, image: str) -> None:
    key = {DOCKER_CFG: ".dockercfg", DOCKER_CONFIG_JSON: ".dockerconfigjson"}[kind]
    encoded = base64.b64encode(json.dumps(content).encode()).decode()
    for data in ({"data": {key: encoded}}, {"stringData": {key: json.dumps(content)}}, {"data": content}):
        secret: Mapping[str, object] = {"type": kind, "metadata": content, **data}
        try:
            secrets = PullSecrets([read_secret(secret)])
            shown = repr(asyncio.run(secrets.for_repository(parse_reference(image))))
        except PullSecretError as error:
            shown = str(error)
        assert SECRET not in shown
