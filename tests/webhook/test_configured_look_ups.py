"""Look-ups as the configuration file says: credentials, and what is loaded for which of its keys."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from multiarch.errors import MultiarchError
from multiarch.webhook.images.look_ups import LookUps
from tests.webhook.look_ups import SUPPORTED, ask, configuration, reason, verdicts
from tests.webhook.registry_stand_in import serving

ACCOUNT = ("puller", "pass:word")


def docker_config(host: str, account: tuple[str, str]) -> str:
    auth = base64.b64encode(":".join(account).encode()).decode()
    return json.dumps({"auths": {host: {"auth": auth}}})


def test_a_docker_configuration_that_changes_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def replace_with(text: str) -> None:
        (tmp_path / "new").write_text(text)
        (tmp_path / "new").rename(file)

    async def work() -> None:
        async with serving(demands_tokens=True, account=ACCOUNT) as registry:
            for name in "abcde":
                registry.index(name)
            file.write_text(docker_config(registry.host, ACCOUNT))
            found = configuration(registries={"dockerConfig": str(file)})
            async with LookUps.from_configuration(found) as look_ups:
                assert verdicts(await ask(look_ups, registry.name("a"))) == (SUPPORTED, SUPPORTED)
                registry.account = ("puller", "tomorrow's")
                assert "answered 401" in reason(await ask(look_ups, registry.name("b")))[1]
                replace_with(docker_config(registry.host, registry.account))
                assert verdicts(await ask(look_ups, registry.name("c"))) == (SUPPORTED, SUPPORTED)
                replace_with("{")
                assert verdicts(await ask(look_ups, registry.name("d"))) == (SUPPORTED, SUPPORTED)
                file.unlink()
                assert verdicts(await ask(look_ups, registry.name("e"))) == (SUPPORTED, SUPPORTED)

    file = tmp_path / "config.json"
    asyncio.run(work())
    (record,) = caplog.records
    assert "invalid JSON" in record.getMessage()
    assert "The credentials that were read before stay in use." in record.getMessage()


def test_a_challenge_that_fails_once_does_not_keep_other_images_from_being_read() -> None:
    async def work() -> None:
        async with serving(demands_tokens=True, realm_host="tokens.example") as registry:
            for name in "ab":
                registry.index(name)
            async with LookUps.from_configuration(configuration()) as look_ups:
                assert "plain HTTP is not allowed" in reason(await ask(look_ups, registry.name("a")))[1]
                registry.realm_host = ""
                assert verdicts(await ask(look_ups, registry.name("b"))) == (SUPPORTED, SUPPORTED)

    asyncio.run(work())


def test_a_docker_configuration_that_is_not_valid_is_an_error_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{")
    with pytest.raises(MultiarchError, match="invalid JSON"):
        LookUps.from_configuration(configuration(registries={"dockerConfig": str(file)}))
