"""How the kubelet and docker read credentials, case by case.

The cases are facts about https://github.com/kubernetes/kubernetes/tree/master/pkg/credentialprovider and
https://github.com/docker/cli/tree/master/cli/config, in words of our own.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path

import pytest

from multiarch.registry.credentials.auths import read_auths
from multiarch.registry.credentials.docker_config import DockerConfig
from multiarch.registry.credentials.model import Credential
from multiarch.registry.credentials.pull_secrets import PullSecrets
from multiarch.registry.reference import parse_reference

PAIR = base64.b64encode(b"foo:bar").decode()
ROW = {"auth": PAIR}


def from_pull_secret(table: Mapping[str, object], image: str) -> list[tuple[str, str]]:
    """User names and passwords that a pull secret with these ``auths`` has for an image."""
    secrets = PullSecrets([("team/pull", {"auths": table})])
    return pairs(asyncio.run(secrets.for_repository(parse_reference(image))))


def from_docker(content: Mapping[str, object], image: str) -> list[tuple[str, str]]:
    config = DockerConfig(Path("config.json"), content)
    return pairs(asyncio.run(config.for_repository(parse_reference(image))))


def pairs(found: tuple[Credential, ...]) -> list[tuple[str, str]]:
    return [(each.username, each.password) for each in found]


@pytest.mark.parametrize(
    ("auth", "valid"),
    [
        ("Zm9vOmJhcg==", True),
        ("Zm9vOm\nJhcg\n", True),  # line breaks, as `base64` prints them, and no padding
        ("cGFudHM=", False),  # no colon
        ("Zm9vOmJhcg== ", False),  # only line breaks are ignored
        ("Zm9-OmJh", False),  # the alphabet of URLs
        ("é", False),
    ],
)
def test_auth_is_read_as_by_the_kubelet(auth: str, *, valid: bool) -> None:
    if valid:
        assert from_pull_secret({"quay.io": {"auth": auth}}, "quay.io/app") == [("foo", "bar")]
        assert from_docker({"auths": {"quay.io": {"auth": auth}}}, "quay.io/app") == [("foo", "bar")]
        return
    with pytest.raises(ValueError, match=r"auths\.quay\.io: auth must be the base64 of USER:PASSWORD"):
        read_auths({"auths": {"quay.io": {"auth": auth}}}, "the tests")


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"username": "foo", "password": "bar", "email": "foo@example.com"}, [("foo", "bar")]),
        ({"username": "other", "password": "other", "auth": PAIR}, [("foo", "bar")]),
        ({"auth": base64.b64encode(b"foo:b:a:r").decode()}, [("foo", "b:a:r")]),
        ({"auth": base64.b64encode(b":bar").decode()}, [("", "bar")]),
        ({"auth": base64.b64encode(b"00000000-0000-0000-0000-000000000000:").decode(), "identitytoken": "t"}, []),
        ({"identitytoken": "t"}, []),
        ({}, []),
        (None, []),
    ],
)
def test_rows_of_a_pull_secret(row: object, found: list[tuple[str, str]]) -> None:
    secrets = PullSecrets([("team/pull", {"auths": {"quay.io": row}})])
    credentials = asyncio.run(secrets.for_repository(parse_reference("quay.io/app")))
    assert pairs(credentials) == found
    # The kubelet passes user names and passwords on, and nothing else.
    assert not any(each.identity_token for each in credentials)


@pytest.mark.parametrize(
    ("key", "image", "matches"),
    [
        # Hosts: a star stands for a part of one label.
        ("*.kubernetes.io", "prefix.kubernetes.io/app", True),
        ("*-good.kubernetes.io", "prefix-good.kubernetes.io/app", True),
        ("k*.io", "quay.io/app", False),
        ("https://*.docker.com", "prefix.docker.io/app", False),
        ("qua?.io", "quay.io/app", True),
        ("quay.[a-k]o", "quay.io/app", True),
        # Ports are equal or absent in both.
        ("*.kubernetes.io:1111/blah", "prefix.kubernetes.io:1111/blah/app", True),
        ("*.kubernetes.io:1234/blah", "prefix.kubernetes.io:1111/blah/app", False),
        ("[::1]:5000", "[::1]:5000/app", True),
        # Paths are prefixes, letter by letter.
        ("prefix.*.io/foo", "prefix.kubernetes.io/foo/bar", True),
        ("host.io/team", "host.io/team-b/app", True),
        ("host.io/team/", "host.io/team-b/app", False),
        ("host.io/team/", "host.io/team/app", True),
        # Schemes do not count; versions only with a slash.
        ("http://host.io", "host.io/app", True),
        ("ftp://host.io", "host.io/app", False),
        ("https://host.io/v1/", "host.io/app", True),
        ("https://host.io/v2/team", "host.io/team/app", True),
        ("https://host.io/v1", "host.io/app", False),
        # Docker Hub is docker.io, or the host that `docker login` writes.
        ("https://index.docker.io/v1/", "nginx", True),
        ("https://index.docker.io/v1/", "docker.io/team/app", True),
        ("index.docker.io", "team/app", True),
        ("https://index.docker.io/v1", "nginx", False),
        ("docker.io/team", "nginx", False),
        ("*.io", "nginx", True),
        ("https://index.docker.io/v1/", "myhostdocker.io/team/app", False),
        ("", "nginx", False),
    ],
)
def test_keys_of_pull_secrets_match_as_for_the_kubelet(key: str, image: str, *, matches: bool) -> None:
    assert from_pull_secret({key: ROW}, image) == ([("foo", "bar")] if matches else [])


def test_the_hub_s_own_key_is_the_last_resort() -> None:
    hub = {"https://index.docker.io/v1/": {"username": "login", "password": "x"}}
    specific = {"docker.io/library": {"username": "library", "password": "x"}}
    assert from_pull_secret(hub | specific, "nginx") == [("library", "x")]
    assert from_pull_secret(hub | specific, "team/app") == [("login", "x")]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"auths": {"r.io": ROW, "other.io": None}}, ["foo"]),
        ({"auths": {"r.io": {"auth": None, "username": "foo", "password": "bar"}}}, ["foo"]),
        ({"auths": {"r.io": None}}, []),
        ({"auths": None, "credHelpers": None, "credsStore": None}, []),
        ({"auths": {"r.io": ROW}, "credHelpers": {"r.io": ""}}, ["foo"]),
        # A host's empty helper also goes before the store.
        ({"auths": {"r.io": ROW}, "credHelpers": {"r.io": ""}, "credsStore": "missing"}, ["foo"]),
    ],
)
def test_docker_s_configuration_with_nulls_and_empty_helpers(content: Mapping[str, object], found: list[str]) -> None:
    assert [user for user, _ in from_docker(content, "r.io/app")] == found
