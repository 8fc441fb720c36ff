"""One pod with 50 images that nobody asked for before, on a registry with 100 ms latency that demands tokens.

The registry is a stand-in in this process. Half of the images are indexes (one request and a token), half are single
manifests (a request more, for the config). Limit: the deadline of a review.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import show
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.model import Found, PodImage
from tests.webhook.look_ups import configuration
from tests.webhook.registry_stand_in import RegistryStandIn, serving

IMAGES = 50
LATENCY_S = 0.1


def push(registry: RegistryStandIn) -> list[PodImage]:
    """Images in repositories of their own."""
    for number in range(IMAGES):
        (registry.single if number % 2 else registry.index)(f"team-{number}/app")
    return [PodImage(registry.name(f"team-{number}/app")) for number in range(IMAGES)]


async def measure() -> float:
    """The seconds until all images are judged."""
    async with serving(delay=LATENCY_S, demands_tokens=True) as registry:
        images = push(registry)
        async with LookUps.from_configuration(configuration()) as look_ups:
            began = time.perf_counter()
            answers = await look_ups.look_up(images, seconds=60)
            seconds = time.perf_counter() - began
        judged = sum(isinstance(each, Found) for each in answers.values())
        if judged != IMAGES:
            sys.exit(f"{judged} of {IMAGES} images were judged: {answers}")
        print(f"{registry.asked.total()} requests, {registry.asked['TOKEN']} of them for tokens")
        return seconds


def main() -> None:
    """Print the figure with its limit."""
    limit = WebhookConfiguration().deadline_seconds
    show(f"{IMAGES} images, cold", asyncio.run(measure()), limit, "s")


if __name__ == "__main__":
    main()
