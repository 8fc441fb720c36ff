"""What the webhook does not connect to, whatever a pod's images are called."""

from __future__ import annotations

import asyncio

import pytest

from multiarch.errors import MultiarchError
from multiarch.webhook.images.clients import settings_of
from multiarch.webhook.model import Reason
from tests.webhook.look_ups import SUPPORTED, ask, configuration, looking_up, reason, verdicts
from tests.webhook.registry_stand_in import serving

TEXTS = {
    "169.254.169.254/latest/meta-data": "169.254.169.254 is link-local or for instance metadata; if a registry is "
    "there, add 169.254.169.254/32 to registries.allowedNetworks",
    "10.0.0.1/x": "10.0.0.1 is not public; if a registry is there, add 10.0.0.1/32 to registries.allowedNetworks",
    "kubernetes.default.svc/x": "kubernetes.default.svc is a cluster-internal name; if it is a registry, add it to "
    "registries.allowed without *, such as kubernetes.default.svc:5000",
}


@pytest.mark.parametrize(("image", "text"), TEXTS.items(), ids=list(TEXTS))
def test_a_refused_address_is_an_answer_that_names_the_key(image: str, text: str) -> None:
    async def scenario() -> tuple[Reason, str]:
        async with looking_up() as look_ups:
            return reason(await ask(look_ups, image))

    assert asyncio.run(scenario()) == (Reason.REGISTRY_NOT_ALLOWED, text)


def test_a_registry_that_is_not_allowed_is_not_asked() -> None:
    async def scenario() -> tuple[tuple[Reason, str], int]:
        async with serving() as registry:
            registry.index("team/app")
            found = configuration(registries={"allowed": ["docker.io"]})
            async with looking_up(found=found) as look_ups:
                return reason(await ask(look_ups, registry.name("team/app"))), registry.asked.total()

    (why, text), asked = asyncio.run(scenario())
    assert why is Reason.REGISTRY_NOT_ALLOWED
    assert "is not in registries.allowed; add 127.0.0.1:" in text
    assert asked == 0


@pytest.mark.parametrize("registries", [{"allowedNetworks": []}, {"plainHttp": []}])
def test_this_machine_s_registries_are_only_asked_as_configured(registries: dict[str, list[str]]) -> None:
    async def scenario() -> tuple[int, object]:
        async with serving() as registry:
            registry.index("team/app")
            async with looking_up(found=configuration(registries=registries)) as look_ups:
                await ask(look_ups, registry.name("team/app"))
            before = registry.asked.total()
            async with looking_up() as look_ups:
                return before, verdicts(await ask(look_ups, registry.name("team/app")))

    assert asyncio.run(scenario()) == (0, (SUPPORTED, SUPPORTED))


@pytest.mark.parametrize("registries", [{"allowed": ["https://quay.io"]}, {"allowedNetworks": ["10.0.0.1/8"]}])
def test_invalid_entries_are_an_error_at_the_start(registries: dict[str, list[str]]) -> None:
    with pytest.raises(MultiarchError, match=r"registries\.allowed(Networks)?: '.*' is not a "):
        settings_of(configuration(registries=registries))
