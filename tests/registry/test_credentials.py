"""Credentials: docker's configuration with helpers and store, Kubernetes' pull secrets.

The helpers here are shell scripts that speak the protocol; real ones keep secrets in a keychain.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from multiarch.registry.credentials import docker_config, pull_secrets
from multiarch.registry.credentials.docker_config import DockerConfig, DockerConfigError
from multiarch.registry.credentials.model import Credentials
from multiarch.registry.credentials.pull_secrets import PullSecretError, PullSecrets, read_secret
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.reference import parse_reference

SECRET = "hunter2-of-tests"  # noqa: S105


def auth(user: str, password: str = SECRET) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def users(credentials: Credentials, image: str) -> list[str]:
    found = asyncio.run(credentials.for_repository(parse_reference(image)))
    assert SECRET not in repr(found)
    return [credential.username for credential in found]


def config(content: Mapping[str, object]) -> DockerConfig:
    return DockerConfig(Path("config.json"), content)


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A helper ``tests`` that counts its calls and knows one registry, one with an identity token, and fails else."""
    answers = {
        "known.io": json.dumps({"ServerURL": "known.io", "Username": "helped", "Secret": SECRET}),
        "token.io": json.dumps({"Username": "<token>", "Secret": SECRET}),
        "odd.io": '{"Username": 1}',
        "https://index.docker.io/v1/": json.dumps({"Username": "hub", "Secret": SECRET}),
    }
    cases = "\n".join(f"{server}) echo '{answer}';;" for server, answer in answers.items())
    script = tmp_path / "docker-credential-tests"
    script.write_text(
        f"""#!/bin/sh
read -r server
echo "$1 $server" >> {tmp_path}/calls
case "$server" in
{cases}
nowhere.io) echo 'credentials not found in native keychain'; exit 1;;
*) echo 'the keychain is locked'; exit 2;;
esac
"""
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path


@pytest.mark.parametrize(
    ("key", "image", "found"),
    [
        ("quay.io", "quay.io/team/app", True),
        ("https://quay.io/v2/", "quay.io/team/app", True),
        ("quay.io/team", "quay.io/team/app", True),
        ("quay.io/tea", "quay.io/team/app", False),
        ("quay.io:443", "quay.io/team/app", False),
        ("localhost:5000", "localhost:5000/app", True),
        ("https://index.docker.io/v1/", "nginx", True),
        ("https://index.docker.io/v1/", "quay.io/app", False),
    ],
)
def test_auths_are_found_by_host_and_path(key: str, image: str, *, found: bool) -> None:
    assert users(config({"auths": {key: auth("reader")}}), image) == (["reader"] if found else [])


def test_the_longer_path_comes_first() -> None:
    table = {"quay.io": auth("all"), "quay.io/team": auth("team"), "quay.io/team/app": auth("app")}
    assert users(config({"auths": table}), "quay.io/team/app") == ["app", "team", "all"]


@pytest.mark.usefixtures("helper")
def test_a_helper_counts_before_the_store_and_the_store_before_the_file() -> None:
    content: dict[str, object] = {"auths": {"known.io": auth("file"), "other.io": auth("file")}}
    assert users(config(content), "known.io/app") == ["file"]
    content["credHelpers"] = {"known.io": "tests"}
    assert users(config(content), "known.io/app") == ["helped"]
    assert users(config(content), "other.io/app") == ["file"]
    content = {"auths": {"nowhere.io": auth("file")}, "credsStore": "tests"}
    assert users(config(content), "known.io/app") == ["helped"]
    assert users(config(content), "nowhere.io/app") == []
    assert users(config(content), "nginx") == ["hub"]


def test_a_helper_is_asked_once_by_many(helper: Path) -> None:
    content = config({"credsStore": "tests"})

    async def ask() -> None:
        await asyncio.gather(*(content.for_repository(parse_reference(f"known.io/app{n}")) for n in range(20)))

    asyncio.run(ask())
    assert (helper / "calls").read_text() == "get known.io\n"


@pytest.mark.usefixtures("helper")
def test_a_helper_may_know_an_identity_token() -> None:
    content = config({"credHelpers": {"token.io": "tests"}})
    (found,) = asyncio.run(content.for_repository(parse_reference("token.io/app")))
    assert (found.identity_token, found.password) == (SECRET, "")


@pytest.mark.usefixtures("helper")
@pytest.mark.parametrize(
    ("name", "image", "words"),
    [
        ("tests", "locked.io/app", "docker-credential-tests failed (the keychain is locked)"),
        ("tests", "odd.io/app", "docker-credential-tests did not print a credential"),
        ("missing", "any.io/app", "docker-credential-missing is not on PATH"),
        ("../../bin/sh", "any.io/app", "'../../bin/sh' is not a valid helper name"),
    ],
)
def test_a_helper_that_fails_is_said_in_one_line(name: str, image: str, words: str) -> None:
    content = config({"credsStore": name})
    with pytest.raises(RegistryError) as caught:
        users(content, image)
    assert caught.value.reason is RegistryReason.CREDENTIALS
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", ["wait", "exit 0"])
def test_what_a_helper_that_hangs_has_started_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    script = tmp_path / "docker-credential-forks"
    script.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/child\n{end}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("multiarch.registry.credentials.helpers.TIMEOUT", 0.5)
    with pytest.raises(RegistryError, match="docker-credential-forks did not finish"):
        users(config({"credsStore": "forks"}), "any.io/app")
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(process: int) -> bool:
    """Whether a process runs; one that has ended and that nothing waits for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n  "auths": {,}\n}', "config.json: invalid JSON (key must be a string at line 2"),
        ("[]", "it must be a JSON object"),
        ('{"auths": []}', ""),
        ('{"auths": [1]}', "auths must be an object"),
        ('{"auths": {"quay.io": 5}}', "auths.quay.io: the entry must be an object"),
        (f'{{"auths": {{"quay.io": {{"auth": "{base64.b64encode(SECRET.encode()).decode()}"}}}}}}', "USER:PASSWORD"),
        ('{"auths": {"quay.io": {"auth": "dTpw", "email": false}}}', "auths.quay.io: email must be a string"),
        ('{"credHelpers": {"quay.io": 1}}', "credHelpers must be an object with string values"),
        ('{"credsStore": {}}', "credsStore must be a string"),
    ],
)
def test_a_configuration_that_is_none_is_rejected(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    if not words:
        assert users(docker_config.load_docker_config(file), "quay.io/app") == []
        return
    with pytest.raises(DockerConfigError) as caught:
        docker_config.load_docker_config(file)
    assert words in str(caught.value)
    assert str(file) in str(caught.value)
    assert SECRET not in str(caught.value)


def test_no_configuration_knows_nothing_and_docker_config_names_its_folder(tmp_path: Path) -> None:
    assert users(docker_config.load_docker_config(tmp_path / "config.json"), "quay.io/app") == []
    assert docker_config.find_config_file({"DOCKER_CONFIG": "/there"}) == Path("/there/config.json")
    assert docker_config.find_config_file({}) == Path.home() / ".docker" / "config.json"


def test_all_matching_secrets_are_tried_the_most_specific_first() -> None:
    secrets = PullSecrets(
        [
            ("a", {"auths": {"quay.io": auth("first")}}),
            ("b", {"auths": {"quay.io/team": auth("team"), "quay.io": auth("second")}}),
        ]
    )
    assert users(secrets, "quay.io/team/app") == ["team", "first", "second"]


def test_secrets_of_both_types_are_read() -> None:
    content = {"auths": {"quay.io": auth("new")}}
    new = {
        "metadata": {"namespace": "team", "name": "pull"},
        "type": pull_secrets.DOCKER_CONFIG_JSON,
        "data": {".dockerconfigjson": base64.b64encode(json.dumps(content).encode()).decode()},
    }
    old = {
        "metadata": {"name": "legacy"},
        "type": pull_secrets.DOCKER_CFG,
        "stringData": {".dockercfg": json.dumps({"quay.io": auth("old")})},
    }
    assert [read_secret(new)[0], read_secret(old)[0]] == ["team/pull", "legacy"]
    assert users(PullSecrets([read_secret(new), read_secret(old)]), "quay.io/app") == ["new", "old"]


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ({"type": "Opaque"}, "dockerconfigjson or kubernetes.io/dockercfg, not 'Opaque'"),
        ({"type": pull_secrets.DOCKER_CFG}, ".dockercfg is missing"),
        ({"type": pull_secrets.DOCKER_CFG, "data": {".dockercfg": "!"}}, "data..dockercfg is not valid base64 text"),
        ({"type": pull_secrets.DOCKER_CFG, "stringData": {".dockercfg": "{"}}, ".dockercfg is not JSON"),
        ({"type": pull_secrets.DOCKER_CFG, "stringData": {".dockercfg": "[]"}}, ".dockercfg is not a JSON object"),
    ],
)
def test_a_secret_that_is_none_is_rejected(secret: Mapping[str, object], words: str) -> None:
    with pytest.raises(PullSecretError) as caught:
        read_secret({"metadata": {"namespace": "team", "name": "pull"}, **secret})
    assert "Secret team/pull: " in str(caught.value)
    assert words in str(caught.value)
