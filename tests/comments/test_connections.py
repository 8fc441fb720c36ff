"""The token goes to a server that is trusted, and through the environment's proxy."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.comments import github, places
from multiarch.comments.errors import CommentError
from multiarch.comments.model import Action, Service
from multiarch.comments.posting import post
from multiarch.errors import MultiarchError
from sandbox.cluster import certificates
from tests.comments.stand_in import TOKEN, GitLabStandIn, StandIn, serving

AUTHORITY = certificates.authority()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("multiarch.comments.transport.sleep", slept.append)
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    return slept


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[StandIn]:
    pair = certificates.issue(AUTHORITY).write(tmp_path, "server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*pair)
    with serving(GitLabStandIn(), context) as server:
        yield server


def environment(url: str, **more: str) -> dict[str, str]:
    return {
        "CI_API_V4_URL": f"{url}/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_IID": "3",
        "GITLAB_TOKEN": TOKEN,
    } | more


def test_a_server_that_is_not_trusted_gets_no_token_and_is_asked_once(secure: StandIn, no_waiting: list[float]) -> None:
    with pytest.raises(CommentError, match=r"reached: its certificate is not trusted: .+ SSL_CERT_FILE"):
        post(places.comments(Service.GITLAB, environment(secure.url), 300), "digest", "review")
    assert (secure.requests, no_waiting) == ([], [])


def test_gitlabs_own_authority_is_trusted(secure: StandIn, tmp_path: Path) -> None:
    file, _ = AUTHORITY.write(tmp_path, "ca")
    own = environment(secure.url, CI_SERVER_TLS_CA_FILE=str(file))
    assert post(places.comments(Service.GITLAB, own, 300), "digest", "review").action is Action.CREATED


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("none")
    with pytest.raises(MultiarchError, match=r"ca\.pem is not a file of PEM certificates"):
        places.comments(Service.GITLAB, environment("https://gitlab.example.com", CI_SERVER_TLS_CA_FILE=str(file)), 300)


def test_the_environments_proxy_is_used_unless_it_excepts_the_server(
    secure: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pass-word@127.0.0.1:9")
    with pytest.raises(CommentError, match="can't be reached") as caught:
        post(places.comments(Service.GITLAB, environment(secure.url), 300), "digest", "review")
    assert "pass-word" not in str(caught.value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(CommentError, match="its certificate is not trusted"):
        post(places.comments(Service.GITLAB, environment(secure.url), 300), "digest", "review")


def test_an_invalid_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pass-word@[")
    with pytest.raises(MultiarchError, match="HTTPS_PROXY is not a valid proxy") as caught:
        places.comments(Service.GITLAB, environment("https://gitlab.example.com"), 300)
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("api", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://github.example.com/api/v3", "https://github.example.com/api/graphql"),
        ("https://api.example.ghe.com/", "https://api.example.ghe.com/graphql"),
    ],
)
def test_graphql_is_on_the_server_of_the_api(api: str, graphql: str) -> None:
    assert github._graphql(api) == graphql  # noqa: SLF001 (its answers are asked for elsewhere)
