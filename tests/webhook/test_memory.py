"""Remembered images: few bytes, an honest estimate of them, and the least recently used are dropped."""

from __future__ import annotations

import gc
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.webhook.images.memory import Key, Memory, Passing, Remembered, raw_digest
from multiarch.webhook.model import NotFound, PullSecretNames, Reason
from tests.webhook.memories import VERDICTS, digest, verdicts

MIB = 1024 * 1024


def name(number: int) -> str:
    return f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team-{number % 50}/service-{number}:v1.{number}"


def fill(memory: Memory, kind: str, images: int) -> None:
    for number in range(images):
        key = name(number)
        if kind == "tags":
            memory.keep(key, digest(number), VERDICTS[number % 3], 1.0 * number)
        elif kind == "digests":
            memory.keep(f"registry.example.com/app@{digest(number)}", digest(number), VERDICTS[0], math.inf)
        elif kind == "secrets":
            memory.keep((key, SECRETS), digest(number), VERDICTS[0], 1.0 * number)
        elif kind == "texts":
            found = verdicts(Architecture.AMD64, why=f"{digest(number)} is linux/{{0}}, but another comes first")
            memory.keep(key, digest(number), found, 1.0 * number)
        elif kind == "one digest":
            memory.keep(key, digest(1), VERDICTS[0], 1.0 * number)
        else:
            text = f"unreachable: can't resolve registry-{number}"
            memory.keep_passing(key, Passing(NotFound(Reason.UNREADABLE_IMAGE, text), 1.0 * number))


SECRETS = PullSecretNames("team-a", ("registry",))
KINDS = ["tags", "digests", "secrets", "texts", "one digest", "failures"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("images", [1500, 7000])
def test_the_estimate_is_close_to_what_python_allocates(kind: str, images: int) -> None:
    memory = Memory(100 * MIB)
    tracemalloc.start()
    try:
        fill(memory, kind, images)
        # Not among the objects of other tests, which takes half a second.
        gc.collect(1)
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(memory) == images
    assert 0.75 < allocated / memory.used < 1.1, (allocated / images, memory.used / images)


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_holds_and_what_is_dropped_is_no_longer_counted(kind: str) -> None:
    memory = Memory(MIB)
    fill(memory, kind, 4000)
    assert 0 < len(memory) < 4000
    assert MIB - 2000 < memory.used <= MIB
    for number in range(4000):
        memory.forget(name(number))
        memory.forget((name(number), SECRETS))
        memory.forget(f"registry.example.com/app@{digest(number)}")
    assert (len(memory), memory.used) == (0, 0)


def test_the_least_recently_used_image_is_dropped() -> None:
    memory = Memory(6000)
    memory.keep("a", digest(1), VERDICTS[0], 1.0)
    used, number = memory.used, 1
    while len(memory) == number:
        assert memory.get("a") is not None
        number += 1
        memory.keep(f"b{number}", digest(number), VERDICTS[0], 1.0)
    assert used < 6000
    assert memory.get("a") is not None
    assert memory.get("b2") is None
    assert memory.verdicts(digest(2)) is None


def test_an_image_that_is_larger_than_the_limit_is_not_kept() -> None:
    memory = Memory(100)
    memory.keep("a", digest(1), VERDICTS[0], 1.0)
    assert (len(memory), memory.used) == (0, 0)


def test_images_with_one_digest_share_its_verdicts_until_the_last_is_dropped() -> None:
    memory = Memory(MIB)
    for key in ("a", "b"):
        memory.keep(key, digest(1), VERDICTS[0], 1.0)
    first, second = memory.get("a"), memory.get("b")
    assert isinstance(first, Remembered)
    assert isinstance(second, Remembered)
    assert first.verdicts is second.verdicts
    memory.keep("a", digest(2), VERDICTS[0], 2.0)
    assert memory.verdicts(digest(1)) == VERDICTS[0]
    memory.forget("b")
    assert memory.verdicts(digest(1)) is None


_KEYS = st.sampled_from(["a", "b", "c", "d", ("a", SECRETS), ("b", SECRETS)])
_KEPT = st.tuples(_KEYS, st.integers(0, 3))


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("keep"), _KEPT),
            st.tuples(st.just("passing"), _KEPT),
            st.tuples(st.just("forget"), _KEPT),
            st.tuples(st.just("get"), _KEPT),
        ),
        max_size=60,
    ),
    st.sampled_from([900, 2500, 6000, 100_000]),
)
def test_after_any_steps_the_count_of_bytes_is_that_of_what_is_left(
    steps: list[tuple[str, tuple[Key, int]]], limit: int
) -> None:
    memory = Memory(limit)
    for step, (key, number) in steps:
        if step == "keep":
            # A digest always has the same verdicts.
            memory.keep(key, digest(number), VERDICTS[number % 2], 1.0)
        elif step == "passing":
            answer = NotFound(Reason.UNREADABLE_IMAGE, "x" * number) if number % 2 else VERDICTS[2]
            memory.keep_passing(key, Passing(answer, 1.0))
        elif step == "forget":
            memory.forget(key)
        else:
            memory.get(key)
        assert memory.used <= limit
    again = Memory(10 * limit)
    digests = {raw_digest(digest(number)): number for number in range(4)}
    for key in ("a", "b", "c", "d", ("a", SECRETS), ("b", SECRETS)):
        found = memory.get(key)
        if isinstance(found, Remembered):
            number = digests[found.digest]
            assert found.verdicts == VERDICTS[number % 2] == memory.verdicts(digest(number))
            again.keep(key, digest(number), found.verdicts, 1.0)
        elif found is not None:
            again.keep_passing(key, found)
    assert (memory.used, len(memory)) == (again.used, len(again))


def test_sha512_digests_are_told_from_others() -> None:
    memory = Memory(MIB)
    long = "sha512:" + "ab" * 64
    memory.keep("a", long, VERDICTS[1], 1.0)
    assert memory.verdicts(long) == VERDICTS[1]
    assert memory.verdicts("sha256:" + "ab" * 32) is None
