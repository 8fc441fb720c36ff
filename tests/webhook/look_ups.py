"""Look-ups of the tests: against a stand-in for a registry, with a clock that a test moves."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from multiarch.images.model import Verdict
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.clients import RegistryClients, SecretReader, build_settings
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.model import NO_SECRETS, Answer, DecisionReason, NotFound, PodImage, PullSecretNames

SUPPORTED, UNSUPPORTED = Verdict.SUPPORTED, Verdict.UNSUPPORTED


@dataclasses.dataclass(slots=True)
class Clock:
    """Counts seconds as a test says."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def configuration(**sections: Mapping[str, object]) -> WebhookConfiguration:
    """A configuration that lets the webhook read registries on this machine."""
    registries = {
        "allowedNetworks": ["127.0.0.0/8"],
        "plainHttp": ["127.0.0.1"],
        "ecr": False,
        **sections.pop("registries", {}),
    }
    return WebhookConfiguration.model_validate({"registries": registries, **sections})


@asynccontextmanager
async def looking_up(
    clock: Clock | None = None,
    *,
    secrets: SecretReader | None = None,
    found: WebhookConfiguration | None = None,
    **settings: Any,
) -> AsyncIterator[LookUps]:
    """Look-ups that know nothing yet."""
    found = found or configuration()
    quick = dataclasses.replace(build_settings(found), **{"backoff_seconds": 0.001, "down_seconds": 0.001, **settings})
    clients = RegistryClients(quick, secrets=secrets)
    async with LookUps(clients, found, clock or time.monotonic) as look_ups:
        yield look_ups


async def ask(
    look_ups: LookUps, name: str, secrets: PullSecretNames = NO_SECRETS, *, seconds: float = 5.0, mounted: bool = False
) -> Answer:
    """The answer for one image, as a review gets it."""
    image = PodImage(name, mounted)
    known = look_ups.known(image, secrets)
    return known if known is not None else (await look_ups.look_up([image], secrets, seconds=seconds))[image]


def count(look_ups: LookUps, name: str, **labels: str) -> float:
    """The value of a metric."""
    registry = look_ups.metrics._registry  # noqa: SLF001 (the text has all of them)
    return registry.get_sample_value(f"multiarch_webhook_{name}", labels) or 0.0


async def settled(look_ups: LookUps) -> None:
    """Wait for what runs in the background."""
    for _ in range(2500):
        if not count(look_ups, "lookups_in_progress"):
            return
        await asyncio.sleep(0.002)
    raise AssertionError("look-ups are still under way")


def verdicts(answer: Answer | None) -> tuple[Verdict, ...]:
    assert isinstance(answer, tuple), answer
    return tuple(each.verdict for each in answer)


def reason(answer: Answer | None) -> tuple[DecisionReason, str]:
    assert isinstance(answer, NotFound), answer
    return answer.reason, answer.text
