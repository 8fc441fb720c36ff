"""Look-ups of images: one for all pods, within a deadline, remembered as long as they hold."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from multiarch.registry.settings import MIB
from multiarch.webhook.images.look_ups import ENTRY_BYTES, REFRESHES
from multiarch.webhook.model import DecisionReason, PodImage
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
from tests.webhook.memories import VERDICTS, remember
from tests.webhook.registry_stand_in import serving


def test_an_image_is_judged_for_each_required_architecture_and_then_known() -> None:
    async def work() -> None:
        async with serving() as registry, looking_up() as look_ups:
            registry.index("both")
            registry.index("amd", architectures=["amd64"])
            registry.single("alone", architecture="arm64")
            assert look_ups.known(PodImage(registry.name("both"))) is None
            assert verdicts(await ask(look_ups, registry.name("both"))) == (SUPPORTED, SUPPORTED)
            assert verdicts(await ask(look_ups, registry.name("amd"))) == (SUPPORTED, UNSUPPORTED)
            assert verdicts(await ask(look_ups, registry.name("alone"))) == (UNSUPPORTED, SUPPORTED)
            asked = registry.asked.total()
            for name in ("both", "amd", "alone"):
                assert look_ups.known(PodImage(registry.name(name))) is not None
            assert count(look_ups, "image_cache_requests_total", result="hit") == 3
            # What is mounted does not have to run.
            assert verdicts(await ask(look_ups, registry.name("alone"), mounted=True)) == (SUPPORTED, SUPPORTED)
            assert registry.asked.total() == asked

    asyncio.run(work())


def test_a_thousand_pods_of_one_image_make_one_request() -> None:
    async def work() -> None:
        async with serving(delay=0.05) as registry, looking_up() as look_ups:
            registry.index("app")
            answers = await asyncio.gather(*(ask(look_ups, registry.name("app")) for _ in range(1000)))
            assert {verdicts(each) for each in answers} == {(SUPPORTED, SUPPORTED)}
            assert registry.asked == {"GET app/manifests/1": 1}
            assert count(look_ups, "lookups_total", purpose="review") == 1

    asyncio.run(work())


def test_a_look_up_goes_on_after_the_deadline_and_is_there_for_the_next_pod() -> None:
    async def work() -> None:
        held = asyncio.Event()
        async with serving(held=held) as registry, looking_up() as look_ups:
            registry.index("app")
            late = await ask(look_ups, registry.name("app"), seconds=0.02)
            held.set()
            assert reason(late) == (DecisionReason.DEADLINE, "the registry has not answered within 0.0 s")
            await settled(look_ups)
            assert verdicts(look_ups.known(PodImage(registry.name("app")))) == (SUPPORTED, SUPPORTED)
            assert registry.asked.total() == 1

    asyncio.run(work())


def test_a_look_up_that_takes_longer_than_the_deadline_already_is_not_waited_for() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(held=asyncio.Event()) as registry, looking_up(clock) as look_ups:
            registry.index("app")
            first = await ask(look_ups, registry.name("app"), seconds=0.02)
            async with asyncio.timeout(30):
                while not registry.asked:  # noqa: ASYNC110 (a counter has no event)
                    await asyncio.sleep(0.01)
            clock.now += 60
            async with asyncio.timeout(30):
                second = await ask(look_ups, registry.name("app"), seconds=60)
            assert reason(first)[0] is reason(second)[0] is DecisionReason.DEADLINE
            assert registry.asked.total() == 1

    asyncio.run(work())


def test_images_of_a_pod_are_looked_up_side_by_side_and_one_late_image_keeps_no_other() -> None:
    async def work() -> None:
        async with serving(delay=0.05) as registry, looking_up() as look_ups:
            names = [f"app-{number}" for number in range(20)]
            for name in names:
                registry.index(name)
            answers = await look_ups.look_up([PodImage(registry.name(name)) for name in names], seconds=30)
            assert {verdicts(each) for each in answers.values()} == {(SUPPORTED, SUPPORTED)}
            assert registry.most_at_once > 10

    asyncio.run(work())


def test_more_look_ups_than_allowed_are_rejected_and_one_registry_gets_half_of_them() -> None:
    async def work() -> None:
        found = configuration(limits={"lookUps": 4})
        async with AsyncExitStack() as stack:
            registries = [await stack.enter_async_context(serving(held=asyncio.Event())) for _ in range(3)]
            look_ups = await stack.enter_async_context(looking_up(found=found))
            images = [PodImage(each.name("app", tag)) for each in registries for tag in ("1", "2", "3")]
            found_of = await look_ups.look_up(images, seconds=0.05)
            answers = [reason(found_of[each]) for each in images]
            late, rejected = DecisionReason.DEADLINE, DecisionReason.TOO_MANY_LOOKUPS
            assert [each for each, _ in answers] == [late, late, rejected, late, late, rejected, *[rejected] * 3]
            host = registries[0].host
            assert answers[2][1] == f"2 images of {host} are being looked up already (half of limits.lookUps)"
            assert answers[8][1] == "4 images are being looked up already (limits.lookUps)"
            assert look_ups.known(images[2]) is None
            for each in registries:
                if each.held is not None:
                    each.held.set()
            await settled(look_ups)
            assert reason(await ask(look_ups, images[8].image))[0] is DecisionReason.UNREADABLE_IMAGE

    asyncio.run(work())


def test_an_invalid_name_is_not_looked_up() -> None:
    async def work() -> None:
        async with looking_up() as look_ups:
            for name in ("", "library/Upper", "a b", "https://example.com/x", "x" * 3000, "app@sha256:12"):
                found, text = reason(await ask(look_ups, name))
                assert found is DecisionReason.UNREADABLE_IMAGE
                assert text.startswith("the image's name is not valid: ")
            assert count(look_ups, "lookups_total", purpose="review") == 0

    asyncio.run(work())


# Tags


def test_a_tag_is_believed_while_fresh_then_checked_in_the_background_without_a_download() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock) as look_ups:
            registry.index("app")
            image = PodImage(registry.name("app"))
            await ask(look_ups, image.image)
            clock.now += 299
            assert look_ups.known(image) is not None
            assert count(look_ups, "lookups_total", purpose="refresh") == 0
            clock.now += 2
            for _ in range(5):
                assert verdicts(look_ups.known(image)) == (SUPPORTED, SUPPORTED)
            await settled(look_ups)
            assert count(look_ups, "lookups_total", purpose="refresh") == 1
            assert registry.asked == {"GET app/manifests/1": 1, "HEAD app/manifests/1": 1}
            clock.now += 299
            look_ups.known(image)
            assert count(look_ups, "lookups_total", purpose="refresh") == 1

    asyncio.run(work())


def test_a_moved_tag_is_read_again_and_a_deleted_one_forgotten_at_once() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock) as look_ups:
            moved, deleted = (PodImage(registry.name(name)) for name in ("moved", "deleted"))
            for name, image in (("moved", moved), ("deleted", deleted)):
                registry.index(name, architectures=["amd64"])
                await ask(look_ups, image.image)
            pinned = PodImage(f"{registry.host}/pinned@{registry.index('pinned')}")
            await ask(look_ups, pinned.image)
            registry.index("moved")
            registry.delete("deleted")
            clock.now += 301
            for image in (moved, deleted):
                assert verdicts(look_ups.known(image)) == (SUPPORTED, UNSUPPORTED)
            await settled(look_ups)
            assert verdicts(look_ups.known(moved)) == (SUPPORTED, SUPPORTED)
            found, text = reason(look_ups.known(deleted))
            assert found is DecisionReason.UNREADABLE_IMAGE
            assert text.startswith("not found: ")
            # A digest holds for ever.
            clock.now += 1e9
            assert verdicts(look_ups.known(pinned)) == (SUPPORTED, SUPPORTED)
            assert count(look_ups, "lookups_total", purpose="refresh") == 2

    asyncio.run(work())


def test_a_tag_is_believed_for_a_bounded_time_while_its_registry_fails() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock, retries=0) as look_ups:
            registry.index("app")
            image = PodImage(registry.name("app"))
            await ask(look_ups, image.image)
            registry.status = 503
            clock.now += 3899
            for _ in range(3):
                assert verdicts(look_ups.known(image)) == (SUPPORTED, SUPPORTED)
                await settled(look_ups)
            assert count(look_ups, "lookups_total", purpose="refresh") == 1, "a failed check is not repeated at once"
            clock.now += 2
            assert look_ups.known(image) is None
            assert reason(await ask(look_ups, image.image))[1].startswith("server error: ")
            registry.status = 0
            clock.now += 31
            assert verdicts(await ask(look_ups, image.image)) == (SUPPORTED, SUPPORTED)

    asyncio.run(work())


def test_background_checks_are_bounded_in_number() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock) as look_ups:
            images = [PodImage(registry.name("app", str(number))) for number in range(3 * REFRESHES)]
            for number in range(len(images)):
                registry.index("app", str(number))
            await look_ups.look_up(images, seconds=5)
            registry.held = asyncio.Event()
            clock.now += 301
            for image in images:
                assert look_ups.known(image) is not None
            assert count(look_ups, "lookups_in_progress") == REFRESHES
            registry.held.set()
            await settled(look_ups)

    asyncio.run(work())


# Failures


@pytest.mark.parametrize(
    ("status", "headers", "pause", "text"),
    [
        (404, {}, 30, "not found: "),
        (429, {"Retry-After": "120"}, 120, "rate limited: "),
        (429, {"Retry-After": "999999"}, 3600, "rate limited: "),
    ],
)
def test_a_failure_is_remembered_for_as_long_as_the_registry_asks(
    status: int, headers: dict[str, str], pause: int, text: str
) -> None:
    async def work() -> None:
        clock = Clock()
        async with serving(status=status, headers=headers) as registry, looking_up(clock, retries=0) as look_ups:
            registry.index("app")
            first = await ask(look_ups, registry.name("app"))
            asked = registry.asked.total()
            clock.now += pause - 1
            assert look_ups.known(PodImage(registry.name("app"))) == first
            assert reason(first)[0] is DecisionReason.UNREADABLE_IMAGE
            assert reason(first)[1].startswith(text)
            assert registry.asked.total() == asked
            clock.now += 2
            assert look_ups.known(PodImage(registry.name("app"))) is None

    asyncio.run(work())


def test_an_index_that_could_be_read_in_part_only_is_soon_read_again() -> None:
    async def work() -> None:
        clock = Clock()
        async with serving() as registry, looking_up(clock) as look_ups:
            registry.unreadable_entry("app")
            first = await ask(look_ups, registry.name("app"))
            assert {str(each) for each in verdicts(first)} == {"unknown"}
            clock.now += 29
            assert look_ups.known(PodImage(registry.name("app"))) == first
            clock.now += 2
            assert look_ups.known(PodImage(registry.name("app"))) is None

    asyncio.run(work())


def test_a_fault_inside_of_the_webhook_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with serving() as registry, looking_up() as look_ups:
            registry.index("app")

            def broken(*_: object) -> None:
                raise KeyError("a fault")

            monkeypatch.setattr("multiarch.webhook.images.fetching.judge_all", broken)
            found = reason(await ask(look_ups, registry.name("app")))
            assert found == (DecisionReason.UNREADABLE_IMAGE, "internal error (KeyError)")
            assert reason(look_ups.known(PodImage(registry.name("app")))) == found

    asyncio.run(work())


# The end


def test_leaving_ends_what_is_under_way() -> None:
    async def work() -> None:
        clock = Clock()
        before = asyncio.all_tasks()
        async with serving() as registry:
            async with looking_up(clock) as look_ups:
                registry.index("app")
                await ask(look_ups, registry.name("app"))
                registry.held = asyncio.Event()
                clock.now += 301
                look_ups.known(PodImage(registry.name("app")))
                waiting = asyncio.create_task(ask(look_ups, registry.name("cold")))
                await asyncio.sleep(0.02)
                assert count(look_ups, "lookups_in_progress") == 2
            assert reason(await waiting) == (DecisionReason.UNREADABLE_IMAGE, "the webhook is shutting down")
            assert count(look_ups, "lookups_in_progress") == 0
            late = await ask(look_ups, registry.name("later"))
            assert reason(late) == (DecisionReason.UNREADABLE_IMAGE, "the webhook is shutting down")
        assert asyncio.all_tasks() == before

    asyncio.run(work(), debug=False)


# Memory


def test_the_least_recently_used_image_is_dropped() -> None:
    async def work() -> None:
        found = configuration(cache={"memoryMib": 1})
        async with looking_up(found=found) as look_ups:
            room = MIB // ENTRY_BYTES
            for number in range(room):
                remember(look_ups, f"app:{number}", number, VERDICTS[0])
            assert look_ups.known(PodImage("app:0")) is not None
            remember(look_ups, "app:another", room, VERDICTS[0])
            assert look_ups.known(PodImage("app:0")) is not None
            assert look_ups.known(PodImage("app:1")) is None
            assert count(look_ups, "image_cache_entries") == room
            assert count(look_ups, "image_cache_size_bytes") <= MIB

    asyncio.run(work())
