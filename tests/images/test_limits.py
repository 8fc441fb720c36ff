"""What an image may hold without anybody waiting: a verification ends by its deadline, or says what is too long."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest

from multiarch.images.model import Verdict, parse_platform
from multiarch.images.verify import ImageVerification, verify_platform
from multiarch.registry.errors import RegistryError, RegistryReason
from multiarch.registry.model import Descriptor
from multiarch.registry.reference import Reference
from tests.images.archives import File, Folder, archive
from tests.images.held import REFERENCE, Held

START = ["/app/server"]


def verified(held: Held, *, seconds: float = 10.0, deep: bool = False) -> ImageVerification:
    return asyncio.run(verify_platform(held, REFERENCE, parse_platform("linux/arm64"), deep=deep, seconds=seconds))


def reason(got: ImageVerification) -> str:
    assert got.verdict is Verdict.UNKNOWN
    return got.checks[-1].reason


@pytest.mark.exhaustive
def test_headers_without_end_end_with_the_time() -> None:
    header = archive([File("same")])[:512]
    held = Held()
    held.starting(gzip.compress(header * 400_000, compresslevel=1), Entrypoint=START)  # 200 MB
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        verified(held, seconds=0.3, deep=True)
    assert caught.value.reason is RegistryReason.TIMEOUT
    assert "reading the image did not finish within 0.3 s" in str(caught.value)
    assert time.monotonic() - started < 5.0


class Slow(Held):
    """Every answer takes a while."""

    async def blob(self, reference: Reference, descriptor: Descriptor, *, limit: int) -> bytes:
        await asyncio.sleep(60)
        return await Held.blob(self, reference, descriptor, limit=limit)


def test_one_deadline_holds_for_index_config_and_layers_together() -> None:
    held = Slow()
    held.starting(archive([Folder("app")]), Entrypoint=START)
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        verified(held, seconds=0.2)
    assert caught.value.reason is RegistryReason.TIMEOUT
    assert caught.value.reference.registry == "example.com"
    assert time.monotonic() - started < 5.0


@pytest.mark.exhaustive
def test_a_search_path_is_searched_no_longer_than_the_time() -> None:
    held = Held()
    path = ":".join(f"/d{number}" for number in range(15_000))
    held.starting(*[archive([File(f"x{number}")]) for number in range(300)], Cmd=["none"], Env=[f"PATH={path}"])
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        verified(held, seconds=0.5)
    assert caught.value.reason is RegistryReason.TIMEOUT
    assert time.monotonic() - started < 5.0
