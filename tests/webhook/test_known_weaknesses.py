"""What other webhooks of this kind are known for, from the review's bytes to the registry's requests.

Init and ephemeral containers that are not read, single manifests that are asked for every time, moved tags that stay
as they were, images that are looked up one after the other, a request to the registry for each pod of a burst, patches
that lose fields, and bodies of pods in logs. Namespaces and certificates are the matter of other tests.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from multiarch.webhook.handler import Handler
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.model import Outcome, Reason
from tests.webhook.look_ups import Clock, configuration, looking_up, settled
from tests.webhook.registry_stand_in import serving
from tests.webhook.stand_ins import RecordingObserver, patch_in, patched, pod, review_of


class Webhook:
    """A handler in front of look-ups."""

    def __init__(self, look_ups: LookUps, **sections: Any) -> None:
        self.observer = RecordingObserver()
        self.handler = Handler(configuration(**sections), look_ups, self.observer)

    async def patch(self, whole: dict[str, Any]) -> list[dict[str, Any]]:
        return patch_in(await self.handler.review(review_of(whole)))

    @property
    def outcome(self) -> tuple[Outcome, Reason]:
        return self.observer.last.outcome, self.observer.last.reason


def test_a_burst_of_a_thousand_pods_makes_one_request() -> None:
    async def work() -> None:
        async with serving(delay=0.05) as registry, looking_up() as look_ups:
            registry.index("app")
            webhook = Webhook(look_ups)
            image = registry.name("app")
            patches = await asyncio.gather(*(webhook.patch(pod(image, hostname=f"p{n}")) for n in range(1000)))
            assert all(patches)
            assert registry.asked == {"GET app/manifests/1": 1}

    asyncio.run(work())


def test_init_ephemeral_and_mounted_images_are_looked_up_side_by_side() -> None:
    async def work() -> None:
        async with serving(delay=0.2) as registry, looking_up() as look_ups:
            for name in ("init", "app", "ephemeral", "files"):
                registry.index(name)
            webhook = Webhook(look_ups)
            spec = {
                "initContainers": [{"image": registry.name("init")}],
                "ephemeralContainers": [{"image": registry.name("ephemeral")}],
                "volumes": [{"image": {"reference": registry.name("files")}}],
            }
            assert await webhook.patch(pod(registry.name("app"), **spec))
            assert registry.count("GET") == 4
            assert registry.most_at_once == 4

    asyncio.run(work())


def test_a_single_manifest_is_remembered_and_a_moved_tag_is_noticed() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock) as look_ups:
            registry.single("app")
            webhook = Webhook(look_ups)
            whole = pod(registry.name("app"))
            assert await webhook.patch(whole) == []
            assert webhook.outcome == (Outcome.LEAVE, Reason.UNSUPPORTED_IMAGE)
            asked = registry.asked.total()
            await webhook.patch(whole)
            assert registry.asked.total() == asked
            registry.index("app")
            clock.now += 301
            assert await webhook.patch(whole) == [], "what is remembered is answered at once, and looked up again"
            await settled(look_ups)
            assert await webhook.patch(whole)
            assert webhook.outcome == (Outcome.TOLERATE, Reason.SUPPORTED)

    asyncio.run(work())


def test_a_look_up_that_outlives_the_deadline_is_there_for_the_next_pod() -> None:
    async def work() -> None:
        async with serving(delay=0.4) as registry, looking_up() as look_ups:
            registry.index("app")
            webhook = Webhook(look_ups, deadlineSeconds=0.1)
            whole = pod(registry.name("app"))
            assert await webhook.patch(whole) == []
            assert webhook.outcome == (Outcome.UNKNOWN, Reason.DEADLINE)
            assert webhook.observer.decisions[0][2] < 0.4
            await settled(look_ups)
            assert await webhook.patch(whole)
            assert registry.count("GET") == 1

    asyncio.run(work())


def test_fields_that_are_not_known_survive_and_nothing_of_them_is_recorded() -> None:
    async def work() -> None:
        async with serving() as registry, looking_up() as look_ups:
            registry.index("app")
            webhook = Webhook(look_ups)
            whole = pod(
                registry.name("app"),
                futureField={"a": [1, None, "secret"]},
                tolerations=[{"operator": "Exists", "key": "k", "new": 1}],
            )
            whole["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": "secret", "future": {}}]
            body = review_of(whole)
            after = patched(whole, await webhook.handler.review(body))
            added = after["spec"]["tolerations"].pop()
            assert added["value"] == "arm64"
            assert json.dumps(after) == json.dumps(whole)
            assert "secret" not in repr(webhook.observer.decisions)

    asyncio.run(work())
