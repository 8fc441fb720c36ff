"""Pull secrets: read where the configuration names them, used for the pods that name them, and for no other."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes import cluster as module
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.resources import ApiResource
from multiarch.observed.pull_secrets import read_secrets
from multiarch.registry.credentials.pull_secrets import PodCredentials
from multiarch.registry.settings import RegistrySettings
from multiarch.webhook.images import clients
from multiarch.webhook.images.clients import RegistryClients, read_cluster_secrets
from multiarch.webhook.model import NO_SECRETS, DecisionReason, NotFound, PodImage, PullSecretNames
from tests.kubernetes import api_server, kubeconfigs
from tests.webhook.look_ups import SUPPORTED, Clock, ask, configuration, looking_up, reason, verdicts
from tests.webhook.registry_stand_in import RegistryStandIn, serving

ACCOUNT = ("puller", "pass:word:with:colons")
NAMES = PullSecretNames("team-a", ("registry",))
CONFIGURED = configuration(registries={"pullSecrets": ["team-a/registry", "team-a/second", "team-b/registry"]})


def secret(host: str, name: str = "registry", account: tuple[str, str] = ACCOUNT, *, legacy: bool = False) -> Any:  # noqa: ANN401
    """A Secret as the API server sends it."""
    entry = {"auth": base64.b64encode(":".join(account).encode()).decode()}
    content = {host: entry} if legacy else {"auths": {host: entry}}
    key = ".dockercfg" if legacy else ".dockerconfigjson"
    return raw_secret(name, key, base64.b64encode(json.dumps(content).encode()).decode())


def raw_secret(name: str, key: str, data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "team-a", "name": name},
        "type": f"kubernetes.io/{key.removeprefix('.')}",
        "data": {key: data},
    }


class SecretsStandIn:
    """Answers for the API server; ``read_names`` is what was requested."""

    def __init__(self, **secrets: dict[str, Any]) -> None:
        self.secrets = secrets
        self.read_names: list[PullSecretNames] = []

    def __call__(self, names: PullSecretNames) -> PodCredentials:
        self.read_names.append(names)
        return read_secrets(
            cast(KubernetesCluster, self), [(names.namespace, each) for each in names.names], note_missing=True
        )

    def get(self, _: ApiResource, namespace: str, name: str) -> dict[str, Any] | None:
        return self.secrets.get(name) if namespace == "team-a" else None


def guarded(registry: RegistryStandIn) -> None:
    registry.demands_tokens, registry.account = True, ACCOUNT
    registry.index("private")


@pytest.mark.parametrize("legacy", [False, True], ids=["dockerconfigjson", "dockercfg"])
def test_a_pull_secret_of_either_format_opens_its_registry_for_pods_that_name_it_only(*, legacy: bool) -> None:
    async def work() -> None:
        async with serving() as registry:
            guarded(registry)
            source = SecretsStandIn(registry=secret(registry.host, legacy=legacy))
            async with looking_up(secrets=source, found=CONFIGURED) as look_ups:
                name = registry.name("private")
                assert verdicts(await ask(look_ups, name, NAMES)) == (SUPPORTED, SUPPORTED)
                assert look_ups.known(PodImage(name), NAMES) is not None
                for others in (NO_SECRETS, PullSecretNames("team-b", ("registry",)), PullSecretNames("team-a", ())):
                    assert isinstance(look_ups.known(PodImage(name), others), NotFound | None)
                    assert reason(await ask(look_ups, name, others))[1].startswith("denied: ")
                assert source.read_names == [NAMES, PullSecretNames("team-b", ("registry",))]

    asyncio.run(work())


@pytest.mark.parametrize(
    ("secrets", "fault"),
    [
        ({}, "Secret team-a/registry does not exist"),
        (
            {"registry": raw_secret("registry", ".dockerconfigjson", "%%%")},
            "Secret team-a/registry: data..dockerconfigjson is not valid base64 text",
        ),
    ],
    ids=["missing", "broken base64"],
)
def test_a_secret_that_cannot_be_used_is_named_where_the_registry_rejects(
    secrets: Mapping[str, dict[str, Any]], fault: str
) -> None:
    async def work() -> None:
        async with serving() as registry, looking_up(secrets=SecretsStandIn(**secrets), found=CONFIGURED) as look_ups:
            guarded(registry)
            found, text = reason(await ask(look_ups, registry.name("private"), NAMES))
            assert found is DecisionReason.UNREADABLE_IMAGE
            assert text.startswith("denied: ")
            assert f"; {fault}" in text

    asyncio.run(work())


def test_a_broken_secret_beside_a_valid_one_and_a_public_image_do_no_harm() -> None:
    async def work() -> None:
        async with serving() as registry:
            guarded(registry)
            broken = raw_secret("second", ".dockerconfigjson", "%%%")
            source = SecretsStandIn(registry=secret(registry.host), second=broken)
            async with looking_up(secrets=source, found=CONFIGURED) as look_ups:
                both = PullSecretNames("team-a", ("second", "registry"))
                assert verdicts(await ask(look_ups, registry.name("private"), both)) == (SUPPORTED, SUPPORTED)
                registry.account = None
                only = PullSecretNames("team-a", ("second",))
                assert verdicts(await ask(look_ups, registry.name("private"), only)) == (SUPPORTED, SUPPORTED)

    asyncio.run(work())


def test_secrets_are_read_once_a_minute_and_one_that_changed_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry:
            guarded(registry)
            source = SecretsStandIn(registry=secret(registry.host, account=("puller", "old")))
            async with looking_up(clock, secrets=source, found=CONFIGURED) as look_ups:
                for tag in ("1", "2"):
                    registry.index("private", tag)
                    assert reason(await ask(look_ups, registry.name("private", tag), NAMES))[1].startswith("denied: ")
                assert len(source.read_names) == 1
            monkeypatch.setattr(clients, "SECRET_SECONDS", 0.0)
            async with looking_up(clock, secrets=source, found=CONFIGURED) as look_ups:
                assert reason(await ask(look_ups, registry.name("private"), NAMES))[1].startswith("denied: ")
                source.secrets["registry"] = secret(registry.host)
                clock.now += 31
                assert verdicts(await ask(look_ups, registry.name("private"), NAMES)) == (SUPPORTED, SUPPORTED)

    asyncio.run(work())


# The API server


def test_secrets_are_read_from_the_api_server_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"registry": secret("registry.example.com")}

    def answer(request: api_server.Request) -> api_server.Answer:
        name = request.path.rpartition("/")[2]
        if name in held:
            return 200, held[name], {}
        if name == "second":
            return 403, {"kind": "Status", "reason": "Forbidden", "message": "no"}, {}
        return 404, {"kind": "Status", "reason": "NotFound", "message": "no"}, {}

    with api_server.serving(answer) as server:
        monkeypatch.setattr(module, "KubernetesCluster", lambda _: kubeconfigs.opened(tmp_path, server.url))
        found = read_cluster_secrets(PullSecretNames("team-a", ("registry", "second", "third")))
        assert [each.path for each in server.requests] == [
            f"/api/v1/namespaces/team-a/secrets/{name}" for name in ("registry", "second", "third")
        ]
    assert found.credentials is not None
    forbidden, missing = found.notes
    assert forbidden.startswith("The user may not get secrets second in namespace team-a. Grant it with this rule")
    assert missing == "Secret team-a/third does not exist."
    assert ACCOUNT[1] not in repr(found)


def test_an_api_server_that_does_not_answer_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "READ_SECONDS", 0.05)

    def read(_: PullSecretNames) -> PodCredentials:
        time.sleep(0.5)
        return PodCredentials()

    began = time.monotonic()
    found = asyncio.run(RegistryClients(RegistrySettings(), secrets=read).read_secrets(NAMES))
    assert time.monotonic() - began < 0.4
    assert found.notes == ("the API server did not send the pull secrets within 0.05 s",)


def test_a_webhook_outside_of_a_cluster_says_so_where_the_registry_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(_: object) -> KubernetesCluster:
        raise MultiarchError("No kubeconfig found: config does not exist.")

    monkeypatch.setattr(module, "KubernetesCluster", opened)
    found = read_cluster_secrets(NAMES)
    assert found.notes == ("pull secrets can't be read: No kubeconfig found: config does not exist.",)
