"""Look-ups on a real registry: tags that move and vanish, tokens, TLS, and pull secrets."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator

import pytest

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from multiarch.webhook.model import NO_SECRETS, PodImage, PullSecretNames
from tests.registry import server
from tests.registry.server import ACCOUNT, Auth, Server
from tests.webhook.look_ups import (
    SUPPORTED,
    UNSUPPORTED,
    Clock,
    ask,
    configuration,
    count,
    looking_up,
    reason,
    settled,
    verdicts,
)
from tests.webhook.test_pull_secrets import SecretsStandIn, raw_secret

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    with server.running() as registry:
        yield registry


def push(registry: Server, repository: str, tag: str, *architectures: str) -> str:
    """Push an index with an image for each architecture; return its digest."""
    rows = []
    for architecture in architectures:
        config = registry.push_blob(repository, json.dumps({"os": "linux", "architecture": architecture}).encode())
        content = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": config.digest,
                "size": config.size,
            },
            "layers": [],
        }
        made = registry.push_manifest(repository, None, content, OCI_MANIFEST)
        platform = {"os": "linux", "architecture": architecture}
        rows.append({"mediaType": OCI_MANIFEST, "digest": made.digest, "size": made.size, "platform": platform})
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": rows}
    return registry.push_manifest(repository, tag, index, OCI_INDEX).digest


def test_a_tag_that_moves_and_is_then_deleted(plain: Server) -> None:
    async def work() -> None:
        clock = Clock()
        async with looking_up(clock) as look_ups:
            image = PodImage(f"{plain.host}/team/app:1")
            push(plain, "team/app", "1", "amd64")
            assert verdicts(await ask(look_ups, image.image)) == (SUPPORTED, UNSUPPORTED)
            both = push(plain, "team/app", "1", "amd64", "arm64")
            clock.now += 301
            look_ups.known(image)
            await settled(look_ups)
            assert verdicts(look_ups.known(image)) == (SUPPORTED, SUPPORTED)
            plain.delete("team/app", both)
            clock.now += 301
            look_ups.known(image)
            await settled(look_ups)
            assert reason(look_ups.known(image))[1].startswith("not found: ")

    asyncio.run(work())


@pytest.mark.parametrize("auth", [Auth.BASIC, Auth.TOKEN])
def test_a_pull_secret_opens_a_registry_with_tls(auth: Auth) -> None:
    async def work(registry: Server) -> None:
        found = configuration(registries={"caFiles": [str(registry.ca)], "pullSecrets": ["team-a/registry"]})
        pair = base64.b64encode(f"{ACCOUNT.user}:{ACCOUNT.password}".encode()).decode()
        content = base64.b64encode(json.dumps({"auths": {registry.host: {"auth": pair}}}).encode()).decode()
        source = SecretsStandIn(registry=raw_secret("registry", ".dockerconfigjson", content))
        async with looking_up(secrets=source, found=found) as look_ups:
            name = f"{registry.host}/team/app:1"
            pod = PullSecretNames("team-a", ("registry",))
            answers = await asyncio.gather(
                *(ask(look_ups, name, each) for each in (pod, NO_SECRETS) for _ in range(50))
            )
            assert {verdicts(each) for each in answers[:50]} == {(SUPPORTED, SUPPORTED)}
            assert {reason(each)[1].partition(":")[0] for each in answers[50:]} == {"denied"}
            assert count(look_ups, "lookups_total", purpose="review") == 2

    with server.running(auth=auth, tls=True) as registry:
        push(registry, "team/app", "1", "amd64", "arm64")
        asyncio.run(work(registry))
